"""Faults of the installation: of workers, server, store and vault, at their scheduled times."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from orchestrator.chaos.crew import Crew, start_again
from orchestrator.chaos.histories import end_tasks
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import Strike
from orchestrator.client.stores import open_vault
from orchestrator.core.errors import StateMissing
from orchestrator.runtime.devserver import SANDBOX_PROFILE, Stack
from orchestrator.testing.postgres import PostgresServer

_PAUSE_S = 0.3
_CHANGED = ("traveler_id", "payment_method_id", "employee_id")
"""Fields without a format."""


class VaultChanges:
    """Changes the owner's fields and records the value of each handle."""

    def __init__(self, stack: Stack) -> None:
        """Open the vault of an installation and record its values."""
        self._vault = open_vault(stack.settings)
        self._changes = 0
        self.values: dict[str, str] = {}
        """Values by handle."""
        for field in self._vault.fields():
            self._note(field, self._vault.get(field))

    async def change(self) -> bool:
        """Give one field another value."""
        field = _CHANGED[self._changes % len(_CHANGED)]
        self._changes += 1
        value = f"{SANDBOX_PROFILE[field].partition('-')[0]}-{10_000 + self._changes}"
        while True:
            try:
                await asyncio.to_thread(self._put, field, value)
            except StateMissing:
                # It may have stored the value without an answer; the next attempt records it.
                await asyncio.sleep(_PAUSE_S)
            else:
                return True

    def _put(self, field: str, value: str) -> None:
        self._vault.put(field, value)
        self._note(field, value)

    def _note(self, field: str, value: str) -> None:
        self.values[str(self._vault.current(field))] = value


_COPIED_AFTER_S = 3.0
"""The time when missions search and the first ones wait for their cards."""
_RESTORED_AFTER_S = 5.0
"""The time after the copy when bookings were made that the copy does not have."""


class Rewind:
    """Restores a server from an older copy of its file, while missions run on it.

    A booking made after the copy may belong to a call that the restored history does not have.
    Because providers and used grants did not go back, no call has its effect twice (equal ids give
    equal idempotency keys), none is sent without approval, and no cancel cancels another call's
    booking.
    """

    def __init__(self, stack: Stack) -> None:
        """Create a rewind of an installation's server."""
        self._stack = stack
        self._copy = stack.folder / "temporal-copy.db"
        self.over = asyncio.Event()
        """Set once the server answers from the older file."""

    async def strike(self) -> None:
        """Copy, wait, kill, restore, start."""
        await asyncio.sleep(_COPIED_AFTER_S)
        await asyncio.to_thread(_copy, self._file, self._copy)
        await asyncio.sleep(_RESTORED_AFTER_S)
        await self._stack.kill("temporal")
        await asyncio.to_thread(_put_back, self._copy, self._file)
        await start_again(self._stack)
        self.over.set()

    @property
    def _file(self) -> Path:
        return self._stack.folder / "temporal.db"


def _copy(source: Path, target: Path) -> None:
    """Make a consistent copy of a database in use."""
    live, copied = sqlite3.connect(source), sqlite3.connect(target)
    try:
        live.backup(copied)
    finally:
        live.close()
        copied.close()


def _put_back(copied: Path, file: Path) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    copied.replace(file)


_DOWN_S = 0.5
"""Time until the dead server is replaced, as by a supervisor."""


class FaultInjector:
    """Strikes a stack's processes while the block runs."""

    def __init__(
        self,
        stack: Stack,
        crew: Crew,
        vault: VaultChanges,
        strikes: Sequence[Strike],
        postgres: PostgresServer | None = None,
    ) -> None:
        """Create an injector; `postgres` is the workers' shared store."""
        self._postgres = postgres
        self._store = asyncio.Lock()
        self._stack = stack
        self._crew = crew
        self._vault = vault
        self._strikes = strikes
        self._repairs: dict[asyncio.Task[None], ChaosFault] = {}
        self._server = asyncio.Lock()
        self.fired: Counter[ChaosFault] = Counter()
        """The strikes that hit something."""

    async def __aenter__(self) -> "FaultInjector":
        self._acting = asyncio.create_task(self._act())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop striking and leave everything running, unless the block failed."""
        try:
            await end_tasks([self._acting])
        finally:
            if kind is not None:  # a thread starts the store and cannot be cancelled
                await end_tasks(
                    [t for t, fault in self._repairs.items() if fault is not ChaosFault.KILL_STORE]
                )
            await asyncio.gather(*self._repairs)

    async def _act(self) -> None:
        before_s = 0.0
        for strike in self._strikes:
            # Slow starts stretch the schedule, or no worker would live long enough to do anything.
            await asyncio.sleep((strike.at_s - before_s) * self._crew.slowness)
            before_s = strike.at_s
            # In a separate task, which also repairs.
            task = asyncio.create_task(self._strike(strike))
            self._repairs[task] = strike.fault
            task.add_done_callback(self._repairs.pop)

    async def _strike(self, strike: Strike) -> None:
        if await self._hits(strike):
            self.fired[strike.fault] += 1

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
                except StateMissing:  # the store is down
                    return False
            case ChaosFault.KILL_STORE:
                seconds = strike.lasts_s / 4
                if self._postgres is None:
                    return False
                async with self._store:
                    await asyncio.to_thread(self._postgres.kill)
                    await asyncio.sleep(seconds)
                    await asyncio.to_thread(self._postgres.start)
                return True
            case ChaosFault.CHANGE_VAULT:
                return await self._vault.change()
        async with self._server:
            await self._stack.kill("temporal", gently=strike.fault is ChaosFault.RESTART_SERVER)
            await asyncio.sleep(_DOWN_S)
            await start_again(self._stack)
        return True
