"""How missions stand and what they wait for, as the server knows it: no worker is asked.

One search for the rollbacks of a page of missions, one for their legs: none is looked up by itself.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from pydantic import Field
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.temporal.rollbacks import BROKEN_OFF
from orchestrator.adapters.temporal.search_attributes import STATUS, WAITING_FOR
from orchestrator.client.connection import Connection
from orchestrator.client.side_by_side import Place, unpolled, waiting_at
from orchestrator.core import command_lines
from orchestrator.core.errors import NoWorker
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MISSION_ID_PATTERN, MissionStatus
from orchestrator.messages.news import WaitKind
from orchestrator.messages.rollback import RollbackStatus
from orchestrator.messages.standing import status_with

LEFT: Final = frozenset({names.LEFT_TO_ROLLBACK, MissionStatus.PARKED.value})
"""What a mission that is over shows while its rollback goes on: it cannot change any more."""
STOPPED: Final = frozenset({WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.TIMED_OUT})
_RUNNING: Final = WorkflowExecutionStatus.RUNNING
_OF_LEGS: Final[Mapping[Literal["confirmation", "answer", "model"], tuple[LegStatus, str]]] = {
    "confirmation": (LegStatus.AWAITING_CONFIRMATION, "card"),
    "answer": (LegStatus.AWAITING_ANSWER, "question"),
    "model": (LegStatus.AWAITING_MODEL, "model"),
}


class Wait(Record):
    """What a mission waits for."""

    kind: Literal["confirmation", "answer", "model", "store", "operator", "worker"]
    what: str
    command: str = ""


class MissionSummary(Record):
    """One line of a list of missions."""

    mission_id: str
    status: str
    goal: str
    started_at: datetime
    waits_for: tuple[Wait, ...] = ()
    is_kept: bool = Field(
        default=False, description="its server no longer knows it; the store has its result"
    )


@dataclass(frozen=True)
class Family:
    """What belongs to some missions on the server."""

    rollbacks: Mapping[str, WorkflowExecution] = field(default_factory=dict)
    legs: Mapping[str, list[WorkflowExecution]] = field(default_factory=dict)
    unpolled: Mapping[Place, NoWorker] = field(default_factory=dict)


async def summaries(
    connection: Connection, missions: Sequence[WorkflowExecution]
) -> list[MissionSummary]:
    """A line for each of these missions, in their order."""
    family = await family_of(connection, missions)
    return [
        MissionSummary(
            mission_id=mission.id,
            status=status_of(mission, family.rollbacks.get(mission.id)),
            goal=str((await mission.memo()).get("goal", "")),
            started_at=mission.start_time,
            waits_for=tuple(waits_for(mission, family)),
        )
        for mission in missions
    ]


def status_of(mission: WorkflowExecution, rollback: WorkflowExecution | None) -> str:
    """Where a mission stands, with what its rollback made of it since."""
    own = mission.typed_search_attributes.get(STATUS) or ""
    if mission.status is _RUNNING:
        return own
    if mission.status in STOPPED:
        own = MissionStatus.TERMINATED.value
    if rollback is None or _took_nothing_back(rollback):
        return own
    try:
        ended = MissionStatus.PARKED if own in LEFT else MissionStatus(own)
        done = _status_of(rollback)
    except ValueError:  # as another release shows it
        return own
    stopped = mission.status is WorkflowExecutionStatus.CANCELED
    return status_with(ended, done, stopped=stopped).value


def _status_of(rollback: WorkflowExecution) -> RollbackStatus:
    """How far a rollback has come; one that was broken off is taken up by a sweep."""
    if rollback.status is WorkflowExecutionStatus.COMPLETED:
        return RollbackStatus.ROLLED_BACK
    if rollback.status in BROKEN_OFF:
        return RollbackStatus.ROLLING_BACK
    return RollbackStatus(_shown(rollback))


def waits_for(mission: WorkflowExecution, family: Family) -> Iterator[Wait]:
    """What somebody has to do before a mission, or its rollback, goes on."""
    legs, rollback = family.legs.get(mission.id, []), family.rollbacks.get(mission.id)
    # A mission that asks about its plan shows it by the words of its legs.
    asking = [mission] if mission.status is _RUNNING else []
    statuses = [_shown(one) for one in (*legs, *asking)]
    for kind, (status, asked) in _OF_LEGS.items():
        count = statuses.count(status)
        if count:
            what = f"{count} {asked}{'s' if count > 1 else ''}"
            yield Wait(kind=kind, what=what, command="orchestrator confirm list")
    open_ones = [*legs, *(one for one in (mission, rollback) if one is not None)]
    open_ones = [one for one in open_ones if one.status is _RUNNING]
    if any(one is rollback and _shown(one) == RollbackStatus.PARKED for one in open_ones):
        show = command_lines.show_rollback(mission.id)
        yield Wait(kind="operator", what="an operator", command=show)
    if any(WaitKind.STORE in _waiting_for(one) for one in open_ones):
        show = command_lines.show_mission(mission.id)
        yield Wait(kind="store", what="what its workers keep", command=show)
    missing = {str(why): why for one in open_ones if (why := family.unpolled.get(waiting_at(one)))}
    for _, why in sorted(missing.items()):
        yield Wait(kind="worker", what=why.awaited, command=why.command)


async def family_of(connection: Connection, missions: Sequence[WorkflowExecution]) -> Family:
    """The rollbacks of these missions and the running legs, found by a search for each."""
    may_roll_back = [m.id for m in missions if m.status is not _RUNNING or _is_rolling_back(m)]
    running = [m.id for m in missions if m.status is _RUNNING]
    rollbacks, legs = await asyncio.gather(
        _rollbacks(connection, may_roll_back), _legs(connection, running)
    )
    open_ones = [*missions, *rollbacks.values(), *(leg for some in legs.values() for leg in some)]
    places = (waiting_at(one) for one in open_ones if one.status is _RUNNING)
    return Family(rollbacks, legs, await unpolled(connection, places))


async def _rollbacks(
    connection: Connection, mission_ids: Iterable[str]
) -> dict[str, WorkflowExecution]:
    """The newest run of each one's rollback."""
    ids = _listed(names.rollback_workflow_id(mission) for mission in _plain(mission_ids))
    newest: dict[str, WorkflowExecution] = {}
    if not ids:
        return newest
    query = f"WorkflowType = '{names.ROLLBACK_WORKFLOW}' AND WorkflowId IN ({ids})"
    with connection.explaining():
        async for run in connection.temporal.list_workflows(query):
            mission_id = names.mission_of(run.id)
            known = newest.get(mission_id)
            if known is None or run.start_time > known.start_time:
                newest[mission_id] = run
    return newest


