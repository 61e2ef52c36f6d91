"""The MCP server over the shared installation, as clients of the SDK reach it in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client import Client

from orchestrator.mcp.mcp_server import mcp_server
from orchestrator.testing import eventually
from tests.integration.web import conftest as web
from tests.integration.web.conftest import service_for

if TYPE_CHECKING:
    from mcp import types

    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from orchestrator.web.people import Person

api = web.api
INBOX = "https://missions.example.com"
ERAS = ("legacy", "2026-07-28")
"""The handshake of before 2026-07-28, and the protocol without one."""
Connect = Callable[..., Client]


@pytest.fixture
def connect(client: MissionClient, stack: Stack) -> Connect:
    """`connect(ANN)`: a client whose requests are this person's."""

    def of(someone: Person, era: str = "legacy", **options: Any) -> Client:
        service = service_for(client, stack, someone)
        server = mcp_server(service, lambda _: someone, inbox=INBOX)
        return Client(server, mode=era, **options)

    return of


def structured(result: types.CallToolResult) -> Any:
    """The structured content of a call that did not fail."""
    assert not result.is_error, result.content
    return result.structured_content


async def until(mcp: Client, mission_id: str, wanted: Callable[[Any], bool]) -> Any:
    """A mission as soon as it is as wanted."""

    async def look() -> Any:
        found = await mcp.call_tool("get_mission", {"mission_id": mission_id})
        return found.structured_content if wanted(found.structured_content) else None

    return await eventually(look)
