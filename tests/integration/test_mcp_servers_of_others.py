"""Missions over the reference servers of the protocol, which others wrote: `make mcp`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import yaml

from orchestrator import Catalog, MissionClient, MissionRequest
from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.mcp.listing import list_servers
from orchestrator.adapters.mcp.servers import McpServer
from orchestrator.client.connection import connect_temporal
from orchestrator.client.stores import store_of
from orchestrator.core.errors import SkippedWarning
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import WorkflowSource
from orchestrator.runtime.defaults import default_tools, list_mcp_servers
from orchestrator.runtime.devserver import Ports
from orchestrator.runtime.worker import build
from orchestrator.testing import run_to_end
from tests.fakes import MemoryPii, MemorySecrets
from tests.mcp_servers_of_others import command_of, reference_server

if TYPE_CHECKING:
    from orchestrator.core.record import JsonObject
    from orchestrator.runtime.devserver import Stack

pytestmark = pytest.mark.interop
CREATE: JsonObject = {
    "x-orchet-cancels": "delete_entities",
    "x-orchet-compensation-args": {"entityNames": "$response.body#/entities/*/name"},
    "x-orchet-price": False,
}
DELETE: JsonObject = {
    "x-orchet-cancel-for": "create_entities",
    "x-orchet-requires-confirmation": False,
}
OVERLAY: JsonObject = {
    "overlay": "1.0.0",
    "info": {"title": "memory", "version": "1"},
    "actions": [
        {"target": "$.paths['/create_entities'].post", "update": CREATE},
        {"target": "$.paths['/delete_entities'].post", "update": DELETE},
    ],
}


@pytest.fixture
def servers(tmp_path: Path) -> list[McpServer]:
    """A knowledge graph with a pair of ours, and a folder of files."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "there.txt").write_text("It is there.")
    overlay = tmp_path / "memory.yaml"
    overlay.write_text(yaml.safe_dump(OVERLAY))
    graph = {"MEMORY_FILE_PATH": str(tmp_path / "graph.jsonl")}
    return [
        reference_server("memory", env=graph, overlay=overlay),
        reference_server("filesystem", str(files)),
    ]


def remembered(tmp_path: Path) -> list[str]:
    """Return the names in the knowledge graph."""
    file = tmp_path / "graph.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["name"] for line in lines if line.strip()]


def step(name: str, operation: str, payload: JsonObject) -> JsonObject:
    """Return a step of a written mission."""
    return {"stepId": name, "operationId": operation, "requestBody": {"payload": payload}}


def request(file: Path, name: str) -> MissionRequest:
    """Return a mission that remembers somebody, and then reads a file."""
    entity: JsonObject = {
        "name": name,
        "entityType": "person",
        "observations": ["likes trains"],
    }
    sources: Any = [
        {"name": name, "url": f"mcp://{name}", "type": "openapi"}
        for name in ("memory", "filesystem")
    ]
    steps: Any = [
        step("remember", "create_entities", {"entities": [entity]}),
        step("read", "read_text_file", {"path": str(file)}),
    ]
    document: JsonObject = {
        "arazzo": "1.0.1",
        "info": {"title": "Remember", "version": "1"},
        "sourceDescriptions": sources,
        "workflows": [{"workflowId": "remember", "steps": steps}],
    }
    return MissionRequest(goal="Remember", workflow=WorkflowSource(document=document))


@asynccontextmanager
async def served(stack: Stack, servers: list[McpServer]) -> AsyncIterator[MissionClient]:
    """Yield a client of a worker with the tools of these servers alone."""
    changes = {"task_queue": f"others-{uuid4().hex[:6]}", "agent_queues": ("none",)}
    settings = stack.settings.model_copy(update=changes)
    catalog = Catalog.load(mcp=list_mcp_servers(settings, servers))
    temporal = await connect_temporal(stack.address)
    async with (
        store_of(settings) as store,
        default_tools(settings, store, catalog, mcp=servers) as tools,
        build(temporal, settings, catalog=catalog, store=store, tools=tools)[0],
    ):
        yield MissionClient(temporal, settings)


async def test_a_mission_over_two_servers_of_others(
    stack: Stack, servers: list[McpServer], tmp_path: Path
) -> None:
    """One consequence with a card, one read."""
    async with served(stack, servers) as client:
        mission = await client.start(request(tmp_path / "files" / "there.txt", "Ada"))
        result = await run_to_end(mission, timeout_s=120)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert remembered(tmp_path) == ["Ada"]


async def test_a_mission_over_two_servers_of_others_leaves_nothing_when_it_fails(
    stack: Stack, servers: list[McpServer], tmp_path: Path
) -> None:
    """By the pair of an overlay over the one server, after an error of the other."""
    async with served(stack, servers) as client:
        # No other mission may have been answered with the name by which its effect is cancelled.
        name = f"Ada {uuid4().hex[:6]}"
        mission = await client.start(request(tmp_path / "files" / "missing.txt", name))
        result = await run_to_end(mission, timeout_s=120)

    assert result.status is MissionStatus.ROLLED_BACK, result.error
    assert remembered(tmp_path) == []


async def test_the_server_with_everything_over_http() -> None:
    """Text, numbers, structured content and an image, over streamable HTTP."""
    port = Ports.free().sandbox
    process = await asyncio.create_subprocess_exec(
        *command_of("everything", "streamableHttp"),
        env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    everything = McpServer(name="everything", url=f"http://127.0.0.1:{port}/mcp")
    try:
        await _answering(port)
        listed = await asyncio.to_thread(
            list_servers, [everything], allowed_private_hosts=["127.0.0.1"]
        )
        with pytest.warns(
            SkippedWarning, match="simulate-research-query.* runs it as a task alone"
        ):
            catalog = Catalog.load(mcp=listed)
        async with ToolClient(
            secrets=MemorySecrets(),
            pii=MemoryPii(),
            allowed_private_hosts=["127.0.0.1"],
            mcp=[everything],
        ) as tools:

            async def body(name: str, **arguments: Any) -> Any:
                found = await tools.call(
                    catalog,
                    catalog.tool(name),
                    arguments,
                    call_id="c",
                    idempotency_key=None,
                    timeout_s=30,
                )
                assert found.kind == "succeeded", found.reason
                return found.body

            assert await body("echo", message="hello") == {"text": "Echo: hello"}
            assert "5" in str(await body("get-sum", a=2, b=3))
            weather = await body("get-structured-content", location="Chicago")
            assert {"temperature", "conditions"} <= {*weather}
            assert "image/png" in str(await body("get-tiny-image"))
    finally:
        process.kill()
        await process.wait()


async def _answering(port: int) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return