async def _legs(
    connection: Connection, mission_ids: Iterable[str]
) -> dict[str, list[WorkflowExecution]]:
    """The running legs of each."""
    ids = _listed(_plain(mission_ids))
    found: dict[str, list[WorkflowExecution]] = defaultdict(list)
    if not ids:
        return found
    query = (
        f"WorkflowType = '{names.LEG_WORKFLOW}' AND ExecutionStatus = 'Running' "
        f"AND {names.MISSION_ID_ATTRIBUTE} IN ({ids})"
    )
    with connection.explaining():
        async for leg in connection.temporal.list_workflows(query):
            found[names.mission_of(leg.id)].append(leg)
    return found


def _plain(mission_ids: Iterable[str]) -> Iterator[str]:
    """Those that can stand in a search: a workflow of that type may have been given any id."""
    return (one for one in mission_ids if re.fullmatch(MISSION_ID_PATTERN, one))


def _listed(ids: Iterable[str]) -> str:
    return ", ".join(f"'{one}'" for one in ids)


def _shown(execution: WorkflowExecution) -> str:
    return execution.typed_search_attributes.get(STATUS) or ""


def _waiting_for(execution: WorkflowExecution) -> Sequence[str]:
    return execution.typed_search_attributes.get(WAITING_FOR) or ()


def _is_rolling_back(mission: WorkflowExecution) -> bool:
    return _shown(mission) == MissionStatus.ROLLING_BACK


def _took_nothing_back(rollback: WorkflowExecution) -> bool:
    """Whether it was turned away: one that may go on shows more than that it collects."""
    failed = rollback.status is WorkflowExecutionStatus.FAILED
    return failed and _shown(rollback) == RollbackStatus.COLLECTING
