"""Starting rollbacks, and reading what workflows left: the same for clients, activities and sweeps.

A rollback that was broken off is started again under the same workflow id, and told which run to
take over from. One that completed is never repeated.
"""

from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeVar

from temporalio.api.enums.v1 import EventType
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowHistoryEventFilterType,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.pinned_builds import pinned_version
from orchestrator.adapters.temporal.search_attributes import search_attributes
from orchestrator.core.errors import MissionStillRuns, MissionUnknown, NoAnswer, RollbackMisnamed
from orchestrator.messages import names
from orchestrator.messages.rollback import RollbackInput, RollbackStatus

T = TypeVar("T")

BROKEN_OFF: Final = frozenset(
    {
        WorkflowExecutionStatus.TERMINATED,
        WorkflowExecutionStatus.TIMED_OUT,
        WorkflowExecutionStatus.FAILED,
        WorkflowExecutionStatus.CANCELED,
    }
)
"""Ends of a rollback that are not its own: it completes, or it goes on."""

_TURNED_AWAY: Final = frozenset(
    error.__name__ for error in (MissionStillRuns, MissionUnknown, RollbackMisnamed)
)
"""What a rollback fails with that was never to be: it took nothing back."""

_ANSWER: Final = timedelta(seconds=20)
"""How long a worker may take to answer: it may first have to replay a long history."""

_UNANSWERED: Final = frozenset(
    {
        RPCStatusCode.CANCELLED,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.FAILED_PRECONDITION,
    }
)
"""How a query fails that no worker took."""

Begun = Literal["started", "restarted", "running", "completed"]


async def start_rollback(
    client: Client,
    mission_id: str,
    *,
    reason: str,
    task_queue: str,
    approver: str | None = None,
    asked_at: datetime | None = None,
) -> Begun:
    """Have a mission rolled back, unless that is under way or was done.

    Args:
        client: of the server that the mission is on.
        mission_id: of a mission that is over, or that waits for a rollback which was broken off.
        reason: for the people who will read it.
        task_queue: of workers that know rollbacks.
        approver: who decided on it. One that is taken up keeps the decision that it began with.
        asked_at: when.

    Returns:
        What there was before: nothing, one that was broken off, one that runs, one that completed.
    """
    before = await describe_rollback(client, mission_id)
    counts = before is not None and not await was_refused(client, before)
    if before is not None and counts and before.status not in BROKEN_OFF:
        running = before.status is WorkflowExecutionStatus.RUNNING
        return "running" if running else "completed"
    take_over = before.run_id if before is not None else None
    rollback = RollbackInput(
        mission_id=mission_id,
        reason=reason,
        take_over=take_over,
        approver=approver,
        asked_at=asked_at,
    )
    if before is not None and counts:
        handle = client.get_workflow_handle(before.id, run_id=before.run_id)
        begun = await started_with(client, handle, RollbackInput)
        if begun.approver is not None:
            rollback = begun.model_copy(update={"take_over": take_over})
    try:
        await client.start_workflow(
            names.ROLLBACK_WORKFLOW,
            rollback,
            id=names.rollback_workflow_id(mission_id),
            task_queue=task_queue,
            id_reuse_policy=_after(counts=counts),
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            search_attributes=search_attributes(mission_id, RollbackStatus.COLLECTING),
            static_summary=rollback.summary,
        )
    except WorkflowAlreadyStartedError:
        return "completed"  # somebody else's, between our look and our start
    return "started" if before is None else "restarted"


def _after(*, counts: bool) -> WorkflowIDReusePolicy:
    """Whether a rollback may follow one that completed: only where that was none of the mission."""
    if counts:
        return WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY
    return WorkflowIDReusePolicy.ALLOW_DUPLICATE


async def describe_rollback(client: Client, mission_id: str) -> WorkflowExecutionDescription | None:
    """The newest run of a mission's rollback; None when there never was one."""
    return await described(client.get_workflow_handle(names.rollback_workflow_id(mission_id)))


async def begun_rollback(client: Client, mission_id: str) -> WorkflowExecutionDescription | None:
    """The newest run of a mission's rollback; None when it never had one that was its own."""
    newest = await describe_rollback(client, mission_id)
    return None if newest is None or await was_refused(client, newest) else newest


async def was_refused(client: Client, rollback: WorkflowExecutionDescription) -> bool:
    """Whether what has the id of a rollback was none, or was turned away: it took nothing back.

    Nobody decided on it, and nobody has to go on with it, whatever has become of the mission since.
    """
    if rollback.workflow_type != names.ROLLBACK_WORKFLOW:
        return True
    if rollback.status is not WorkflowExecutionStatus.FAILED:
        return False
    return await failure_type(client, rollback) in _TURNED_AWAY


async def failure_type(client: Client, failed: WorkflowExecutionDescription) -> str:
    """What a run failed with, by the type of its first cause; '' when it has not failed."""
    handle = client.get_workflow_handle(failed.id, run_id=failed.run_id)
    close = WorkflowHistoryEventFilterType.CLOSE_EVENT
    async for event in handle.fetch_history_events(event_filter_type=close):
        failure = event.workflow_execution_failed_event_attributes.failure
        while failure.HasField("cause"):
            failure = failure.cause
        return failure.application_failure_info.type
    return ""


async def described(handle: "WorkflowHandle[Any, Any]") -> WorkflowExecutionDescription | None:
    """What the server says of a workflow; None when it knows none."""
    try:
        return await handle.describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise


async def query_or_none(
    handle: "WorkflowHandle[Any, Any]", query: str, kind: type[T], within: timedelta | None = None
) -> T | None:
    """A workflow's answer; None when it was stopped before it did anything at all.

    Raises:
        RPCError: it did not answer, or not within the time given.
        NoAnswer: nor will it, where no worker is there of the build that it stays with.
    """
    if not await _did_anything(handle):
        return None
    waits = within or _ANSWER
    try:
        answer: T = await handle.query(query, result_type=kind, rpc_timeout=waits)
    except RPCError as error:
        raise await _with_build(handle, error, waits) from error
    return answer


async def _with_build(
    handle: "WorkflowHandle[Any, Any]", error: RPCError, waited: timedelta
) -> Exception:
    """The error, or that the build of a pinned workflow has to be there to answer."""
    if error.status not in _UNANSWERED:
        return error
    found = await handle.describe()
    info = found.raw_description.workflow_execution_info.versioning_info
    if (version := pinned_version(info)) is None:
        return error
    return NoAnswer(found.task_queue, waited.total_seconds(), build=version[1])


async def started_with(client: Client, handle: "WorkflowHandle[Any, Any]", kind: type[T]) -> T:
    """The input of a workflow, read from its history: no worker needs to have seen it.

    Raises:
        LookupError: its history is gone.
    """
    async for event in handle.fetch_history_events(page_size=1):
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        made: list[T] = await client.data_converter.decode(payloads, [kind])
        return made[0]
    raise LookupError(handle.id)


async def _did_anything(handle: "WorkflowHandle[Any, Any]") -> bool:
    """Whether a worker ever completed a task of it; a server may not answer a query else."""
    wanted = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    async for event in handle.fetch_history_events(page_size=8):
        if event.event_type == wanted:
            return True
    return False
