"""Task queues, and who polls them: as far as the server knows."""

from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType, WorkerVersioningMode
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue, TaskQueueVersioningInfo
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

from orchestrator.adapters.temporal.pinned_builds import Version, named_version
from orchestrator.core.errors import NoWorker

_POLLER_GONE = timedelta(seconds=75)
"""A poll lasts a minute, so a poller not seen for longer than this is dead."""


async def absence(
    temporal: Client, task_queue: str, pinned_to: Version | None = None
) -> NoWorker | None:
    """Why nobody would take what waits there; None when somebody would.

    A worker that has just died still counts for a while.

    Args:
        temporal: the server.
        task_queue: what is polled for workflows.
        pinned_to: the build that the workflow stays with; None: it goes to the current one.
    """
    answer = await temporal.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=temporal.namespace,
            task_queue=TaskQueue(name=task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    now = datetime.now(UTC)
    polling = {
        _version_of(one)
        for one in answer.pollers
        if now - one.last_access_time.ToDatetime(tzinfo=UTC) < _POLLER_GONE
    }
    wanted: set[Version | None] = {pinned_to} if pinned_to else _routed_to(answer.versioning_info)
    return None if polling & wanted else _said(task_queue, wanted, polling, pinned_to)


def _version_of(poller: PollerInfo) -> Version | None:
    told = poller.deployment_options
    versioned = WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
    is_versioned = told.worker_versioning_mode == versioned
    return (told.deployment_name, told.build_id) if is_versioned else None


def _routed_to(info: TaskQueueVersioningInfo) -> set[Version | None]:
    """The builds that a new workflow may go to; None stands for workers that tell no build."""
    ramping = named_version(info.ramping_deployment_version)
    return {named_version(info.current_deployment_version), *([ramping] if ramping else [])}


def _said(
    task_queue: str,
    wanted: set[Version | None],
    polling: set[Version | None],
    pinned_to: Version | None,
) -> NoWorker:
    builds = sorted(filter(None, polling))
    if wanted == {None} and builds:
        deployment, build = builds[-1]
        return NoWorker(task_queue, build=build, waits_in=deployment)
    named = pinned_to or next(filter(None, wanted), None)
    return NoWorker(task_queue, build=named[1] if named else "")
