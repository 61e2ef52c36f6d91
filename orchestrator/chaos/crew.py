"""The worker processes of a run, and faults of workers, server, store and vault in time."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path
from typing import Literal

import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.histories import end_tasks
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.scenarios.plan import Strike
from orchestrator.client.stores import open_vault, store_of
from orchestrator.core.errors import ServiceUnavailable, StateMissing
from orchestrator.runtime.devserver import SANDBOX_PROFILE, Stack
from orchestrator.testing.postgres import PostgresServer


class TcpGate:
    """A proxy on its own port that forwards all bytes unless it is shut.

    Example:
        async with TcpGate(7233) as gate: ...
    """

    def __init__(self, port: int) -> None:
        """Create a gate to a service's port on this machine."""
        self._to = port
        self._open = asyncio.Event()
        self._open.set()
        self._passing: set[asyncio.Task[None]] = set()
        self.port = 0
        """The gate's own port, once it listens."""

    async def __aenter__(self) -> "TcpGate":
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop forwarding."""
        self._server.close()
        self._end_all()

    def shut(self) -> None:
        """Hold all data in both directions and leave new connections without an answer."""
        self._open.clear()

    def open(self) -> None:
        """Forward again; earlier connections are closed with the data held in them."""
        self._end_all()
        self._open.set()

    def _end_all(self) -> None:
        for task in self._passing:
            task.cancel()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._open.wait()
                there, onward = await asyncio.open_connection("127.0.0.1", self._to)
                try:
                    async with asyncio.TaskGroup() as both:
                        both.create_task(self._copy(reader, onward))
                        both.create_task(self._copy(there, writer))
                except* OSError:
                    pass
                finally:
                    onward.transport.abort()
        finally:
            self._passing.discard(task)
            writer.transport.abort()

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            await self._open.wait()
            target.write(data)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()


_ARGS = "x-orchet-compensation-args"
_VERSION = {
    "name": "If-Match",
    "in": "header",
    "description": "The version of what is cancelled.",
    "schema": {"type": "string", "maxLength": 80},
}
_DOWN_S = 0.5
"""Time until a dead process is replaced, as by a supervisor."""
_STARTS = 3
_GATED = 2
"""The number of workers for which the second can be cut off; the last has newer documents."""


def worker_names(count: int) -> list[str]:
    """Return the names of a run's worker processes and of their logs."""
    return ["worker", *(f"worker-{number}" for number in range(2, count + 1))]


