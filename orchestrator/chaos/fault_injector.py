"""Strikes at workers, the server and the vault at the moments of the schedule."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from orchestrator.chaos.crew import Crew, start_again
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import Strike
from orchestrator.chaos.transient_errors import end_tasks
from orchestrator.chaos.vault_changes import VaultChanges
from orchestrator.core.errors import StateLacking
from orchestrator.runtime.devserver import Stack
from orchestrator.testing.postgres import PostgresServer

_DOWN_S = 0.5
"""How long the server stays away: what a supervisor takes to notice."""


class FaultInjector:
    """Strikes at a stack's processes while the body runs."""

    def __init__(
        self,
        stack: Stack,
        crew: Crew,
        vault: VaultChanges,
        strikes: Sequence[Strike],
        postgres: PostgresServer | None = None,
    ) -> None:
        """Take what is struck, and when; `postgres` is the store that the workers share."""
        self._postgres = postgres
        self._store = asyncio.Lock()
        self._stack = stack
        self._crew = crew
        self._vault = vault
        self._strikes = strikes
        self._repairs: dict[asyncio.Task[None], ChaosFault] = {}
        self._server = asyncio.Lock()
        self.fired: Counter[ChaosFault] = Counter()
        """Strikes that hit something."""

    async def __aenter__(self) -> "FaultInjector":
        self._acting = asyncio.create_task(self._act())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Strike no more, and leave everything running; where the run is given up, as it is."""
        try:
            await end_tasks([self._acting])
        finally:
            if kind is not None:  # the store is started by a thread, which cannot be given up
                await end_tasks(
                    [t for t, fault in self._repairs.items() if fault is not ChaosFault.KILL_STORE]
                )
            await asyncio.gather(*self._repairs)

    async def _act(self) -> None:
        before_s = 0.0
        for strike in self._strikes:
            # Where a worker takes long to start, none would live to do anything between two kills.
            await asyncio.sleep((strike.at_s - before_s) * self._crew.slowness)
            before_s = strike.at_s
            # A task of its own, which goes on with the run: what was struck is put up again.
            task = asyncio.create_task(self._strike(strike))
            self._repairs[task] = strike.fault
            task.add_done_callback(self._repairs.pop)

    async def _strike(self, strike: Strike) -> None:
        if await self._hits(strike):
            self.fired[strike.fault] += 1

    async def _kill_store(self, seconds: float) -> bool:
        """SIGKILL of the store, and its start after so long."""
        if self._postgres is None:
            return False
        async with self._store:
            await asyncio.to_thread(self._postgres.kill)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(self._postgres.start)
        return True

    async def _hits(self, strike: Strike) -> bool:
        match strike.fault:
            case ChaosFault.KILL_WORKER:
                return await self._crew.kill(strike.worker)
            case ChaosFault.PAUSE_WORKER:
                return await self._crew.pause(strike.worker, strike.lasts_s)
            case ChaosFault.PARTITION_WORKER:
                return await self._crew.cut_off(strike.part, strike.lasts_s)
            case ChaosFault.LOSE_CATALOGS:
                try:
                    return await self._crew.lose_catalogs(strike.worker)
                except StateLacking:  # the store is struck just now
                    return False
            case ChaosFault.KILL_STORE:
                return await self._kill_store(strike.lasts_s / 4)
            case ChaosFault.CHANGE_VAULT:
                return await self._vault.change()
        async with self._server:
            await self._stack.kill("temporal", gently=strike.fault is ChaosFault.RESTART_SERVER)
            await asyncio.sleep(_DOWN_S)
            await start_again(self._stack)
        return True
