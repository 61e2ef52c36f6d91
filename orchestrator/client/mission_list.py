"""The status and the waits of missions, by searches and memos of the server; no worker is asked."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from pydantic import Field
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.client import (
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
)

from orchestrator.adapters.temporal.rollbacks import BROKEN_OFF
from orchestrator.adapters.temporal.search_attributes import (
    MODE,
    REQUESTER,
    STATUS,
    WAITING_FOR,
    quoted,
)
from orchestrator.client.connection import Connection
from orchestrator.client.mission_state import STOPPED
from orchestrator.client.obstacles import Version, pinned_version
from orchestrator.client.waits import waits_in
from orchestrator.core import command_lines
from orchestrator.core.errors import NoWorker, ServiceUnavailable, UsageError
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.mission import MISSION_ID_PATTERN, MissionStatus, status_with
from orchestrator.messages.observed import SEARCHED_AS
from orchestrator.messages.open_waits import Waiting, WaitKind
from orchestrator.messages.rollback import RollbackStatus

STATUSES: Final = tuple(sorted(status.value for status in MissionStatus))
"""Statuses that a list can be filtered by."""
LEFT: Final = frozenset({names.LEFT_TO_ROLLBACK, MissionStatus.PARKED.value})
"""Statuses of a mission that is over and whose rollback still runs."""
MISSIONS: Final = f"WorkflowType = '{names.MISSION_WORKFLOW}'"
"""The search for all missions."""
_ROLLBACKS: Final = f"WorkflowType = '{names.ROLLBACK_WORKFLOW}'"
_OPEN: Final = "ExecutionStatus = 'Running'"
_RUNNING: Final = WorkflowExecutionStatus.RUNNING

Place = tuple[str, Version | None]
"""A task queue, and the build to which a workflow there is pinned."""


class Wait(Record):
    """A card, question, pause or obstacle for which a mission waits."""

    kind: Literal["confirmation", "answer", "hold", "model", "store", "operator", "worker"]
    what: str
    command: str = ""


class MissionSummary(Record):
    """A mission in a list, with its status and waits."""

    mission_id: str
    kind: Literal["mission", "saga", "session"] = "mission"
    status: str
    goal: str
    started_at: datetime
    requester: str = ""
    observed: bool = Field(default=False, description="its calls are not guarded")
    waits_for: tuple[Wait, ...] = ()


class KnownMission(MissionSummary):
    """The server's facts about a mission whose history cannot be replayed here."""

    finished_at: datetime | None = None
    task_queue: str
    agents: tuple[str, ...] = Field(default=(), description="agents of legs under way")
    unread: str = Field(description="reason why the rest could not be read")
    is_partial: bool = True


@dataclass(frozen=True)
class Family:
    """The rollbacks of some missions, and those of their task queues that nobody polls."""

    rollbacks: Mapping[str, WorkflowExecution] = field(default_factory=dict)
    unpolled: Mapping[Place, NoWorker] = field(default_factory=dict)


# -- searches -------------------------------------------------------------------------------------


def check_status(status: str | None) -> None:
    """Refuse a filter that is no status."""
    if status is not None and status not in STATUSES:
        raise UsageError(f"{status!r} is no status of a mission; use one of: {', '.join(STATUSES)}")


@dataclass(frozen=True)
class Searches:
    """Queries that together find the missions of a status; empty: none is needed."""

    of_missions: str = ""
    of_rollbacks: str = ""
    """Finds their rollbacks."""


