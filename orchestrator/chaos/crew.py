"""The worker processes of a run: one plain, one that can be cut off, one with newer documents."""

import asyncio
import json
import os
import shutil
import signal
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Literal

import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.chaos.scenarios.chaos_faults import ChaosFault
from orchestrator.chaos.tcp_gate import TcpGate
from orchestrator.client.stores import store_of
from orchestrator.core.errors import ServiceUnavailable
from orchestrator.runtime.devserver import Stack

_DOWN_S = 0.5
"""How long a process stays away: what a supervisor takes to notice."""
_START_S = 4.0
"""What a worker takes to start on an idle machine, at most."""
_STARTS = 3
_GATED = 2
"""The second worker is the one that can be cut off; the last has the newer documents."""


def worker_names(count: int) -> list[str]:
    """The names of a run's worker processes, and of their logs."""
    return ["worker", *(f"worker-{number}" for number in range(2, count + 1))]


class Crew:
    """Starts the workers of a run, strikes at them, and puts others in their place."""

    def __init__(self, stack: Stack, count: int, faults: frozenset[ChaosFault]) -> None:
        """Take how many, and which faults they are made ready for."""
        self._stack = stack
        self._names = worker_names(count)
        self._faults = faults
        self._variables: dict[str, dict[str, str]] = {}
        self._busy: set[str] = set()
        self._paused: set[str] = set()
        self.newer_catalog: str | None = None
        """The digest of the documents of the worker that has newer ones; None: no one has."""
        self.slowness = 1.0
        """How many times as long as on an idle machine the last worker took to start."""

    async def __aenter__(self) -> "Crew":
        """Start those that do not run yet."""
        self._exits = AsyncExitStack()
        if ChaosFault.PARTITION_WORKER in self._faults and len(self._names) >= _GATED:
            self._to_server = await self._exits.enter_async_context(
                TcpGate(self._stack.ports.temporal)
            )
            self._to_providers = await self._exits.enter_async_context(
                TcpGate(self._stack.ports.sandbox)
            )
            self._variables[self._names[_GATED - 1]] = self._gated()
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
        """Leave none of them paused or cut off: they are ended by whoever ends the stack."""
        for name in self._paused:
            self._signal(name, signal.SIGCONT)
        await self._exits.aclose()

    async def kill(self, worker: int) -> bool:
        """SIGKILL, and another in its place; whether there was one to strike."""
        name = self._free(worker)
        if name is None:
            return False
        self._busy.add(name)
        await self._stack.kill(name)
        await self._replace(name)
        self._busy.discard(name)
        return True

    async def pause(self, worker: int, seconds: float) -> bool:
        """SIGSTOP, and SIGCONT after so long."""
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
        """Nothing passes between one worker and the server, or the providers, for so long."""
        if not any("TEMPORAL_ADDRESS" in given for given in self._variables.values()):
            return False
        gate = self._to_server if part == "server" else self._to_providers
        gate.shut()
        await asyncio.sleep(seconds)
        gate.open()
        return True

    async def lose_catalogs(self, worker: int) -> bool:
        """Delete every catalog that is kept, and the memory of one worker with them."""
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
        self.slowness = max((time.monotonic() - began) / _START_S, 1.0)

    async def _replace(self, name: str) -> None:
        """Start a worker, again when the server dies under it before it polls."""
        for _ in range(_STARTS):
            with suppress(ServiceUnavailable):
                return await self._start(name)
            # One that is only slow is not left to run beside the next.
            with suppress(ProcessLookupError):
                await self._stack.kill(name)
            await asyncio.sleep(_DOWN_S)
        await self._start(name)

    def _gated(self) -> dict[str, str]:
        settings = self._stack.settings
        port = self._to_providers.port
        variables = {
            document: {**values, "port": str(port)}
            for document, values in settings.server_variables.items()
        }
        return {
            "TEMPORAL_ADDRESS": f"127.0.0.1:{self._to_server.port}",
            "ORCHESTRATOR_SERVER_VARIABLES": json.dumps(variables),
            "ORCHESTRATOR_ONLY_HOSTS": f"127.0.0.1:{port}",
        }


async def start_again(stack: Stack) -> None:
    """Start a server that was struck, again when a busy machine has it answer too late."""
    for _ in range(_STARTS):
        with suppress(ServiceUnavailable):
            return await stack.start_server()
        with suppress(ProcessLookupError):
            await stack.kill("temporal")
    await stack.start_server()


def write_newer_documents(stack: Stack) -> list[Path]:
    """The documents of a stack in their next version, which changes nothing that is called."""
    folder = stack.folder / "newer-documents"
    for number, source in enumerate(stack.specs):
        copied = Path(shutil.copytree(source, folder / str(number), dirs_exist_ok=True))
        for path in copied.glob("*.yaml"):
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
            document["info"]["version"] = f"{document['info']['version']}-next"
            for item in document["paths"].values():
                for operation in (o for o in item.values() if isinstance(o, dict)):
                    operation["description"] = f"{operation.get('description', '')} (next version)"
            path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return [folder / str(number) for number in range(len(stack.specs))]
