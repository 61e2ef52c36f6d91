"""State of a worker process: its phase, its running activities, the parts it waits for."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, TypeVar

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor, Worker

from orchestrator.activities.boundary import ServerTime, skew_fault
from orchestrator.adapters.temporal.mission_converter import LockedInput
from orchestrator.core.errors import ServerUnreachable, StateMissing, StoreUnavailable
from orchestrator.messages import names

_ANSWERS_WITHIN: Final = timedelta(seconds=2)


class Phase(StrEnum):
    """The phase of a worker process."""

    STARTING = "starting"
    POLLING = "polling"
    DRAINING = "draining"
    """It takes no new tasks, and finishes the running ones."""


class WorkerState:
    """The state of a worker process, as known from inside."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self.running = 0
        """Number of running activities."""
        self.waits_for = ""
        """Why it has not started yet, in a sentence; empty: nothing prevents it."""
        self.unregistered = ""
        """Why the server cannot serve its missions, in a sentence; empty: it can."""
        self.clock_fault: str | None = None
        """The fault of its clock at the last comparison with the server's."""
        self._client: Client | None = None
        self._workers: Sequence[Worker] = ()
        self._ask_store: Callable[[], object] | None = None
        self._ask_server: Callable[[Client], Awaitable[str | None]] | None = None
        self._asking: asyncio.Future[object] | None = None

    def polls(
        self,
        client: Client,
        workers: Sequence[Worker],
        ask_store: Callable[[], object] | None = None,
        ask_server: Callable[[Client], Awaitable[str | None]] | None = None,
    ) -> None:
        """Note that the worker takes tasks from now on.

        `ask_store` is called in a thread, and returns when the store has answered; `ask_server`
        returns why the server cannot serve missions.
        """
        self._client, self._workers, self.phase = client, workers, Phase.POLLING
        self._ask_store, self._ask_server = ask_store, ask_server

    @property
    def task_queues(self) -> list[str]:
        """The task queues that it polls."""
        return [worker.task_queue for worker in self._workers]

    async def hindrance(self) -> str | None:
        """Return why it cannot work now; None: it can."""
        if self._client is None:
            return self.waits_for or "it has not begun to poll"
        if self.phase is Phase.DRAINING:
            return f"it drains: {self.running} activities in flight"
        if stopped := [w.task_queue for w in self._workers if not w.is_running]:
            return f"it no longer polls {', '.join(stopped)}"
        if self.clock_fault or self.unregistered:
            return self.clock_fault or self.unregistered
        # Concurrently, as the caller does not wait for long either.
        problems = await asyncio.gather(self._server_problem(self._client), self._store_problem())
        return next(filter(None, problems), None)

    def compare_clock(self, skew: timedelta) -> None:
        """Note how far the clock is ahead of the server's, and log a fault when it begins."""
        before, self.clock_fault = self.clock_fault, skew_fault(skew)
        if self.clock_fault and not before:
            _log.error("%s", self.clock_fault)

    async def _server_problem(self, client: Client) -> str | None:
        try:
            await client.service_client.check_health(timeout=_ANSWERS_WITHIN)
            return await self._ask_server(client) if self._ask_server is not None else None
        except (RPCError, RuntimeError):
            host = client.service_client.config.target_host
            return f"the Temporal server at {host} does not answer"

    async def _store_problem(self) -> str | None:
        """Return why the store cannot be used, with one query at a time for all callers."""
        if self._ask_store is None:
            return None
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(asyncio.to_thread(self._ask_store))
        try:
            await asyncio.wait_for(asyncio.shield(self._asking), _ANSWERS_WITHIN.total_seconds())
        except TimeoutError:
            return f"the store has not answered within {_ANSWERS_WITHIN.total_seconds():.0f} s"
        except StateMissing as away:
            return str(away)
        return None


class CountsActivities(Interceptor):
    """Counts a worker process's running activities, and compares its clock at each."""

    def __init__(self, state: WorkerState) -> None:
        self._state = state

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Insert the counter before the next interceptor of activities."""
        return _Counter(next, self._state)


class _Counter(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, state: WorkerState) -> None:
        super().__init__(next)
        self._state = state

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self._state.running += 1
        if not activity.info().is_local:
            self._state.compare_clock(ServerTime().skew)
        try:
            return await super().execute_activity(input)
        finally:
            self._state.running -= 1


_WAITS = frozenset({names.AWAIT_KEY, names.AWAIT_STATE})


class LockedCalls(Interceptor):
    """Worker interceptor: an activity that receives a `LockedInput` fails at once."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Return the inbound interceptor that checks the input of each activity before it runs."""
        return _OnlyUnlocked(next)


class _OnlyUnlocked(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        for given in (*input.args, *info.heartbeat_details):
            if isinstance(given, LockedInput):
                raise ApplicationError(
                    str(given.why),
                    type=type(given.why).__name__,
                    # If no earlier attempt may have had an effect, the workflow waits and schedules
                    # the activity again, so that no attempt is used up: a call may have only one.
                    # The activities that it waits with are retried without a limit.
                    non_retryable=info.attempt == 1 and info.activity_type not in _WAITS,
                )
        return await super().execute_activity(input)


T = TypeVar("T")
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 5.0

_log = logging.getLogger(__name__)


class StoppedWaiting(Exception):
    """The worker was asked to stop while it waited."""


class AwaitedParts:
    """Waits for parts on other machines, and reports that once in the log and on /readyz."""

    def __init__(self, state: WorkerState, stop: asyncio.Event) -> None:
        self._state = state
        self._stop = stop

    async def retry_until_available(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return the result of an attempt, repeated while the server or the store is unreachable.

        Raises:
            StoppedWaiting: the worker was asked to stop.
            Exception: any other failure; waiting would not fix it.
        """
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                answer = await attempt()
            except (ServerUnreachable, StoreUnavailable) as away:
                if not self._state.waits_for:
                    _log.warning("the worker waits, and begins by itself once it can: %s", away)
                self._state.waits_for = str(away)
            else:
                if self._state.waits_for:
                    _log.info("it is there: the worker goes on")
                self._state.waits_for = ""
                return answer
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), pause_s)
            if self._stop.is_set():
                raise StoppedWaiting
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
