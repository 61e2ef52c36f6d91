"""Task queues, and whether anybody polls them: as far as the server knows."""

from datetime import UTC, datetime, timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client

_POLLER_GONE = timedelta(seconds=75)
"""A poll lasts a minute, so a poller not seen for longer than this is dead."""


async def has_poller(temporal: Client, task_queue: str) -> bool:
    """Whether somebody polls it for workflows. One that has just died still counts for a while."""
    answer = await temporal.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=temporal.namespace,
            task_queue=TaskQueue(name=task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    newest = [p.last_access_time.ToDatetime(tzinfo=UTC) for p in answer.pollers]
    return any(datetime.now(UTC) - seen < _POLLER_GONE for seen in newest)
