"""MCP servers as processes of this worker: their environment, their limits, and their end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.adapters.mcp import mcp_sessions
from orchestrator.adapters.mcp.listing import list_servers
from orchestrator.adapters.mcp.servers import McpServer, SecretText
from orchestrator.adapters.secrets import EnvironmentSecrets
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import TransportFailed
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import eventually
from tests.fakes import MemoryPii

SERVER = """
import json, os, subprocess, sys, time

child = subprocess.Popen(["sleep", "600"])
open("pids", "a").write(f"{os.getpid()} {child.pid}\\n")
schema = {"type": "object", "properties": {"how": {"type": "string"}}}
tool = {"name": "set_thing", "description": "Set a thing.", "inputSchema": schema}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        answer["result"] = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "raw", "version": "1"},
        }
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [tool]}
    elif message["method"] == "tools/call":
        how = message["params"]["arguments"]["how"]
        if how == "endless":
            while True:
                sys.stdout.write("x" * 100_000)
        if how == "garbage":
            print("not a message")
            print('{"jsonrpc": "2.0", "id": 999, "result": {}}', flush=True)
        if how == "die":
            os._exit(3)
        if how == "hang":
            time.sleep(600)
        text = json.dumps(dict(os.environ))
        answer["result"] = {"content": [{"type": "text", "text": text}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"""
SECRETS = EnvironmentSecrets({"ORCHESTRATOR_SECRET_THING_KEY": "k3y-of-things"})


@pytest.fixture
def server(tmp_path: Path) -> McpServer:
    """A server without any library, which starts a child of its own."""
    (tmp_path / "server.py").write_text(SERVER)
    return McpServer(
        name="things",
        command=(sys.executable, "server.py"),
        cwd=tmp_path,
        env={"COLOR": "red", "THING_KEY": SecretText(secret="thing_key")},
    )


async def called(server: McpServer, *ways: str, timeout_s: float = 20) -> list[Any]:
    """Return the outcomes of calls, or their failures."""
    listed = await asyncio.to_thread(list_servers, [server], secrets=SECRETS)
    catalog = Catalog.load(mcp=listed)
    found: list[ToolOutcome | TransportFailed] = []
    async with ToolClient(secrets=SECRETS, pii=MemoryPii(), mcp=[server]) as tools:
        for how in ways:
            try:
                outcome = await tools.call(
                    catalog,
                    catalog.tool("set_thing"),
                    {"how": how},
                    call_id="c",
                    idempotency_key=None,
                    timeout_s=timeout_s,
                )
                found.append(outcome)
            except TransportFailed as failed:
                found.append(failed)
    return found


def is_alive(pid: int) -> bool:
    """Return True if a process runs, and has not merely not been waited for."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


async def test_a_server_gets_its_own_variables_alone(
    server: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret of another server is not among them, and its own is hidden in answers."""
    monkeypatch.setenv("ORCHESTRATOR_SECRET_OTHER", "of-another-server")
    (outcome,) = await called(server, "plainly")

    variables = {*outcome.body} - {"LC_CTYPE"}
    assert variables <= {"PATH", "HOME", "LANG", "COLOR", "THING_KEY"}
    assert outcome.body["THING_KEY"] == "[secret thing_key]"


async def test_the_process_group_ends_with_its_session(server: McpServer) -> None:
    """The server and what it started, also of the session that listed the tools."""
    await called(server, "plainly")

    lines = (server.cwd or Path()).joinpath("pids").read_text().split()
    assert len(lines) == 4

    async def is_over() -> bool:
        return not any(map(is_alive, map(int, lines)))

    await eventually(is_over, timeout_s=10)


@pytest.mark.parametrize("how", ["endless", "die"])
async def test_an_answer_that_never_comes_whole_is_unclear(server: McpServer, how: str) -> None:
    """A line without an end ends the session, and the next call begins another."""
    failed, outcome = await called(server, how, "plainly")

    assert isinstance(failed, TransportFailed) and failed.may_have_arrived
    assert outcome.kind == "succeeded"


async def test_output_that_is_no_message_is_passed_over(server: McpServer) -> None:
    """And so is an answer to a request that was never made."""
    (outcome,) = await called(server, "garbage")

    assert outcome.kind == "succeeded"


async def test_a_call_that_hangs_is_unclear_after_its_deadline(server: McpServer) -> None:
    """The session is left in a state that ends with the client."""
    (failed,) = await called(server, "hang", timeout_s=4)

    assert isinstance(failed, TransportFailed) and failed.may_have_arrived


async def test_a_command_that_does_not_start_is_named(tmp_path: Path) -> None:
    """The listing has the reason, and nothing of the command."""
    absent = McpServer(name="absent", command=(str(tmp_path / "no-such-program"), "--key=s3cret"))
    (listing,) = await asyncio.to_thread(list_servers, [absent])

    assert listing.fault == "no session: FileNotFoundError"


async def test_a_server_that_comes_up_late_is_listed(server: McpServer, tmp_path: Path) -> None:
    """It is tried again for as long as its caller has patience."""
    (tmp_path / "server.py").rename(tmp_path / "later.py")
    listing = asyncio.create_task(
        asyncio.to_thread(list_servers, [server], secrets=SECRETS, patience_s=20)
    )
    await asyncio.sleep(0.5)
    (tmp_path / "later.py").rename(tmp_path / "server.py")
    (listed,) = await listing

    assert [one["name"] for one in listed.tools] == ["set_thing"]


@pytest.mark.parametrize(
    ("listed", "fault"),
    [('{"tools": [{**tool, "name": 7}]}', "tools.0.name"), ("time.sleep(600)", "in 1 s")],
)
async def test_a_list_that_cannot_be_read_says_why(
    server: McpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str, fault: str
) -> None:
    """It names the faulty tool, and waits for no list that never comes."""
    monkeypatch.setattr(mcp_sessions, "_LISTED_WITHIN_S", 1.0)
    (tmp_path / "server.py").write_text(SERVER.replace('{"tools": [tool]}', listed))

    (listing,) = await asyncio.to_thread(list_servers, [server], secrets=SECRETS)

    assert fault in listing.fault
