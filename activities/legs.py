"""Reading the legs of a mission from the server, however they and the mission ended."""

from temporalio.client import Client, WorkflowExecutionStatus

from orchestrator.adapters.temporal.rollbacks import described, query_or_none
from orchestrator.core.errors import LegsRunning
from orchestrator.messages import names
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.saga.ledger import Ledger

_NOTED_ENDS = frozenset({LegStatus.SUCCEEDED, LegStatus.FAILED, LegStatus.CANCELLED})


async def read_legs(client: Client, mission_id: str) -> tuple[LegResult, ...]:
    """Every leg that was started, as it ended.

    A query is answered from history: a terminated leg is read like any other.

    Raises:
        LegsRunning: one has not ended; it was asked to.
    """
    mission = client.get_workflow_handle(mission_id)
    started = await query_or_none(mission, names.LEGS_QUERY, list[str])
    legs = [await _read_leg(client, mission_id, leg_id) for leg_id in started or ()]
    return tuple(leg for leg in legs if leg is not None)


async def _read_leg(client: Client, mission_id: str, leg_id: str) -> LegResult | None:
    handle = client.get_workflow_handle(names.leg_workflow_id(mission_id, leg_id))
    description = await described(handle)
    if description is None:
        return None  # it was about to be started when the mission stopped
    if description.status is WorkflowExecutionStatus.RUNNING:
        # A leg that outlived its mission would go on booking behind the rollback.
        await handle.cancel()
        raise LegsRunning(leg_id)
    leg = await query_or_none(handle, names.RESULT_QUERY, LegResult)
    return None if leg is None else _as_ended(leg, description.status)


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
