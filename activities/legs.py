"""Reading the legs of a mission from the server, however they and the mission ended.

A leg counts only if the server says that the mission is its parent, and of what such a leg has
noted only what is its own. A mission under way is left alone.
"""

from collections.abc import Sequence
from typing import NamedTuple

from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
)

from orchestrator.adapters.temporal.leg_runs import (
    found_leg_runs,
    given_to,
    is_leg_of,
    own_leg_run,
)
from orchestrator.adapters.temporal.rollbacks import described, query_or_none
from orchestrator.core.errors import LegsRunning, MissionStillRuns
from orchestrator.messages import names
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.saga.ledger import Ledger

_NOTED_ENDS = frozenset(
    {LegStatus.SUCCEEDED, LegStatus.FAILED, LegStatus.CANCELLED, LegStatus.SKIPPED}
)


class LegsRead(NamedTuple):
    """The legs of a mission, and what was passed over because it is not theirs."""

    legs: tuple[LegResult, ...]
    notes: tuple[str, ...] = ()


async def read_legs(client: Client, mission_id: str, *, asked_by_it: bool = False) -> LegsRead:
    """Every leg that was started, as it ended.

    A query is answered from history: a terminated leg is read like any other, and so are the legs
    of a mission that was deleted, which a search finds.

    Args:
        client: of the server that the mission is on.
        mission_id: of a mission that is over, or that waits for its rollback.
        asked_by_it: the mission itself asks, so that nobody has to find out whether it is over.

    Raises:
        MissionStillRuns: it is under way; nothing was touched.
        LegsRunning: a leg has not ended; it was asked to.
    """
    mission = await described_mission(client, mission_id)
    if mission is None:
        runs = [run async for run in found_leg_runs(client, mission_id)]
        return await _read(client, mission_id, runs)
    if mission.status is WorkflowExecutionStatus.RUNNING and not asked_by_it:
        await _check_waits(client, mission_id)
    started = await query_or_none(
        client.get_workflow_handle(mission_id), names.LEGS_QUERY, list[str]
    )
    found = [await own_leg_run(client, mission_id, leg_id) for leg_id in started or ()]
    # None: it was about to be started when the mission stopped.
    return await _read(client, mission_id, [run for run in found if run is not None])


async def described_mission(client: Client, mission_id: str) -> WorkflowExecutionDescription | None:
    """What the server says of a mission; None when it keeps none of that id."""
    found = await described(client.get_workflow_handle(mission_id))
    return found if found is not None and found.workflow_type == names.MISSION_WORKFLOW else None


async def waits_for_rollback(client: Client, mission_id: str) -> bool:
    """Whether a mission that runs is one that is lost, and waits for what undoes it."""
    mission = client.get_workflow_handle(mission_id)
    result = await query_or_none(mission, names.RESULT_QUERY, MissionResult)
    return result is not None and result.status is MissionStatus.ROLLING_BACK


async def _check_waits(client: Client, mission_id: str) -> None:
    if await waits_for_rollback(client, mission_id):
        return
    # It may have ended between its description and its answer.
    mission = await described_mission(client, mission_id)
    if mission is not None and mission.status is WorkflowExecutionStatus.RUNNING:
        raise MissionStillRuns(mission_id)


async def _read(
    client: Client, mission_id: str, runs: Sequence[WorkflowExecutionDescription]
) -> LegsRead:
    legs: list[LegResult] = []
    notes: list[str] = []
    for run in runs:
        if why := await _foreign(client, mission_id, run):
            notes.append(f"{run.id} was passed over: {why}")
            continue
        leg = await _read_leg(client, mission_id, run)
        if leg is not None:
            own, others = _own_alone(leg, run.id, mission_id)
            legs.append(own)
            notes += [f"{run.id}: {other} was passed over: it is not its own" for other in others]
    return LegsRead(tuple(legs), tuple(notes))


async def _foreign(
    client: Client, mission_id: str, run: WorkflowExecutionDescription
) -> str | None:
    """Why a leg is not the mission's own; None when it is.

    A mission starts its legs without a past, whatever it tells them of what others found and
    people settled. One that came with a past has a ledger that somebody else wrote.
    """
    if not is_leg_of(run, mission_id):
        return "the mission is not its parent"
    given = await given_to(client, run)
    if given is not None and (given.mission_id != mission_id or given.state.has_past):
        return "it was started with what a mission does not start its legs with"
    return None


async def _read_leg(
    client: Client, mission_id: str, run: WorkflowExecutionDescription
) -> LegResult | None:
    handle = client.get_workflow_handle(run.id, run_id=run.run_id)
    if run.status is WorkflowExecutionStatus.RUNNING:
        # A leg that outlived its mission would go on booking behind the rollback.
        await handle.cancel()
        raise LegsRunning(run.id.removeprefix(f"{mission_id}."))
    leg = await query_or_none(handle, names.RESULT_QUERY, LegResult)
    return None if leg is None else _as_ended(leg, run.status)


def _own_alone(leg: LegResult, workflow_id: str, mission_id: str) -> tuple[LegResult, list[str]]:
    """The leg with what is its own in its ledger, and the ids of what is not."""
    ledger = leg.ledger
    calls = {c.call_id: names.leg_of_confirmation(c.call_id) == workflow_id for c in ledger.cancels}
    made = {
        o.obligation_id: o.mission_id == mission_id
        and names.leg_workflow_id(o.mission_id, o.leg_id) == workflow_id
        and names.leg_of_confirmation(o.obligation_id) == workflow_id
        for o in ledger.obligations
    }
    own = ledger.model_copy(
        update={
            "obligations": tuple(o for o in ledger.obligations if made[o.obligation_id]),
            "cancels": tuple(c for c in ledger.cancels if calls[c.call_id]),
        }
    )
    others = [known for known, is_own in {**made, **calls}.items() if not is_own]
    return (leg.model_copy(update={"ledger": own}) if others else leg), others


async def mission_ledger(client: Client, mission_id: str) -> Ledger:
    """What the legs of a mission have written in their ledgers by now; nothing is stopped.

    Only children of the mission count: whoever starts a leg by hand gains nothing by its ledger.
    """
    mission = client.get_workflow_handle(mission_id)
    if await described(mission) is None:
        return Ledger()
    started = await query_or_none(mission, names.LEGS_QUERY, list[str]) or []
    return Ledger.merged([await _ledger_of(client, mission_id, leg_id) for leg_id in started])


async def _ledger_of(client: Client, mission_id: str, leg_id: str) -> Ledger:
    handle = client.get_workflow_handle(names.leg_workflow_id(mission_id, leg_id))
    description = await described(handle)
    if description is None or description.parent_id != mission_id:
        return Ledger()
    leg = await query_or_none(handle, names.RESULT_QUERY, LegResult)
    return Ledger() if leg is None else leg.ledger


def _as_ended(leg: LegResult, status: WorkflowExecutionStatus | None) -> LegResult:
    """The leg, with an end of its own when it was stopped too hard to note one down."""
    if leg.status in _NOTED_ENDS:
        return leg
    how = "stopped" if status is None else status.name.lower().replace("_", " ")
    return leg.model_copy(
        update={"status": LegStatus.FAILED, "error": leg.error or f"the leg was {how}"}
    )