def searches_for(status: str | None) -> Searches:
    """Return the searches for missions of a status; None: for all."""
    if status is None:
        return Searches(of_missions=MISSIONS)
    shown = names.STATUS_ATTRIBUTE
    left = f"{shown} IN ({', '.join(quoted(one) for one in sorted((status, *LEFT)))})"
    by_rollback = {
        MissionStatus.PARKED.value: f"{_OPEN} AND {shown} = '{RollbackStatus.PARKED.value}'",
        MissionStatus.ROLLING_BACK.value: f"{_OPEN} AND {shown} != '{RollbackStatus.PARKED.value}'",
        MissionStatus.ROLLED_BACK.value: "ExecutionStatus = 'Completed'",
        MissionStatus.ROLLED_BACK_AFTER_SUCCESS.value: "ExecutionStatus = 'Completed'",
    }.get(status)
    own = {
        MissionStatus.PARKED.value: None,
        MissionStatus.ROLLED_BACK_AFTER_SUCCESS.value: None,
        MissionStatus.TERMINATED.value: "ExecutionStatus IN ('Terminated', 'TimedOut')",
        MissionStatus.ROLLING_BACK.value: left,
        MissionStatus.ROLLED_BACK.value: left,
        MissionStatus.CANCELLED.value: left,
    }.get(status, f"{shown} = '{status}'")
    return Searches(
        of_missions="" if own is None else f"{MISSIONS} AND {own}",
        of_rollbacks="" if by_rollback is None else f"{_ROLLBACKS} AND {by_rollback}",
    )


async def missions_named(
    connection: Connection, ids: Sequence[str], *, also: str = ""
) -> list[WorkflowExecution]:
    """Return the missions of these ids that the server knows, in the order of its lists.

    `also` is a further condition, as ` AND ...`.
    """
    listed = ", ".join(f"'{one}'" for one in _plain(ids))
    if not listed:
        return []
    query = f"{MISSIONS} AND WorkflowId IN ({listed}){also}"
    with connection.explaining():
        return [one async for one in connection.temporal.list_workflows(query)]


# -- one line -------------------------------------------------------------------------------------


