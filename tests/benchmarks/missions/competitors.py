"""The systems that run the trip: how each runs a mission, and which processes are its own."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

from temporalio.client import Client, WorkflowHandle

from orchestrator import MissionClient, MissionRequest
from orchestrator.arazzo.arazzo_files import load_contents
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import WorkflowSource
from orchestrator.runtime.demo import LEAVING, RETURNING, TRIP
from orchestrator.runtime.devserver import Stack
from tests.benchmarks.missions import guarded_trip
from tests.benchmarks.missions.own_trip import run as run_request
from tests.benchmarks.missions.own_trip import trip

PEERS: Final = Path(__file__).parent / "peers"
WRITTEN_TRIP: Final = Path(__file__).parents[3] / "docs/examples/written/trip.arazzo.yaml"
_LOOK_S: Final = 0.05


class Competitor(Protocol):
    """One system that runs the trip."""

    name: str

    @property
    def pids(self) -> Mapping[str, int]:
        """Its processes: the server that keeps its state, and the worker."""
        ...

    async def run(self, m: str) -> str:
        """Run one mission, every card of it approved; how it ended."""
        ...

    async def kill(self) -> None:
        """SIGKILL the worker."""
        ...

    async def restart(self) -> None:
        """Start another one."""
        ...


class Ours:
    """This product."""

    name = "ours"

    def __init__(self, stack: Stack, client: MissionClient) -> None:
        self._stack, self._client = stack, client

    @property
    def pids(self) -> Mapping[str, int]:
        return {"server": self._stack.pid("temporal"), "worker": self._stack.pid("worker")}

    async def run(self, m: str) -> str:
        return await trip(self._client, TRIP, m, lambda _m, _card: True)

    async def kill(self) -> None:
        await self._stack.kill("worker")

    async def restart(self) -> None:
        await self._stack.start_worker()


class Written(Ours):
    """This product, with the trip written as an Arazzo workflow."""

    name = "written"
    source: Final = WorkflowSource(document=load_contents(WRITTEN_TRIP)[0], workflow_id="trip")
    inputs: Final[JsonObject] = {
        "origin": "Berlin",
        "destination": "Lisbon",
        "leaving": LEAVING,
        "returning": RETURNING,
    }

    async def run(self, m: str) -> str:
        wanted = MissionRequest(
            goal="The trip", workflow=self.source, inputs=self.inputs, mission_id=m
        )
        return await run_request(self._client, wanted, lambda _m, _card: True)


class Program:
    """A program of a peer, in its own environment; JSON lines of it tell how missions ended."""

    def __init__(
        self, name: str, python: str, arguments: Sequence[str], folder: Path, **variables: str
    ) -> None:
        self.name = name
        own = {"guarded": Path(guarded_trip.__file__)}
        self._command = [python, str(own.get(name, PEERS / f"on_{name}.py")), *arguments]
        self._folder, self._variables = folder, variables
        self._ended: dict[str, asyncio.Future[str]] = {}

    async def start(self) -> None:
        """Start it; returns when it takes missions."""
        ready = self._folder / f"{self.name}.ready"
        ready.unlink(missing_ok=True)
        dates = {"TRIP_DATES": f"{LEAVING} {RETURNING}"}
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self._command,
                str(ready),
                env={**os.environ, **dates, **self._variables},
                cwd=PEERS,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        self._reading = asyncio.create_task(self._read())
        while not ready.exists():
            if self.process.returncode is not None:
                raise RuntimeError(f"{self.name} stopped: see {log.name}")
            await asyncio.sleep(_LOOK_S)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            event = json.loads(line) if line.startswith(b"{") else {}
            if "mission" in event and not (end := self._end(event["mission"])).done():
                end.set_result(event["status"])

    def _end(self, m: str) -> asyncio.Future[str]:
        return self._ended.setdefault(m, asyncio.get_running_loop().create_future())

    async def run(self, m: str) -> str:
        """Have it run a mission."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{m}\n".encode())
        return await self._end(m)

    async def kill(self) -> None:
        """SIGKILL it."""
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


class Embedded:
    """DBOS and LangGraph: the program itself runs missions and approves."""

    def __init__(self, program: Program, postmaster: int) -> None:
        self.name, self._program, self._postmaster = program.name, program, postmaster

    @property
    def pids(self) -> Mapping[str, int]:
        return {"server": self._postmaster, "worker": self._program.process.pid}

    async def run(self, m: str) -> str:
        return await self._program.run(m)

    async def kill(self) -> None:
        await self._program.kill()

    async def restart(self) -> None:
        await self._program.start()


class Bare(Embedded):
    """A workflow written by hand on Temporal alone; its caller asks for cards by queries."""

    def __init__(self, stack: Stack, client: Client, program: Program) -> None:
        super().__init__(program, stack.pid("temporal"))
        self._client = client

    async def run(self, m: str) -> str:
        handle = await self._client.start_workflow("Trip", m, id=m, task_queue="trips")
        ended = asyncio.create_task(handle.result())
        while not ended.done():
            await _approve(handle)
            await asyncio.wait([ended], timeout=_LOOK_S)
        return str(ended.result())


class Guarded(Embedded):
    """A plain workflow with a ToolSaga, on a worker with the plugin; its caller follows cards."""

    def __init__(self, stack: Stack, client: MissionClient, program: Program) -> None:
        super().__init__(program, stack.pid("temporal"))
        self._client = client

    async def run(self, m: str) -> str:
        return await guarded_trip.trip(self._client, m, [LEAVING, RETURNING])


async def _approve(handle: "WorkflowHandle[object, object]") -> None:
    try:
        for card in await handle.query("pending", rpc_timeout=timedelta(seconds=3)):
            await handle.signal("approve", card)
    except Exception:  # no worker just now
        return


def own_python() -> str:
    """The interpreter that runs this: bare Temporal needs nothing else."""
    return sys.executable