class Crew:
    """Starts the workers of a run, strikes them, and replaces them."""

    def __init__(self, stack: Stack, count: int, faults: frozenset[ChaosFault]) -> None:
        """Create a crew of `count` workers prepared for these faults."""
        self._stack = stack
        self._names = worker_names(count)
        self._faults = faults
        self._variables: dict[str, dict[str, str]] = {}
        self._busy: set[str] = set()
        self._paused: set[str] = set()
        self.newer_catalog: str | None = None
        """Digest of the newer documents of one worker; None if all have the same."""
        self.slowness = 1.0
        """Start time of the last worker, as a multiple of the time on an idle machine."""

    async def __aenter__(self) -> "Crew":
        """Start the workers that do not run yet."""
        self._exits = AsyncExitStack()
        if ChaosFault.PARTITION_WORKER in self._faults and len(self._names) >= _GATED:
            self._to_server = await self._exits.enter_async_context(
                TcpGate(self._stack.ports.temporal)
            )
            self._to_providers = await self._exits.enter_async_context(
                TcpGate(self._stack.ports.sandbox)
            )
            settings = self._stack.settings
            port = self._to_providers.port
            variables = {
                document: {**values, "port": str(port)}
                for document, values in settings.server_variables.items()
            }
            self._variables[self._names[_GATED - 1]] = {
                "TEMPORAL_ADDRESS": f"127.0.0.1:{self._to_server.port}",
                "ORCHESTRATOR_SERVER_VARIABLES": json.dumps(variables),
                "ORCHESTRATOR_ONLY_HOSTS": f"127.0.0.1:{port}",
            }
        if ChaosFault.TWO_VERSIONS in self._faults and len(self._names) >= _GATED:
            newer = await asyncio.to_thread(write_newer_documents, self._stack)
            specs = os.pathsep.join(str(folder) for folder in newer)
            self._variables.setdefault(self._names[-1], {})["ORCHESTRATOR_SPECS"] = specs
            overlays = self._stack.overlays
            loaded = await asyncio.to_thread(Catalog.load, *newer, overlays=overlays)
            self.newer_catalog = loaded.digest
        if "ORCHESTRATOR_STORE" in self._stack.variables:
            for name in self._names:
                own = {"ORCHESTRATOR_STATE_DIR": str((self._stack.folder / "of" / name).absolute())}
                self._variables[name] = self._variables.get(name, {}) | own
            await self._stack.kill(self._names[0])  # it was started with the folder of the stack
        for name in self._names:
            if not self._stack.runs(name):
                await self._start(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Continue paused workers and open the gates; the stack ends the processes."""
        for name in self._paused:
            self._signal(name, signal.SIGCONT)
        await self._exits.aclose()

    async def kill(self, worker: int) -> bool:
        """Kill a worker by SIGKILL and replace it; return False if it is busy or gone."""
        name = self._free(worker)
        if name is None:
            return False
        self._busy.add(name)
        await self._stack.kill(name)
        # Started again if the server dies before the worker polls.
        for _ in range(_STARTS):
            with suppress(ServiceUnavailable):
                await self._start(name)
                break
            # A slow worker must not run next to its replacement.
            with suppress(ProcessLookupError):
                await self._stack.kill(name)
            await asyncio.sleep(_DOWN_S)
        else:
            await self._start(name)
        self._busy.discard(name)
        return True

    async def pause(self, worker: int, seconds: float) -> bool:
        """Pause a worker by SIGSTOP for the given time."""
        name = self._free(worker)
        if name is None:
            return False
        self._busy.add(name)
        self._paused.add(name)
        self._signal(name, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self._signal(name, signal.SIGCONT)
        self._paused.discard(name)
        self._busy.discard(name)
        return True

    async def cut_off(self, part: Literal["server", "providers"], seconds: float) -> bool:
        """Cut one worker off from the server or the providers for the given time."""
        if not any("TEMPORAL_ADDRESS" in given for given in self._variables.values()):
            return False
        gate = self._to_server if part == "server" else self._to_providers
        gate.shut()
        await asyncio.sleep(seconds)
        gate.open()
        return True

    async def lose_catalogs(self, worker: int) -> bool:
        """Delete all stored catalogs, and kill one worker that has them in memory."""
        with store_of(self._stack.settings) as store:
            await asyncio.to_thread(store.catalogs.clear)
        return await self.kill(worker)

    def _free(self, worker: int) -> str | None:
        name = self._names[worker % len(self._names)]
        return name if self._stack.runs(name) and name not in self._busy else None

    def _signal(self, name: str, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, KeyError):
            os.kill(self._stack.pid(name), number)

    async def _start(self, name: str) -> None:
        began = time.monotonic()
        await self._stack.start_worker(name, variables=self._variables.get(name))
        # On an idle machine a worker starts within four seconds.
        self.slowness = max((time.monotonic() - began) / 4.0, 1.0)


async def start_again(stack: Stack) -> None:
    """Start a killed server, again if a busy machine makes it answer too late."""
    for _ in range(_STARTS):
        with suppress(ServiceUnavailable):
            return await stack.start_server()
        with suppress(ProcessLookupError):
            await stack.kill("temporal")
    await stack.start_server()


def write_conditional_documents(specs: Path, folder: Path) -> Path:
    """Copy documents; cancels with a probe take the version of what they cancel as `If-Match`.

    No bundled document has versions, and a version may move between a call and its cancel.
    """
    copied = Path(shutil.copytree(specs, folder / "documents"))
    for path in copied.glob("*.yaml"):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        held = [o for item in document["paths"].values() for o in item.values()]
        operations = {o["operationId"]: o for o in held if isinstance(o, dict)}
        for operation in operations.values():
            cancel, args = operation.get("x-orchet-cancels"), operation.get(_ARGS)
            if args is not None and "x-orchet-compensation-probe" in operation:
                args["If-Match"] = "$response.header.ETag"
                operations[cancel].setdefault("parameters", []).append(_VERSION)
        path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return copied


def write_newer_documents(stack: Stack) -> list[Path]:
    """Write the next version of a stack's documents, with the same operations."""
    folder = stack.folder / "newer-documents"
    for number, source in enumerate(stack.specs):
        copied = folder / str(number)
        if source.is_file():
            copied.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copied)
        else:
            shutil.copytree(source, copied, dirs_exist_ok=True)
        for path in [p for p in copied.iterdir() if p.suffix in (".yaml", ".yml", ".json")]:
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
            if "openapi" not in document:  # such as the published schema of the contract
                continue
            document["info"]["version"] = f"{document['info']['version']}-next"
            for item in document["paths"].values():
                for operation in (o for o in item.values() if isinstance(o, dict)):
                    operation["description"] = f"{operation.get('description', '')} (next version)"
            is_json = path.suffix == ".json"
            text = json.dumps(document) if is_json else yaml.safe_dump(document, sort_keys=False)
            path.write_text(text, encoding="utf-8")
    return [folder / str(number) for number in range(len(stack.specs))]


class VaultChanges:
    """Changes the owner's fields and records the value of each handle."""

    def __init__(self, stack: Stack) -> None:
        """Open the vault of an installation and record its values."""
        self._vault = open_vault(stack.settings)
        self._changes = 0
        self.values = {
            str(self._vault.current(field)): self._vault.get(field)
            for field in self._vault.fields()
        }
        """Values by handle."""

    async def change(self) -> bool:
        """Give one field another value."""
        # Fields without a format.
        fields = ("traveler_id", "payment_method_id", "employee_id")
        field = fields[self._changes % len(fields)]
        self._changes += 1
        value = f"{SANDBOX_PROFILE[field].partition('-')[0]}-{10_000 + self._changes}"
        while True:
            try:
                await asyncio.to_thread(self._vault.put, field, value)
                handle = await asyncio.to_thread(self._vault.current, field)
            except StateMissing:
                # It may have stored the value without an answer; the next attempt records it.
                await asyncio.sleep(0.3)
            else:
                self.values[str(handle)] = value
                return True


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
        self.over = asyncio.Event()
        """Set once the server answers from the older file."""

    async def strike(self) -> None:
        """Copy, wait, kill, restore, start."""
        file = self._stack.folder / "temporal.db"
        copied = self._stack.folder / "temporal-copy.db"

        def copy() -> None:
            """Make a consistent copy of a database in use."""
            with closing(sqlite3.connect(file)) as live, closing(sqlite3.connect(copied)) as target:
                live.backup(target)

        def restore() -> None:
            for suffix in ("-wal", "-shm"):
                Path(f"{file}{suffix}").unlink(missing_ok=True)
            copied.replace(file)

        await asyncio.sleep(3.0)  # missions search, and the first ones wait for their cards
        await asyncio.to_thread(copy)
        await asyncio.sleep(5.0)  # bookings are made that the copy does not have
        await self._stack.kill("temporal")
        await asyncio.to_thread(restore)
        await start_again(self._stack)
        self.over.set()


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
