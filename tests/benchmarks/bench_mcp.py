"""A call of an MCP tool next to a call of the bare client, and a catalog of a thousand tools."""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.mcp.listing import list_servers
from orchestrator.adapters.mcp.servers import McpServer
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.mcp_documents import McpListing
from tests.benchmarks.figure import Figure
from tests.fakes import MemoryPii, MemorySecrets

_ROUNDS = 100
_WARM_UP = 10
_GOAL = 1.5
_TEXT = {"type": "string", "description": "Some text."}


def run() -> list[Figure]:
    """Measure both transports, and the catalog."""
    figures = [_catalog()]
    for transport in ("stdio", "HTTP"):
        bare, called = asyncio.run(_measured(over_http=transport == "HTTP"))
        figures += [
            Figure(name="bare client", value=bare, unit="ms", row=(f"call over {transport}",)),
            Figure(name="guarded call", value=called, unit="ms", row=(f"call over {transport}",)),
            Figure(
                name="times",
                value=called / bare,
                unit="x",
                note=f"goal: {_GOAL}",
                row=(f"call over {transport}",),
            ),
        ]
    return figures


def _catalog() -> Figure:
    inputs = {"type": "object", "properties": dict.fromkeys(("city", "day", "guests"), _TEXT)}
    output = {"type": "object", "properties": {"booking_id": _TEXT}, "required": ["booking_id"]}
    tools: list[Any] = [
        {
            "name": f"book_{n}",
            "description": f"Book number {n}. Returns the booking.",
            "inputSchema": inputs,
            "outputSchema": output,
        }
        for n in range(1_000)
    ]
    began = time.perf_counter()
    catalog = Catalog.load(mcp=[McpListing("many", tools)])
    assert catalog.digest and len(catalog) == 1_000
    took = time.perf_counter() - began
    return Figure(name="catalog of 1,000 tools", value=took, unit="s", note="goal: 2 s")


async def _measured(*, over_http: bool) -> tuple[float, float]:
    """Return the medians of a bare call and of ours, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        command = (sys.executable, "-m", "tests.mcp_rooms", folder, "room")
        entry = McpServer(name="rooms", command=command, cwd=Path.cwd())
        process = None
        target: Any = StdioServerParameters(command=command[0], args=[*command[1:]])
        if over_http:
            process = await asyncio.create_subprocess_exec(
                *command,
                "8977",
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await _answering(8977)
            target = "http://127.0.0.1:8977/mcp"
            entry = McpServer(name="rooms", url=target)
        try:
            return await _both(entry, target)
        finally:
            if process is not None:
                process.kill()
                await process.wait()


async def _both(entry: McpServer, target: Any) -> tuple[float, float]:
    listed = await asyncio.to_thread(list_servers, [entry], allowed_private_hosts=["127.0.0.1"])
    catalog = Catalog.load(mcp=listed)
    booking = {"city": "Oslo", "reference": "r-1"}
    async with (
        Client(target) as bare,
        ToolClient(
            secrets=MemorySecrets(),
            pii=MemoryPii(),
            allowed_private_hosts=["127.0.0.1"],
            mcp=[entry],
        ) as tools,
    ):

        async def call(name: str, arguments: Any) -> None:
            outcome = await tools.call(
                catalog,
                catalog.tool(name),
                arguments,
                call_id="mission.leg.1",
                idempotency_key=None,
                timeout_s=30,
            )
            assert outcome.kind == "succeeded", outcome.reason

        async def ours() -> None:
            await call("find_room", {"reference": "r-1"})

        async def theirs() -> None:
            result = await bare.call_tool("find_room", {"reference": "r-1"})
            assert not result.is_error

        await call("book_room", booking)
        times = [(await _timed(theirs), await _timed(ours)) for _ in range(_WARM_UP + _ROUNDS)]
    kept = times[_WARM_UP:]
    return statistics.median(b for b, _ in kept), statistics.median(t for _, t in kept)


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1e3


async def _answering(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
