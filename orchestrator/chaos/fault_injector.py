"""Kills workers and the server at the moments of the schedule, and puts others in their place."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import Strike
from orchestrator.chaos.transient_errors import end_tasks
from orchestrator.core.errors import ServiceUnavailable
from orchestrator.runtime.devserver import Stack

_DOWN_S = 0.5
"""How long the server stays away: what a supervisor takes to notice."""
_STARTS = 3


def worker_names(count: int) -> list[str]:
    """The names of a run's worker processes, and of their logs."""
    return ["worker", *(f"worker-{number}" for number in range(2, count + 1))]


class FaultInjector:
    """Strikes at a stack's processes while the body runs."""

    def __init__(self, stack: Stack, strikes: Sequence[Strike]) -> None:
        self._stack = stack
        self._strikes = strikes
        self._repairs: set[asyncio.Task[None]] = set()
        self._starting: set[str] = set()
        self._server = asyncio.Lock()
        self.fired: Counter[ChaosFault] = Counter()
        """Strikes that hit a process."""

    async def __aenter__(self) -> "FaultInjector":
        self._acting = asyncio.create_task(self._act())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Strike no more, and leave everything running."""
        try:
            await end_tasks([self._acting])
        finally:
            await asyncio.gather(*self._repairs)

    async def _act(self) -> None:
        began = asyncio.get_running_loop().time()
        for strike in self._strikes:
            left = began + strike.at_s - asyncio.get_running_loop().time()
            await asyncio.sleep(max(left, 0))
            # A task of its own, which is never cancelled: what was struck is put up again.
            task = asyncio.create_task(self._strike(strike))
            self._repairs.add(task)
            task.add_done_callback(self._repairs.discard)

    async def _strike(self, strike: Strike) -> None:
        if strike.fault is ChaosFault.KILL_WORKER:
            await self._kill_worker(worker_names(strike.worker + 1)[-1])
            return
        async with self._server:
            await self._stack.kill("temporal", gently=strike.fault is ChaosFault.RESTART_SERVER)
            self.fired[strike.fault] += 1
            await asyncio.sleep(_DOWN_S)
            await self._stack.start_server()

    async def _kill_worker(self, name: str) -> None:
        if not self._stack.runs(name) or name in self._starting:
            return
        self._starting.add(name)
        await self._stack.kill(name)
        self.fired[ChaosFault.KILL_WORKER] += 1
        await self._replace(name)
        self._starting.discard(name)

    async def _replace(self, name: str) -> None:
        """Start a worker, again when the server dies under it before it polls."""
        for _ in range(_STARTS):
            with suppress(ServiceUnavailable):
                return await self._stack.start_worker(name)
            await asyncio.sleep(_DOWN_S)
        await self._stack.start_worker(name)
