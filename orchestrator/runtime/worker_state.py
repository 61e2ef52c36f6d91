"""What a worker process is doing: starting, polling or draining; how many activities it runs."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    Interceptor,
    Worker,
)

from orchestrator.core.errors import StateLacking

_ANSWERS_WITHIN: Final = timedelta(seconds=2)


class Phase(StrEnum):
    """Where a worker process stands."""

    STARTING = "starting"
    POLLING = "polling"
    DRAINING = "draining"
    """It takes no new task, and ends those that it has."""


class WorkerState:
    """What is known of a worker process from inside of it."""

    def __init__(self) -> None:
        """Nothing is connected yet."""
        self.phase = Phase.STARTING
        self.running = 0
        """Activities in flight."""
        self.waits_for = ""
        """Why it has not begun yet, in a sentence; empty: nothing keeps it from it."""
        self._client: Client | None = None
        self._workers: Sequence[Worker] = ()
        self._ask_store: Callable[[], object] | None = None
        self._asking: asyncio.Future[object] | None = None

    def polls(
        self,
        client: Client,
        workers: Sequence[Worker],
        ask_store: Callable[[], object] | None = None,
    ) -> None:
        """It takes tasks from now on.

        Args:
            client: of the server that they come from.
            workers: one for each task queue.
            ask_store: called in a thread; returns when the store has answered.
        """
        self._client, self._workers, self.phase = client, workers, Phase.POLLING
        self._ask_store = ask_store

    @property
    def task_queues(self) -> list[str]:
        """Those that it polls."""
        return [worker.task_queue for worker in self._workers]

    async def hindrance(self) -> str | None:
        """Why it cannot do work now; None: it can."""
        if self._client is None:
            return self.waits_for or "it has not begun to poll"
        if self.phase is Phase.DRAINING:
            return f"it drains: {self.running} activities in flight"
        if stopped := [w.task_queue for w in self._workers if not w.is_running]:
            return f"it no longer polls {', '.join(stopped)}"
        # At once: who asks does not wait for long either.
        lacks = await asyncio.gather(self._lack_of_server(self._client), self._lack_of_store())
        return next(filter(None, lacks), None)

    async def _lack_of_server(self, client: Client) -> str | None:
        try:
            await client.service_client.check_health(timeout=_ANSWERS_WITHIN)
        except (RPCError, RuntimeError):
            host = client.service_client.config.target_host
            return f"the Temporal server at {host} does not answer"
        return None

    async def _lack_of_store(self) -> str | None:
        """Why the store cannot be used; one question at a time, however many ask for its answer."""
        if self._ask_store is None:
            return None
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(asyncio.to_thread(self._ask_store))
        try:
            await asyncio.wait_for(asyncio.shield(self._asking), _ANSWERS_WITHIN.total_seconds())
        except TimeoutError:
            return f"the store has not answered within {_ANSWERS_WITHIN.total_seconds():.0f} s"
        except StateLacking as away:
            return str(away)
        return None


class CountsActivities(Interceptor):
    """Counts the activities that a worker process has in flight."""

    def __init__(self, state: WorkerState) -> None:
        """Take where they are counted."""
        self._state = state

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Put the counter before what runs an activity."""
        return _Counter(next, self._state)


class _Counter(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, state: WorkerState) -> None:
        super().__init__(next)
        self._state = state

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self._state.running += 1
        try:
            return await super().execute_activity(input)
        finally:
            self._state.running -= 1