async def obstacle_of(
    connection: Connection, mission: WorkflowExecutionDescription
) -> ServiceUnavailable | None:
    """Return why a mission cannot continue now: its tasks fail, or no worker polls for its work."""
    if mission.status is not _RUNNING:
        return None
    if (why := await connection.stuck(mission)) is not None:
        return why
    if (missing := await connection.absence_for(mission)) is not None:
        return missing
    pending = mission.raw_description.pending_activities
    queues = {one.activity_options.task_queue.name for one in pending} - {""}
    absences = [
        await connection.absence(queue, kind=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
        for queue in sorted(queues)
    ]
    return next((missing for missing in absences if missing is not None), None)


async def summaries(
    connection: Connection, missions: Sequence[WorkflowExecution]
) -> list[MissionSummary]:
    """Return a line for each of these missions, in their order."""
    family = await family_of(connection, missions)
    return [
        MissionSummary(
            mission_id=mission.id,
            status=status_of(mission, family.rollbacks.get(mission.id)),
            goal=str(await mission.memo_value("goal", "")),
            started_at=mission.start_time,
            requester=mission.typed_search_attributes.get(REQUESTER) or "",
            observed=_is_observed(mission),
            waits_for=tuple(waits_for(mission, await waits_in(mission), family)),
        )
        for mission in missions
    ]


def status_of(mission: WorkflowExecution, rollback: WorkflowExecution | None) -> str:
    """Return the status of a mission with the effects of its rollback."""
    own = _shown(mission)
    if mission.status is _RUNNING:
        return own
    ended_well = own in (MissionStatus.SUCCEEDED, MissionStatus.INCOMPLETE)
    if mission.status in STOPPED:
        own = MissionStatus.TERMINATED.value
    if rollback is None:
        return own
    failed = rollback.status is WorkflowExecutionStatus.FAILED
    if failed and _shown(rollback) == RollbackStatus.COLLECTING:
        return own  # it was refused: others show more than their collecting phase
    if (
        ended_well
        and rollback.close_time is not None
        and mission.close_time is not None
        and rollback.close_time <= mission.close_time
    ):
        return own  # the rollback is that of a branch that was abandoned
    try:
        ended = MissionStatus.PARKED if own in LEFT else MissionStatus(own)
        if rollback.status is WorkflowExecutionStatus.COMPLETED:
            done = RollbackStatus.ROLLED_BACK
        elif rollback.status in BROKEN_OFF:  # a sweep resumes it
            done = RollbackStatus.ROLLING_BACK
        else:
            done = RollbackStatus(_shown(rollback))
    except ValueError:  # a status of another release
        return own
    stopped = mission.status is WorkflowExecutionStatus.CANCELED
    return status_with(ended, done, stopped=stopped, observed=_is_observed(mission)).value


def _is_observed(mission: WorkflowExecution) -> bool:
    return mission.typed_search_attributes.get(MODE) == SEARCHED_AS


def waits_for(mission: WorkflowExecution, waits: Waiting, family: Family) -> Iterator[Wait]:
    """Yield what a mission or its rollback waits for, with the command that shows it."""
    rollback = family.rollbacks.get(mission.id)
    confirm = "orchestrator confirm list"
    if waits.cards:
        yield Wait(kind="confirmation", what=_counted(waits.cards, "card"), command=confirm)
    asked = [one for one in waits.questions if one.hold is None]
    if asked:
        yield Wait(kind="answer", what=_counted(asked, "question"), command=confirm)
    if len(asked) < len(waits.questions):
        command = command_lines.repair(mission.id)[0]
        yield Wait(kind="hold", what="a decision before its rollback", command=command)
    if waits.pauses:
        yield Wait(kind="model", what=_counted(waits.pauses, "model"), command=confirm)
    open_ones = [one for one in (mission, rollback) if one is not None and one.status is _RUNNING]
    if any(one is rollback and _shown(one) == RollbackStatus.PARKED for one in open_ones):
        show = command_lines.show_rollback(mission.id)
        yield Wait(kind="operator", what="an operator", command=show)
    if waits.stalled or any(
        WaitKind.STORE in (one.typed_search_attributes.get(WAITING_FOR) or ()) for one in open_ones
    ):
        show = command_lines.show_mission(mission.id)
        yield Wait(kind="store", what="what its workers keep", command=show)
    missing = {str(why): why for one in open_ones if (why := family.unpolled.get(waiting_at(one)))}
    for _, why in sorted(missing.items()):
        yield Wait(kind="worker", what=why.awaited, command=why.command)


def _counted(several: Sequence[object], what: str) -> str:
    return f"{len(several)} {what}{'s' if len(several) > 1 else ''}"


async def family_of(connection: Connection, missions: Sequence[WorkflowExecution]) -> Family:
    """Return the rollbacks of these missions, and the task queues that nobody polls."""
    rollbacks: dict[str, WorkflowExecution] = {}
    may_roll_back = (
        one.id
        for one in missions
        if one.status is not _RUNNING or _shown(one) == MissionStatus.ROLLING_BACK
    )
    ids = ", ".join(f"'{names.rollback_workflow_id(one)}'" for one in _plain(may_roll_back))
    if ids:
        query = f"{_ROLLBACKS} AND WorkflowId IN ({ids})"
        with connection.explaining():
            async for run in connection.temporal.list_workflows(query):
                known = rollbacks.get(mission_id := names.mission_of(run.id))
                if known is None or run.start_time > known.start_time:
                    rollbacks[mission_id] = run
    open_ones = [one for one in (*missions, *rollbacks.values()) if one.status is _RUNNING]
    return Family(rollbacks, await unpolled(connection, map(waiting_at, open_ones)))


async def unpolled(connection: Connection, places: Iterable[Place]) -> dict[Place, NoWorker]:
    """Return the task queues, or builds in them, that nobody polls, each with the reason."""
    distinct = sorted(set(places), key=str)
    missing = await asyncio.gather(*(connection.absence(*place) for place in distinct))
    return {place: why for place, why in zip(distinct, missing, strict=True) if why is not None}


def waiting_at(execution: WorkflowExecution) -> Place:
    """Return the task queue and the build that a workflow needs to continue."""
    return execution.task_queue, pinned_version(execution.raw_info.versioning_info)


def _plain(mission_ids: Iterable[str]) -> Iterator[str]:
    """Yield the ids that are valid in a search, as a foreign workflow may have any id."""
    return (one for one in mission_ids if re.fullmatch(MISSION_ID_PATTERN, one))


def _shown(execution: WorkflowExecution) -> str:
    return execution.typed_search_attributes.get(STATUS) or ""
