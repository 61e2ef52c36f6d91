"""Tells a workflow how long its task was kept waiting by what it thought in it.

A workflow's own clock cannot: while a task goes on by another one (a heartbeat of the SDK's core),
it jumps to the start of that, and in a replay, which gets the answer with the first, it does not.
"""

import time
from typing import Any

from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from orchestrator.messages.thought_here import ThoughtHere


class ThinkingTime(Interceptor):
    """For workers: the answers of local activities hold how long these took."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """The activities of the worker, timed."""
        return _Timed(next)


class _Timed(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        began = time.monotonic()
        answer = await super().execute_activity(input)
        if not isinstance(answer, ThoughtHere) or not activity.info().is_local:
            return answer
        return answer.model_copy(update={"took_s": round(time.monotonic() - began, 3)})
