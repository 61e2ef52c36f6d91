"""Why a workflow does not continue: nobody polls its task queue, or its tasks keep failing."""

from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.deployment.v1 import WorkerDeploymentVersion
from temporalio.api.enums.v1 import (
    EventType,
    TaskQueueType,
    VersioningBehavior,
    WorkerVersioningMode,
    WorkflowTaskFailedCause,
)
from temporalio.api.failure.v1 import Failure
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflow.v1 import WorkflowExecutionVersioningInfo
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    GetWorkflowExecutionHistoryReverseRequest,
)
from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.exceptions import FailureError

from orchestrator.core import command_lines
from orchestrator.core.errors import NoAnswer, NoWorker, PayloadLocked, ServiceUnavailable

Version = tuple[str, str]
"""A deployment name and a build id."""

_POLLER_GONE = timedelta(seconds=75)
"""A poll lasts a minute, so a poller that was not seen for longer than this is dead."""
_ATTEMPTS: Final = 2
"""A task at its third attempt has failed twice, which is no brief disturbance."""
_LOOKED_THROUGH: Final = 20
"""Number of last events to search: only newly arrived events follow the failure."""
_LONGEST: Final = 300
_VERSIONED: Final = WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
_CAUSE: Final = "WORKFLOW_TASK_FAILED_CAUSE_"
_REMEDIES: Final = {PayloadLocked.__name__: "Give its workers that key, and it goes on by itself"}
"""The needs of the workers, by failure type; newer worker code would not fix these failures."""
_UNREAD: Final = "Ask again with that key to know why it cannot go on"


async def absence(
    temporal: Client,
    task_queue: str,
    pinned_to: Version | None = None,
    *,
    kind: "TaskQueueType.ValueType" = TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
) -> NoWorker | None:
    """Return why nobody would take tasks of a queue; None when a worker polls it.

    A worker that has just died still counts for a while. A workflow that stays with a build is
    `pinned_to` it; others take the current one.
    """
    answer = await temporal.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=temporal.namespace,
            task_queue=TaskQueue(name=task_queue),
            task_queue_type=kind,
        )
    )
    now = datetime.now(UTC)
    polling: set[Version | None] = set()
    """None stands for unversioned workers."""
    for one in answer.pollers:
        if now - one.last_access_time.ToDatetime(tzinfo=UTC) < _POLLER_GONE:
            options = one.deployment_options
            is_versioned = options.worker_versioning_mode == _VERSIONED
            polling.add((options.deployment_name, options.build_id) if is_versioned else None)
    wanted = {pinned_to}
    if pinned_to is None:
        routed = answer.versioning_info
        ramping = named_version(routed.ramping_deployment_version)
        wanted = {named_version(routed.current_deployment_version), *([ramping] if ramping else [])}
    if polling & wanted:
        return None
    builds = sorted(filter(None, polling))
    if wanted == {None} and builds:
        deployment, build = builds[-1]
        return no_worker(task_queue, build, waits_in=deployment)
    named = pinned_to or next(filter(None, wanted), None)
    return no_worker(task_queue, named[1] if named else "")


def no_worker(task_queue: str, build: str = "", *, waits_in: str = "") -> NoWorker:
    """Return the error for a queue, or a build of it, that no worker polls.

    `waits_in` is the deployment in which this build exists without being current.
    """
    of_build = f"build {build!r} of " if build else ""
    if waits_in:
        command = command_lines.set_current(waits_in, build)
        return NoWorker(
            f"workers of build {build!r} poll the task queue {task_queue!r}, and it is not current "
            f"of the deployment {waits_in!r}; make it so with: {command}",
            awaited=f"build {build!r} to be current of the deployment {waits_in!r}",
            command=command,
        )
    command = command_lines.start_worker(task_queue, build)
    if build:
        problem = f"no worker of build {build!r} polls the task queue {task_queue!r}"
    else:
        problem = f"no worker polls the task queue {task_queue!r}"
    return NoWorker(
        f"{problem}; start one with: {command}",
        awaited=f"a worker of {of_build}the task queue {task_queue!r}",
        command=command,
    )


def no_answer(task_queue: str, within_s: float, sent: str = "") -> NoAnswer:
    """Return the error for workers that did not answer in time.

    `sent` is the request that may still be handled once one answers.
    """
    command = command_lines.start_worker(task_queue)
    may_come = f"; {sent} may still be taken when one answers: look before you repeat it"
    return NoAnswer(
        f"no worker of the task queue {task_queue!r} answered within {within_s:g} s: all of them "
        f"are busy, or the last one has just died (start one with: {command})"
        + (may_come if sent else ""),
        awaited=f"a worker of the task queue {task_queue!r}",
        command=command,
    )


async def stuck(client: Client, found: WorkflowExecutionDescription) -> ServiceUnavailable | None:
    """Return why a workflow cannot continue; None while its tasks do not fail."""
    attempts = found.raw_description.pending_workflow_task.attempt
    if attempts <= _ATTEMPTS:
        return None
    answer = await client.workflow_service.get_workflow_execution_history_reverse(
        GetWorkflowExecutionHistoryReverseRequest(
            namespace=client.namespace,
            execution=WorkflowExecution(workflow_id=found.id, run_id=found.run_id),
            maximum_page_size=_LOOKED_THROUGH,
        )
    )
    ends = (EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED, EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
    last = next((one for one in answer.history.events if one.event_type in ends), None)
    if last is None or last.event_type != EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
        return None  # it only timed out
    failed = last.workflow_task_failed_event_attributes
    cause = WorkflowTaskFailedCause.Name(failed.cause).removeprefix(_CAUSE)
    read = Failure()
    read.CopyFrom(failed.failure)  # decoding changes the failure
    try:
        error = await client.data_converter.decode_failure(read)
        said = error.message if isinstance(error, FailureError) else str(error)
        remedy = _REMEDIES.get(failed.failure.application_failure_info.type, "")
    except PayloadLocked as locked:
        said, remedy = f"its words cannot be read: {locked}", _UNREAD
    words = " ".join(said.split())[:_LONGEST]
    reason = ": ".join(filter(None, (cause.lower().replace("_", " "), words)))
    remedy = remedy or (
        "Run its workers with code that can take it, and it goes on by itself; or stop it with: "
        f"{command_lines.terminate(found.id)}; its mission or the next sweep then rolls back what "
        "was done"
    )
    return ServiceUnavailable(
        f"{found.id} cannot go on: its workflow task failed {attempts - 1} times ({reason}). "
        f"{remedy}",
        code="WorkflowStuck",
    )


def pinned_version(info: WorkflowExecutionVersioningInfo) -> Version | None:
    """Return the build that a workflow is pinned to; None if it moves to the current build."""
    moved = info.versioning_override
    if moved.HasField("pinned"):
        return named_version(moved.pinned.version)
    is_pinned = info.behavior == VersioningBehavior.VERSIONING_BEHAVIOR_PINNED
    return named_version(info.deployment_version) if is_pinned and not moved.auto_upgrade else None


def named_version(version: WorkerDeploymentVersion) -> Version | None:
    """Return a version that the server reports; None if it is empty."""
    return (version.deployment_name, version.build_id) if version.build_id else None
