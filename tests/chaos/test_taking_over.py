"""A worker that is killed at each request of a trip, while another one of its queue lives.

`pytest -m long -s tests/chaos/test_taking_over.py` tells the seconds from the kill to the end.
"""

import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.runtime.demo import TRIP
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import bundled_specs
from orchestrator.testing import run_to_end
from tests.benchmarks.missions.crashes import POINTS
from tests.benchmarks.missions.killing_proxy import KillingProxy


class Pair:
    """Two workers, each of which reaches the providers through a proxy of its own."""

    def __init__(self, stack: Stack, proxies: dict[str, KillingProxy], ports: list[int]) -> None:
        self.stack = stack
        self.killed: tuple[str, float] | None = None
        self._proxies = proxies
        self._ports = dict(zip(proxies, ports, strict=True))

    async def start(self, name: str) -> None:
        """Start one of them."""
        port = str(self._ports[name])
        to_proxy = {
            "ORCHESTRATOR_SERVER_VARIABLES": json.dumps(
                {
                    name: {"host": "127.0.0.1", "port": port}
                    for name in self.stack.settings.server_variables
                }
            ),
            "ORCHESTRATOR_ONLY_HOSTS": f"127.0.0.1:{port}",
        }
        await self.stack.start_worker(name, variables=to_proxy)

    def kill_at(self, path: str) -> None:
        """Kill whichever calls this first, once its provider has done what was asked."""
        self.killed = None
        for name, proxy in self._proxies.items():
            proxy.arm(path, self._killing(name))

    def _killing(self, name: str) -> Callable[[], Awaitable[None]]:
        async def kill() -> None:
            if self.killed is None:
                self.killed = name, time.monotonic()
                await self.stack.kill(name)

        return kill


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as running, _stack(tmp_path) as stack:
        names, ports = ("one", "two"), [Ports.free().sandbox for _ in range(2)]
        proxies = {n: KillingProxy(stack.sandbox_url, p) for n, p in zip(names, ports, strict=True)}
        for proxy in proxies.values():
            await running.enter_async_context(proxy)
        both = Pair(stack, proxies, ports)
        for name in names:
            await both.start(name)
        yield both


@asynccontextmanager
async def _stack(folder: Path) -> AsyncIterator[Stack]:
    async with Stack(folder, (bundled_specs(),), Ports.free()) as stack:
        await stack.kill("worker", gently=True)
        yield stack


@pytest.mark.long
@pytest.mark.timeout(400)
async def test_another_worker_takes_over_at_each_request(pair: Pair) -> None:
    """The trip succeeds, and nothing is done twice."""
    client, tell = await pair.stack.client(), Console(stderr=True).print
    async with SandboxClient(pair.stack.sandbox_url) as sandbox:
        for number, path in enumerate(POINTS["goes well"]):
            pair.kill_at(path)
            request = MissionRequest(goal=TRIP, mission_id=f"trip-{number}")
            result = await run_to_end(await client.start(request), timeout_s=200)
            ended = time.monotonic()
            assert pair.killed is not None, f"nobody called {path}"
            name, killed_at = pair.killed
            load = os.getloadavg()[0]
            tell(f"{path}: {ended - killed_at:.1f} s from the kill to the end, load {load:.0f}")
            assert result.status is MissionStatus.SUCCEEDED, result.error
            assert len(await sandbox.live(request.mission_id)) == 3
            assert await sandbox.duplicates(request.mission_id) == []
            await pair.start(name)
