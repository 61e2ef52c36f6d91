"""Results of missions and rollbacks, read from close events or by replaying histories."""

import asyncio
from collections.abc import Sequence
from datetime import UTC
from operator import methodcaller
from typing import Any, Final, TypeVar

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHistoryEventFilterType,
)

from orchestrator.adapters.temporal.mission_history import read_ledger
from orchestrator.adapters.temporal.rollbacks import begun_rollback, started_with
from orchestrator.client.connection import Connection
from orchestrator.core.errors import EventsUnreadable, MissionNotFound, UsageError
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.mission import (
    AcceptedMission,
    MissionInput,
    MissionResult,
    MissionStatus,
    after_rollback,
)
from orchestrator.messages.rollback import RollbackReport

R = TypeVar("R", bound=Record)

STOPPED: Final = frozenset({WorkflowExecutionStatus.TERMINATED, WorkflowExecutionStatus.TIMED_OUT})
STOPPED_OUTSIDE: Final = "it was stopped from outside"


async def read_mission(
    connection: Connection, mission_id: str, mission: WorkflowExecutionDescription | None = None
) -> MissionResult:
    """Return the current result document, with the effects of the mission's rollback.

    Raises:
        MissionNotFound: there is no such mission.
        EventsUnreadable: this release cannot replay its history.
    """
    mission = mission or await connection.mission(mission_id)
    result, report = await asyncio.gather(
        _own_result(connection, mission), find_report(connection, mission_id)
    )
    return result if report is None else after_rollback(result, report)


async def read_accepted(connection: Connection, mission_id: str) -> AcceptedMission:
    """Return the plan that a mission has accepted, or the reason for its refusal."""
    mission = await connection.mission(mission_id)
    accepted = await _replayed(connection, mission, "accepted")
    if not isinstance(accepted, AcceptedMission):
        raise UsageError(f"mission {mission_id} has not been planned yet")
    return accepted


async def find_report(connection: Connection, mission_id: str) -> RollbackReport | None:
    """Return the state of the mission's rollback; None when it has no rollback of its own."""
    with connection.explaining(mission_id):
        rollback = await begun_rollback(connection.temporal, mission_id)
    if rollback is None:
        return None
    if rollback.status is WorkflowExecutionStatus.COMPLETED:
        report = await _closed_with(connection, rollback, RollbackReport)
        if report is not None:
            return report
    report = await _replayed(connection, rollback, "report")
    return report or RollbackReport(mission_id=mission_id)


async def read_report(connection: Connection, mission_id: str) -> RollbackReport:
    """Return the state of a mission's rollback; refuse a mission without one."""
    report = await find_report(connection, mission_id)
    if report is None:
        raise UsageError(
            f"no rollback of {mission_id!r}; start one with: "
            f"orchestrator mission rollback {mission_id}"
        )
    return report


async def history_of(
    connection: Connection, run: WorkflowExecutionDescription
) -> Sequence[HistoryEvent]:
    """Return all events of a run."""
    with connection.explaining(names.mission_of(run.id)):
        return await connection.histories.read(run)


async def history_or_none(
    connection: Connection, workflow_id: str, run_id: str
) -> Sequence[HistoryEvent]:
    """Return all events of a run; none if the server no longer retains it."""
    handle = connection.temporal.get_workflow_handle(workflow_id, run_id=run_id)
    try:
        with connection.explaining(workflow_id):
            return await history_of(connection, await handle.describe())
    except MissionNotFound:
        return ()


async def _own_result(
    connection: Connection, mission: WorkflowExecutionDescription
) -> MissionResult:
    if mission.status is not WorkflowExecutionStatus.RUNNING:
        closed = await _closed_with(connection, mission, MissionResult)
        if closed is not None:
            return closed
    try:
        result = await _replayed(connection, mission, "result")
    except EventsUnreadable as unreadable:
        if mission.status not in STOPPED:
            raise
        with connection.explaining(mission.id):
            ledger = (await read_ledger(connection.temporal, mission.id)).ledger
        result = (await _not_begun(connection, mission)).on(ledger, MissionStatus.TERMINATED)
        error = f"{STOPPED_OUTSIDE}; only its ledger can be read: {unreadable.reason}"
        return result.model_copy(update={"error": error})
    if result is None:
        result = await _not_begun(connection, mission)
    if mission.status in STOPPED and result.finished_at is None:
        error = result.error or STOPPED_OUTSIDE
        return result.model_copy(update={"status": MissionStatus.TERMINATED, "error": error})
    return result


async def _replayed(
    connection: Connection, found: WorkflowExecutionDescription, method: str
) -> Any | None:
    """Return what a method of the workflow returns now; None before its first task is completed."""

    async def replayed() -> Any | None:
        events = await history_of(connection, found)
        return await connection.replays.last_state(found.id, events, methodcaller(method))

    key = (found.run_id, found.history_length, method)
    return await connection.replays.once(key, replayed)


async def _not_begun(
    connection: Connection, mission: WorkflowExecutionDescription
) -> MissionResult:
    handle = connection.temporal.get_workflow_handle(mission.id, run_id=mission.run_id)
    with connection.explaining(mission.id):
        request = (await started_with(connection.temporal, handle, MissionInput)).request
    return MissionResult(
        mission_id=mission.id,
        goal=request.goal,
        requester=request.requester,
        budget=request.budget,
        status=MissionStatus.PLANNING,
        started_at=mission.start_time.astimezone(UTC),
    )


async def _closed_with(
    connection: Connection, found: WorkflowExecutionDescription, kind: type[R]
) -> R | None:
    """Return the result document in the close event of a run; None if it has none."""
    handle = connection.temporal.get_workflow_handle(found.id, run_id=found.run_id)
    close = WorkflowHistoryEventFilterType.CLOSE_EVENT
    with connection.explaining(names.mission_of(found.id)):
        async for event in handle.fetch_history_events(event_filter_type=close):
            completed = event.workflow_execution_completed_event_attributes.result.payloads
            cancelled = event.workflow_execution_canceled_event_attributes.details.payloads
            payloads = [*completed, *cancelled]
            failure = event.workflow_execution_failed_event_attributes.failure
            while failure.HasField("cause"):
                failure = failure.cause
            carried = failure.application_failure_info
            if carried.type in (names.MISSION_FAILED, names.MISSION_INCOMPLETE):
                payloads = list(carried.details.payloads)
            if not payloads:
                return None
            (document,) = await connection.temporal.data_converter.decode(payloads[:1], [kind])
            return document if isinstance(document, kind) else None
    return None
