"""A provider on loopback, and the proxy in front of it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
import uvicorn
from starlette.applications import Starlette

from orchestrator.adapters.embedding.built_in import similarity_in_process
from orchestrator.proxy.proxy_app import Exchange, Proxy, Upstream, create_proxy
from orchestrator.proxy.pruning_transport import make_pruner
from orchestrator.proxy.server import address_of, listen, running_app
from orchestrator.pruning.pruner import Pruner
from tests.integration.proxy.model_server import ModelServer


class _Guest(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """Serve an app on loopback; gives its base URL."""
    listener: socket.socket = listen("127.0.0.1", 0)
    server = _Guest(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield address_of(listener)
    finally:
        server.should_exit = True
        server.force_exit = True
        await serving


@pytest.fixture(scope="session")
def pruner() -> Pruner:
    """As the command makes it, but it takes the time that it takes: tests share the machine."""
    return make_pruner(similarity_in_process(), limit_s=30)


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    """A provider; `address` is where it listens."""
    server = ModelServer()
    async with served(server.app) as url:
        server.address = url
        yield server


@pytest.fixture
def exchanges() -> list[Exchange]:
    """What the proxy was told of each answer that has passed."""
    return []


@pytest.fixture
async def proxy(
    model: ModelServer, pruner: Pruner, exchanges: list[Exchange]
) -> AsyncIterator[str]:
    """The base URL of a proxy in front of the provider."""
    passing = Proxy(
        Upstream.at(f"{model.address}/v1"), pruner, seen=exchanges.append, limit_s=30, timeout_s=5
    )
    async with running_app(create_proxy(passing)) as url:
        yield url
