"""Keeps work out of workflow tasks that were lost again and again, each with its worker.

A workflow task is tried for as long as it takes: what kills a worker in one of them would kill
every worker, one after the other. An ordinary activity has a few attempts, and its failure is seen.
"""

import logging
from collections import OrderedDict
from datetime import timedelta
from typing import Any, Final

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from orchestrator.messages import names

_MOST: Final = 3
"""Attempts of a workflow task that may be lost before its work is done elsewhere: a worker is
killed, or stopped, for other reasons as well."""
_ANSWERS_WITHIN: Final = timedelta(seconds=2)
_REMEMBERED: Final = 10_000
"""Runs."""

_log = logging.getLogger(__name__)


class LostTasks(Interceptor):
    """For workers: a local activity fails at once in a workflow task that was lost too often.

    The server is asked once for each run that a process thinks for: as long as it lives, no work of
    that run has killed it.
    """

    def __init__(self, client: Client) -> None:
        """Take the server that counts the attempts of workflow tasks."""
        self._client = client
        self._survived: OrderedDict[str, None] = OrderedDict()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """The activities of the worker, looked at before they run."""
        return _NotAgain(next, self)

    async def check(self, info: activity.Info) -> None:
        """Refuse work of a workflow task that was lost too often.

        Raises:
            ApplicationError: it was; an ordinary activity is to do it.
        """
        if info.workflow_run_id in self._survived:
            return
        attempt = await self._attempt(info)
        if attempt > _MOST:
            why = f"the workflow task of {info.workflow_id} was lost {attempt - 1} times"
            _log.warning("%s: what it thinks is done by an ordinary activity", why)
            raise ApplicationError(why, type=names.TASK_LOST)

    def survived(self, run_id: str) -> None:
        """Note that work of this run ended in this process, whatever came of it."""
        self._survived[run_id] = None
        self._survived.move_to_end(run_id)
        while len(self._survived) > _REMEMBERED:
            self._survived.popitem(last=False)

    async def _attempt(self, info: activity.Info) -> int:
        """Which attempt of its workflow task this is; 1 where the server does not say so now."""
        handle = self._client.get_workflow_handle(
            info.workflow_id or "", run_id=info.workflow_run_id
        )
        try:
            found = await handle.describe(rpc_timeout=_ANSWERS_WITHIN)
        except RPCError:
            return 1
        return found.raw_description.pending_workflow_task.attempt


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
