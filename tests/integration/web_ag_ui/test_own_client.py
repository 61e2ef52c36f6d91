"""The protocol's own client, which npm brings, runs a mission; run by `make clients`."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from orchestrator.client.mission_client import MissionClient
from orchestrator.proxy.server import address_of, listen
from orchestrator.web.ag_ui.runs import PATH
from orchestrator.web.people import Person
from orchestrator.web.web_app import create_app
from orchestrator.web.web_service import Service
from tests.integration.test_cards import TWO
from tests.integration.web_ag_ui.test_runs import ANA

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

pytestmark = pytest.mark.clients
_PACKAGE = Path(__file__).parent / "client"
_BUILT = Path(__file__).parents[3] / "build" / "ag-ui"
_NPM = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


class _Guest(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _ran(*command: str, folder: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-3000:]
    return out.decode()


@pytest.fixture
async def chat() -> Path:
    """The script of the chat, with the client in the versions of our lock."""
    _BUILT.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "chat.mjs"):
        shutil.copy(_PACKAGE / name, _BUILT / name)
    await _ran(*_NPM, folder=_BUILT)
    return _BUILT / "chat.mjs"


async def test_a_mission_is_run_by_the_own_client_of_the_protocol(
    client: MissionClient, stack: Stack, chat: Path
) -> None:
    """It checks every event, loses the connection, and decides by the digests that it saw."""

    async def ana(_: Any) -> Person | None:
        return ANA

    app = create_app(Service(client=client, settings=stack.settings, identify=ana))
    listener = listen("127.0.0.1", 0)
    server = _Guest(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        url = f"{address_of(listener)}{PATH}"
        said = json.loads(await _ran("node", str(chat), url, TWO, folder=_BUILT))
    finally:
        server.should_exit = True
        await serving
    result = await client.get(said["missionId"]).result()

    assert said["first"], said
    assert set(said["first"]) <= set(said["second"])
    assert set(said["refused"]) == set(said["first"])
    assert set(said["interrupts"]) <= set(said["calls"])
    assert sorted(said["calls"]) == sorted(set(said["calls"]))
    assert set(said["calls"]) == set(said["results"])
    assert said["state"]["over"] is True
    assert said["state"]["status"] == result.status == "succeeded"
    assert said["state"]["waiting"] == {}
    assert said["text"].strip()
    assert "STATE_DELTA" in said["types"]
    decided = [one.approver for leg in result.legs for one in leg.decisions]
    assert set(decided) == {"ana@example.com"}
