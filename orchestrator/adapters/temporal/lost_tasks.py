"""Keeps work out of workflow tasks that were lost again and again, each with its worker.

A workflow task is tried for as long as it takes: what kills a worker in one of them would kill
every worker, one after the other. An ordinary activity has a few attempts, and its failure is seen.
"""

import logging
from collections import OrderedDict
from datetime import timedelta
from typing import Any, Final

from temporalio import activity
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, TimeoutType
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    WorkflowInstance,
    WorkflowInstanceDetails,
    WorkflowRunner,
)

from orchestrator.adapters.temporal.wrapped_runner import WrappedRun, WrappedRunner
from orchestrator.messages import names

_MOST: Final = 3
"""Attempts of a workflow task that may be lost before its work is done elsewhere: a worker is
killed, or stopped, for other reasons as well."""
_ANSWERS_WITHIN: Final = timedelta(seconds=2)
_REMEMBERED: Final = 10_000
"""Runs."""
_FIRST_TASK: Final = 3
"""Events of a run whose first task has begun."""
_LOOKED_THROUGH: Final = 50
"""Events from the end."""
_NO_PROGRESS: Final = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
        EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
    }
)
"""What comes to a workflow while its task thinks, or is lost."""

_log = logging.getLogger(__name__)


class LostTasks(Interceptor):
    """For workers: a local activity fails at once in a workflow task that was lost too often.

    The server is asked once for each run that a process thinks for, unless it has begun with it: as
    long as it lives, no work of that run has killed it, and nobody had the run before.
    """

    def __init__(self, client: Client) -> None:
        """Take the server that counts the attempts of workflow tasks."""
        self._client = client
        self._survived: OrderedDict[str, None] = OrderedDict()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """The activities of the worker, looked at before they run."""
        return _NotAgain(next, self)

    def watching(self, inner: WorkflowRunner) -> WorkflowRunner:
        """A runner that notes which runs this process begins, at the first attempt of all."""
        return _Watching(inner, self)

    async def check(self, info: activity.Info) -> None:
        """Refuse work of a workflow task that was lost too often.

        Raises:
            ApplicationError: it was; an ordinary activity is to do it.
        """
        if info.workflow_run_id in self._survived:
            return
        try:
            lost = await _lost_before(self._client, info)
        except RPCError:
            return  # who counts is away, and the task may not be lost
        if lost >= _MOST:
            why = f"the workflow task of {info.workflow_id} was lost {lost} times"
            _log.warning("%s: what it thinks is done by an ordinary activity", why)
            raise ApplicationError(why, type=names.TASK_LOST)

    def survived(self, run_id: str) -> None:
        """Note that work of this run ended in this process, whatever came of it."""
        self._survived[run_id] = None
        self._survived.move_to_end(run_id)
        while len(self._survived) > _REMEMBERED:
            self._survived.popitem(last=False)


async def _lost_before(client: Client, info: activity.Info) -> int:
    """How often the task that thinks this was lost, with whoever had it.

    The server counts attempts from the last task that ended, be it one that only answered a query
    and went on thinking: those are in history, and nothing that a workflow did is between them.
    """
    execution = WorkflowExecution(
        workflow_id=info.workflow_id or "", run_id=info.workflow_run_id or ""
    )
    handle = client.get_workflow_handle(execution.workflow_id, run_id=execution.run_id)
    found = await handle.describe(rpc_timeout=_ANSWERS_WITHIN)
    attempt = found.raw_description.pending_workflow_task.attempt
    if (found.history_length or 0) <= _FIRST_TASK:
        return attempt - 1
    answer = await client.workflow_service.get_workflow_execution_history_reverse(
        GetWorkflowExecutionHistoryReverseRequest(
            namespace=client.namespace, execution=execution, maximum_page_size=_LOOKED_THROUGH
        ),
        timeout=_ANSWERS_WITHIN,
    )
    lost = 0
    for event in answer.history.events:
        if event.event_type not in _NO_PROGRESS:
            break
        timed_out = event.workflow_task_timed_out_event_attributes.timeout_type
        lost += timed_out == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE
    return lost + max(attempt - 2, 0)  # of the attempts of one task, the first is in history


class _NotAgain(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, tasks: LostTasks) -> None:
        super().__init__(next)
        self._tasks = tasks

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        if not info.is_local:
            return await super().execute_activity(input)
        await self._tasks.check(info)
        try:
            return await super().execute_activity(input)
        finally:
            self._tasks.survived(info.workflow_run_id or "")


class _Watching(WrappedRunner):
    def __init__(self, inner: WorkflowRunner, tasks: LostTasks) -> None:
        super().__init__(inner)
        self._tasks = tasks

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return _Beginning(self._inner.create_instance(det), self._tasks)


class _Beginning(WrappedRun):
    def __init__(self, inner: WorkflowInstance, tasks: LostTasks) -> None:
        super().__init__(inner)
        self._tasks = tasks

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        # An attempt that was lost has an event in history, before those of the next one.
        if act.history_length == _FIRST_TASK:
            self._tasks.survived(act.run_id)
        return self._inner.activate(act)
