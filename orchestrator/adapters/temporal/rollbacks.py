"""Start and describe rollbacks: shared by clients, activities and sweeps.

A rollback that was broken off is started again under the same workflow id, with the run to take
over from. A completed rollback is never repeated.
"""

from datetime import datetime
from typing import Any, Final, Literal, TypeVar

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

from orchestrator.adapters.temporal.search_attributes import search_attributes
from orchestrator.core.errors import UsageError
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
"""Statuses of a rollback that was broken off: left alone, it completes or continues."""

Begun = Literal["started", "restarted", "running", "completed"]


async def start_rollback(
    client: Client,
    mission_id: str,
    *,
    reason: str,
    task_queue: str,
    workflow_id: str = "",
    approver: str | None = None,
    asked_at: datetime | None = None,
    abandoned: bool = False,
) -> Begun:
    """Start the rollback of a mission, unless one is running or has completed.

    Args:
        client: of the server that the mission is on.
        mission_id: of a mission that is over, or that waits for a rollback which was broken off.
        reason: for the people who will read it.
        task_queue: of workers that know rollbacks.
        workflow_id: of the saga that is rolled back; empty for a mission.
        approver: the person who decided on the rollback. A resumed one keeps its first decision.
        asked_at: the time of the decision.
        abandoned: as in RollbackInput; a resumed one keeps its own.

    Returns:
        "started" if there was none before, "restarted" if one was broken off, "running" or
        "completed" if there was one.
    """
    before = await describe_rollback(client, mission_id)
    counts = before is not None and await is_of_mission(client, mission_id, before)
    if before is not None and counts and before.status not in BROKEN_OFF:
        if before.status is not WorkflowExecutionStatus.RUNNING:
            return "completed"
        if approver is not None and (await _begun(client, before)).abandoned:
            raise UsageError(
                f"the rollback of a branch of {mission_id} that a reset abandoned is still open: "
                "resolve what it has parked, then ask again"
            )
        return "running"
    rollback = RollbackInput(
        mission_id=mission_id,
        workflow_id=workflow_id,
        reason=reason,
        take_over=before.run_id if before is not None else None,
        approver=approver,
        asked_at=asked_at,
        abandoned=abandoned,
    )
    if before is not None and counts:
        rollback = await _resumed(client, before, rollback)
    reuse = WorkflowIDReusePolicy.ALLOW_DUPLICATE
    if counts:  # no start may follow a completed rollback of the mission itself
        reuse = WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY
    try:
        await client.start_workflow(
            names.ROLLBACK_WORKFLOW,
            rollback,
            id=names.rollback_workflow_id(mission_id),
            task_queue=task_queue,
            id_reuse_policy=reuse,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            search_attributes=search_attributes(mission_id, RollbackStatus.COLLECTING),
            static_summary=rollback.summary,
        )
    except WorkflowAlreadyStartedError:
        return "completed"  # another process started it between the description and this start
    return "started" if before is None else "restarted"


async def _resumed(
    client: Client, before: WorkflowExecutionDescription, wanted: RollbackInput
) -> RollbackInput:
    begun = await _begun(client, before)
    if begun.approver is not None:
        return begun.model_copy(update={"take_over": wanted.take_over, "ledger": None})
    abandoned = begun.abandoned and wanted.approver is None  # a person means the whole mission
    kept = {"workflow_id": begun.workflow_id, "abandoned": abandoned}
    return wanted.model_copy(update=kept)


async def _begun(client: Client, rollback: WorkflowExecutionDescription) -> RollbackInput:
    """Return the input with which a rollback was started."""
    handle = client.get_workflow_handle(rollback.id, run_id=rollback.run_id)
    return await started_with(client, handle, RollbackInput)


async def describe_rollback(client: Client, mission_id: str) -> WorkflowExecutionDescription | None:
    """Return the newest run of a mission's rollback; None if there never was one."""
    return await described(client.get_workflow_handle(names.rollback_workflow_id(mission_id)))


async def begun_rollback(client: Client, mission_id: str) -> WorkflowExecutionDescription | None:
    """Return the newest run of a mission's own rollback; None if there never was one."""
    newest = await describe_rollback(client, mission_id)
    return newest if newest and await is_of_mission(client, mission_id, newest) else None


async def is_of_mission(
    client: Client, mission_id: str, rollback: WorkflowExecutionDescription
) -> bool:
    """Return False for a rollback that was refused, or that cancelled an abandoned branch only.

    If a mission was reset and then ended well, the effects of the abandoned branch are cancelled
    before the mission ends: its own effects can still be rolled back. So can those of a run that
    was started after the rollback: it was of an earlier one.
    """
    if await was_refused(client, rollback):
        return False
    if rollback.status is not WorkflowExecutionStatus.COMPLETED:
        return True
    begun = await _begun(client, rollback)
    mission = await described(client.get_workflow_handle(begun.workflow_id or mission_id))
    if mission is None:
        return True
    if rollback.start_time < mission.start_time:
        return False  # of an earlier mission of this id, or of the branch before a reset
    if mission.close_time is None or begun.workflow_id:
        return True
    if rollback.start_time > mission.close_time and not begun.abandoned:
        return True
    if mission.status is WorkflowExecutionStatus.COMPLETED:
        return False
    return names.MISSION_INCOMPLETE not in await failure_types(client, mission)


async def was_refused(client: Client, rollback: WorkflowExecutionDescription) -> bool:
    """Return True if a workflow under the id of a rollback was not one, or was refused.

    Nobody decided on it and nobody has to continue it, whatever happened to the mission since.
    """
    if rollback.workflow_type != names.ROLLBACK_WORKFLOW:
        return True
    if rollback.status is not WorkflowExecutionStatus.FAILED:
        return False
    return not names.ROLLBACK_REFUSED.isdisjoint(await failure_types(client, rollback))


async def failure_type(client: Client, failed: WorkflowExecutionDescription) -> str:
    """Return the type of the first cause that a run failed with; '' if it has not failed."""
    return next(reversed(await failure_types(client, failed)), "")


async def failure_types(client: Client, failed: WorkflowExecutionDescription) -> list[str]:
    """Return the failure types of a run: its own failure first, its first cause last."""
    handle = client.get_workflow_handle(failed.id, run_id=failed.run_id)
    close = WorkflowHistoryEventFilterType.CLOSE_EVENT
    types: list[str] = []
    async for event in handle.fetch_history_events(event_filter_type=close):
        if not event.HasField("workflow_execution_failed_event_attributes"):
            continue
        failure = event.workflow_execution_failed_event_attributes.failure
        types.append(failure.application_failure_info.type)
        while failure.HasField("cause"):
            failure = failure.cause
            types.append(failure.application_failure_info.type)
    return types


async def described(handle: "WorkflowHandle[Any, Any]") -> WorkflowExecutionDescription | None:
    """Return the server's description of a workflow; None if the server does not know it."""
    try:
        return await handle.describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return None
        raise


async def started_with(client: Client, handle: "WorkflowHandle[Any, Any]", kind: type[T]) -> T:
    """Return the input of a workflow, read from its history: no worker needs to have seen it.

    Raises:
        LookupError: its history is gone.
    """
    async for event in handle.fetch_history_events(page_size=1):
        payloads = event.workflow_execution_started_event_attributes.input.payloads
        made: list[T] = await client.data_converter.decode(payloads, [kind])
        return made[0]
    raise LookupError(handle.id)
