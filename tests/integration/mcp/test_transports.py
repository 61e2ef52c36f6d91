"""Both transports as processes, and a server that is killed between call and answer."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from orchestrator.testing import eventually
from tests.forked import Command, Forked
from tests.integration.mcp.conftest import structured, until
from tests.integration.mcp.test_missions_for_clients import FLIGHT, approve_in_inbox
from tests.integration.web.conftest import ANN
from tests.integration.web_sign_in.browsers import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Cli, Witness
    from tests.integration.web.conftest import Api

_ROOT = Path(__file__).parents[3]
_SERVE = ("mcp", "serve", "--local-user", ANN.subject)


async def test_a_client_runs_the_server_on_standard_streams(
    stack: Stack, api: Api, sandbox: Witness
) -> None:
    """Nothing but the protocol reaches its output; the local user's card is decided elsewhere."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "orchestrator", *_SERVE],
        env=stack.environment,
        cwd=_ROOT,
    )
    async with Client(server) as mcp:
        tools = {one.name for one in (await mcp.list_tools()).tools}
        begun = structured(await mcp.call_tool("start_mission", {"goal": FLIGHT, "wait_s": 50}))
        (wait,) = begun["waits"]
        await approve_in_inbox(api(ANN), wait["id"])
        over = structured(
            await mcp.call_tool("get_mission", {"mission_id": begun["mission_id"], "wait_s": 50})
        )

    assert {"start_mission", "flight_book_offer"} <= tools
    assert wait["url"].startswith("http://127.0.0.1:8600/cards/")
    assert (over["status"], over["requester"]) == ("succeeded", ANN.subject)
    assert len(await sandbox.live(begun["mission_id"])) == 1


@asynccontextmanager
async def serving(stack: Stack, port: int) -> AsyncIterator[Forked]:
    """The server over HTTP, as a process that may be killed."""
    log = stack.folder / f"mcp-{port}.log"
    arguments = (*_SERVE, "--http", str(port))
    process = Forked.start(Command(arguments, stack.environment, stdout=log, stderr=log))

    async def listens() -> bool:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return True
        return False

    try:
        await eventually(listens)
        yield process
    finally:
        process.kill()
        await process.wait()


async def test_a_server_that_is_killed_loses_and_repeats_nothing(
    stack: Stack, client: MissionClient, api: Api, sandbox: Witness
) -> None:
    """The call is made again with its key, at another process: the same mission, one effect."""
    port = free_port()
    given = {"goal": FLIGHT, "idempotency_key": f"killed {port}", "wait_s": 50}
    async with serving(stack, port) as process:
        with pytest.raises((MCPError, ExceptionGroup, httpx2.HTTPError)):
            async with Client(f"http://127.0.0.1:{port}/mcp", read_timeout_seconds=20) as mcp:
                before = {one.mission_id for one in await client.missions()}
                lost = asyncio.create_task(mcp.call_tool("start_mission", given))

                async def is_there() -> str | None:
                    found = {one.mission_id for one in await client.missions()} - before
                    return next((one for one in found if one.startswith("mission-")), None)

                mission_id: Any = await eventually(is_there)
                process.kill()
                await lost
    async with serving(stack, port), Client(f"http://127.0.0.1:{port}/mcp") as mcp:
        begun = structured(await mcp.call_tool("start_mission", given))
        (wait,) = begun["waits"]
        await approve_in_inbox(api(ANN), wait["id"])
        over = await until(mcp, mission_id, lambda one: one["over"])

    assert begun["mission_id"] == mission_id
    assert over["status"] == "succeeded"
    assert len(await sandbox.live(mission_id)) == 1


async def test_a_server_whose_callers_nobody_names_is_refused(cli: Cli) -> None:
    """On standard streams a local user, over HTTP tokens or a local user on loopback."""
    nobody = await cli("mcp", "serve")
    open_door = await cli("mcp", "serve", "--http", "8601")
    beyond = await cli("mcp", "serve", "--http", "0.0.0.0:8601", "--local-user", "ann")
    both = await cli("mcp", "serve", "--local-user", "ann", "--config", "serve.yaml")

    assert [one.exit_code for one in (nobody, open_door, beyond, both)] == [2] * 4
    assert "--local-user" in nobody.stderr
    assert "--config" in open_door.stderr
    assert "loopback" in beyond.stderr
