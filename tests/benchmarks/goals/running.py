"""A whole installation whose sandbox is a town, and many goals driven on it side by side."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import uvicorn

from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.devserver import Ports
from orchestrator.sandbox import load_documents
from orchestrator.settings import bundled_specs
from orchestrator.testing import eventually
from tests.benchmarks.goals.driving import drive
from tests.benchmarks.goals.models import CLINIC, Goal
from tests.benchmarks.goals.town import Town
from tests.benchmarks.goals.verdict import Verdict, judge, late
from tests.forked import ForkedStack

_SPECS = (bundled_specs(), CLINIC)
_SIDE_BY_SIDE = 8
_LONGEST_S = 120.0


class Installation(NamedTuple):
    """What goals are driven on."""

    client: MissionClient
    town: Town

    async def try_out(self, goal: Goal, *, timeout_s: float = _LONGEST_S) -> Verdict:
        """Drive one goal in a world of its own, and judge what it came to."""
        mission_id = f"{goal.id}-{secrets.token_hex(4)}"
        world = await self.town.open(mission_id, goal)
        try:
            told = await drive(self.client, goal, mission_id, timeout_s=timeout_s)
        except TimeoutError:
            return late(goal)
        else:
            return judge(goal, mission_id, told, world)
        finally:
            self.town.close(mission_id)


class _TownStack(ForkedStack):
    """An installation whose sandbox is served by whoever started it."""

    async def start_sandbox(self) -> None:
        """Nothing to start: the town answers already."""


@asynccontextmanager
async def installation(folder: Path) -> AsyncIterator[Installation]:
    """A server, a worker and a town, until the block ends."""
    ports = Ports.free()
    town = Town(load_documents(_SPECS), datetime.now(UTC).date())
    patience = {"ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000"}
    stack = _TownStack(folder, _SPECS, ports, variables=patience)
    async with _served(town, ports.sandbox), stack:
        yield Installation(await stack.client(), town)


async def try_all(
    goals: Sequence[Goal], *, told: Callable[[Verdict], None] = lambda verdict: None
) -> list[Verdict]:
    """The verdicts on goals, in their order; each is told as soon as it is there."""
    turns = asyncio.Semaphore(_SIDE_BY_SIDE)
    with TemporaryDirectory(prefix="goals-") as folder:
        async with installation(Path(folder) / "state") as here:

            async def in_turn(goal: Goal) -> Verdict:
                async with turns:
                    verdict = await here.try_out(goal)
                told(verdict)
                return verdict

            return list(await asyncio.gather(*map(in_turn, goals)))


@asynccontextmanager
async def _served(town: Town, port: int) -> AsyncIterator[None]:
    """Requests to this port are answered by the town, in this event loop."""
    config = uvicorn.Config(
        town, host="127.0.0.1", port=port, lifespan="off", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    # Signals are for whoever runs the benchmark.
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    task = asyncio.create_task(server.serve())

    async def has_started() -> bool:
        return server.started or task.done()

    try:
        await eventually(has_started)
        yield
    finally:
        server.should_exit = True
        await task
