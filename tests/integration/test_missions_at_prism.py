"""Missions whose provider is not our sandbox: Prism, which npm brings, and which is not ours.

Its answers are the examples of the document, so a mission there shows that what we send is what the
document says, from the goal to the cancel. Run by `pytest -m interop`, for it needs Node.js.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import yaml

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionRequest, MissionResult
from orchestrator.runtime.devserver import Ports, Stack
from tests.interop.prism import installed, serving

pytestmark = pytest.mark.interop
_CACHE: Final = Path(__file__).parents[2] / "build" / "interop"
_ID: Final = {"type": "string", "maxLength": 20, "description": "Which one."}
_CALLED: Final = re.compile(r"\[HTTP SERVER\] (\w+) (\S+)")


def _operation(name: str, summary: str, status: str, made: str = "", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": ["id"], "properties": {"id": _ID}}
    content = {"application/json": {"schema": schema, "example": {"id": made}}}
    return {
        "operationId": name,
        "summary": summary,
        "description": f"Use this to {summary.lower()} for somebody.",
        "x-orchet-tool": True,
        "responses": {status: {"description": "Done.", **({"content": content} if made else {})}},
        **more,
    }


def _made(name: str, what: str, field: str, status: str = "201") -> dict[str, Any]:
    """A POST that takes one word; of what it makes the DELETE below it is the cancel."""
    schema = {
        "type": "object",
        "required": [field],
        "properties": {field: {"type": "string", "maxLength": 60, "description": "In a word."}},
    }
    return _operation(
        name,
        what,
        status,
        made=f"{field}-17" if status == "201" else "",
        requestBody={"required": True, "content": {"application/json": {"schema": schema}}},
        **{"x-orchet-price": False, "x-orchet-cancels": f"delete_{name}"},
        **{"x-orchet-compensation-args": {"id": "$response.body#/id"}},
    )


def _document(url: str) -> dict[str, Any]:
    """Beds are made, and signs are put up: the gardener refuses every sign."""
    by_id = [{"name": "id", "in": "path", "required": True, "schema": _ID}]
    gone = {"x-orchet-cancel-for": "create_bed"}
    taken = {"x-orchet-cancel-for": "order_sign"}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Garden", "version": "1"},
        "servers": [{"url": url}],
        "paths": {
            "/beds": {"post": _made("create_bed", "Create a bed", "plant")},
            "/beds/{id}": {
                "delete": _operation(
                    "delete_create_bed", "Delete a bed", "204", parameters=by_id, **gone
                )
            },
            "/signs": {"post": _made("order_sign", "Order a sign", "wording", "422")},
            "/signs/{id}": {
                "delete": _operation(
                    "delete_order_sign", "Delete a sign", "204", parameters=by_id, **taken
                )
            },
        },
    }


class Garden(NamedTuple):
    """A client of the missions, and what Prism says that it was asked."""

    client: MissionClient
    log: Path

    def asked(self) -> list[tuple[str, str]]:
        """Method and path of each request, oldest first."""
        said = re.sub(r"\x1b\[[0-9;]*m", "", self.log.read_text(encoding="utf-8"))
        return [(method.upper(), path) for method, path in _CALLED.findall(said)]

    async def plays(self, goal: str, **inputs: str) -> MissionResult:
        """A mission to its end, each card approved as it comes."""
        handle = await self.client.start(MissionRequest(goal=goal, inputs=dict(inputs)))
        async for card in handle.cards():
            await handle.approve(card, approver="gardener")
        return await handle.result()


@pytest.fixture(scope="module")
async def garden(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Garden]:
    """A worker whose documents name Prism as their server."""
    folder = tmp_path_factory.mktemp("garden")
    written, served, log = folder / "garden.yaml", folder / "served.yaml", folder / "prism.log"
    served.write_text(yaml.safe_dump(_document("http://127.0.0.1")), encoding="utf-8")
    script = await asyncio.to_thread(installed, _CACHE)
    with serving(script, served, log, within_s=120) as url:
        written.write_text(yaml.safe_dump(_document(url)), encoding="utf-8")
        hosts = {"ORCHESTRATOR_ONLY_HOSTS": url.removeprefix("http://")}
        async with Stack(folder / "state", (written,), Ports.free(), variables=hosts) as stack:
            temporal = await connect_temporal(stack.address)
            yield Garden(MissionClient(temporal, stack.settings), log)


async def test_a_mission_succeeds(garden: Garden) -> None:
    """What the document says is made is in the ledger, under the id of its example."""
    done = await garden.plays("Create a bed", plant="leek")

    assert done.status == "succeeded", done.error
    assert [entry.tool for entry in done.ledger.obligations] == ["create_bed"]
    assert garden.asked() == [("POST", "/beds")]


async def test_a_mission_rolls_back(garden: Garden) -> None:
    """The sign is refused for good, and the bed is taken back by the id that Prism gave it."""
    before = len(garden.asked())
    cancelled = await garden.plays("Create a bed, then order a sign", plant="leek", wording="Leek")

    assert cancelled.status == "rolled_back", cancelled.error
    asked = garden.asked()[before:]
    assert asked[0] == ("POST", "/beds")
    assert ("POST", "/signs") in asked
    assert asked[-1] == ("DELETE", "/beds/plant-17")
