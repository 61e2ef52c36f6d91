"""Clients of the protocol's authors, which npm brings, at the server; run by `make clients`."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.mcp.test_missions_for_clients import FLIGHT, approve_in_inbox
from tests.integration.mcp.test_transports import serving
from tests.integration.web.conftest import ANN
from tests.integration.web_sign_in.browsers import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness
    from tests.integration.web.conftest import Api

pytestmark = pytest.mark.clients
_PACKAGE = Path(__file__).parent / "npm"
_BUILT = Path(__file__).parents[3] / "build" / "mcp"
_NPM = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


async def started(*command: str, folder: Path) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=pipe, stderr=pipe)


async def ran(*command: str, folder: Path) -> str:
    process = await started(*command, folder=folder)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-3000:]
    return out.decode()


@pytest.fixture(scope="module")
async def npm() -> Path:
    """A folder with the clients, in the versions of our lock."""
    assert shutil.which("npm"), "install Node.js and npm"
    _BUILT.mkdir(parents=True, exist_ok=True)
    brought, lock = _BUILT / "brought.json", (_PACKAGE / "package-lock.json").read_bytes()
    for file in _PACKAGE.iterdir():
        shutil.copy(file, _BUILT / file.name)
    if not brought.exists() or brought.read_bytes() != lock:  # it takes minutes
        await ran(*_NPM, folder=_BUILT)
        brought.write_bytes(lock)
    return _BUILT


@pytest.fixture
async def url(stack: Stack) -> AsyncIterator[str]:
    port = free_port()
    async with serving(stack, port):
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("which", ["sdk", "client"])
async def test_the_sdks_of_the_protocol_run_a_mission(
    which: str, npm: Path, url: str, api: Api, sandbox: Witness
) -> None:
    """Its person is led to the card's page, and approves there; the call returns the mission."""
    process = await started("node", "missions.mjs", which, url, FLIGHT, folder=npm)
    assert process.stdout is not None and process.stderr is not None
    lines: list[dict[str, Any]] = []
    async for line in process.stdout:
        lines.append(json.loads(line))
        if "open" in lines[-1]:
            await approve_in_inbox(api(ANN), lines[-1]["open"].rpartition("/")[2])
    errors = (await process.stderr.read()).decode()
    assert await process.wait() == 0, errors[-3000:]

    *opened, over = lines
    assert len(opened) == 1
    assert (over["status"], over["tools"] > 90) == ("succeeded", True)
    assert over["mission"] in over["page"]
    assert len(await sandbox.live(over["mission"])) == 1


async def test_the_inspector_lists_and_calls_tools(npm: Path, url: str) -> None:
    inspector = ("node", "node_modules/.bin/mcp-inspector", "--cli", f"{url}/mcp")
    http = ("--transport", "http")
    called = ("--method", "tools/call", "--tool-name", "list_waiting")
    listed = printed(await ran(*inspector, *http, "--method", "tools/list", folder=npm))
    waiting = printed(await ran(*inspector, *http, *called, folder=npm))

    assert {"start_mission", "flight_book_offer"} <= {one["name"] for one in listed["tools"]}
    assert "waits" in waiting["structuredContent"]


def printed(text: str) -> Any:
    """The JSON document in what the inspector printed, which may begin with a notice."""
    return json.loads(text[text.index("{") :])
