"""What the tool client adds to a call over bare httpx, on loopback, validation included."""

import asyncio
import contextlib
import json
import socket
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from tests.benchmarks.figure import Figure
from tests.fakes import MemoryPii, MemorySecrets

_ROUNDS = 1_500
_WARM_UP = 100
_GOAL = 2.0
_OFFERS: JsonObject = {
    "items": [{"id": f"o{n}", "price": {"amount": 181.4, "currency": "EUR"}} for n in range(3)]
}
_PRICE = {
    "type": "object",
    "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
}
_OFFER = {
    "type": "object",
    "required": ["id", "price"],
    "properties": {"id": {"type": "string"}, "price": _PRICE},
}
_ANSWER = {
    "type": "object",
    "required": ["items"],
    "properties": {"items": {"type": "array", "items": _OFFER}},
}
_DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [
        {"url": "http://127.0.0.1:{port}/shop", "variables": {"port": {"default": "1"}}},
    ],
    "paths": {
        "/items/{kind}": {
            "get": {
                "operationId": "item_search",
                "x-orchet-tool": True,
                "parameters": [
                    {
                        "name": "kind",
                        "in": "path",
                        "required": True,
                        "schema": {"type": "string"},
                    },
                    {
                        "name": "limit",
                        "in": "query",
                        "schema": {"type": "integer", "minimum": 1, "maximum": 100},
                    },
                    {
                        "name": "color",
                        "in": "query",
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                ],
                "responses": {
                    "200": {
                        "description": "found",
                        "content": {"application/json": {"schema": _ANSWER}},
                    }
                },
            }
        }
    },
}
_ARGUMENTS: JsonObject = {"kind": "lamp", "limit": 5, "color": ["red", "blue"]}


def run() -> list[Figure]:
    """Both ways in turn, a round each, so that whatever else the machine does meets both alike."""
    bare_ms, tool_ms = asyncio.run(_measure())
    note = f"goal under {_GOAL:g}; arguments and answer checked against the document"
    return [
        Figure(name="http: bare httpx, small JSON read", value=bare_ms, unit="ms", note="median"),
        Figure(name="http: the same as a tool call", value=tool_ms, unit="ms", note="median"),
        Figure(
            name="http: tool call over bare httpx", value=tool_ms / bare_ms, unit="x", note=note
        ),
    ]


async def _measure() -> tuple[float, float]:
    """Medians in milliseconds: bare, as a tool call."""
    async with _provider() as port, httpx.AsyncClient(trust_env=False) as http:
        catalog = Catalog.from_documents({"shop": _DOCUMENT})
        tool = catalog.tool("item_search")
        async with ToolClient(
            secrets=MemorySecrets(),
            pii=MemoryPii(),
            server_variables={"shop": {"port": str(port)}},
            allowed_private_hosts=["127.0.0.1"],
        ) as client:

            async def bare() -> None:
                url = f"http://127.0.0.1:{port}/shop/items/lamp"
                answer = await http.get(url, params={"limit": 5, "color": ["red", "blue"]})
                assert answer.json() == _OFFERS

            async def called() -> None:
                outcome = await client.call(
                    catalog,
                    tool,
                    _ARGUMENTS,
                    call_id="mission.leg.1",
                    idempotency_key=None,
                    timeout_s=10,
                )
                assert outcome.body == _OFFERS
                assert outcome.contract_breach is None

            times = [(await _timed(bare), await _timed(called)) for _ in range(_WARM_UP + _ROUNDS)]
    kept = times[_WARM_UP:]
    return statistics.median(b for b, _ in kept), statistics.median(t for _, t in kept)


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    """Milliseconds that it took."""
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1e3


@contextlib.asynccontextmanager
async def _provider() -> AsyncIterator[int]:
    """A server that costs next to nothing: it answers every request with the same bytes."""
    body = json.dumps(_OFFERS).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    answer = head % len(body) + body

    class Answers(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            connection: socket.socket = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._transport = transport

        def data_received(self, data: bytes) -> None:
            self._transport.write(answer * data.count(b"\r\n\r\n"))

    server = await asyncio.get_running_loop().create_server(Answers, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
