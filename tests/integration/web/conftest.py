"""The API over the shared installation, as each of several people reaches it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from starlette.requests import HTTPConnection

from orchestrator.proxy.server import running_app
from orchestrator.web.people import Person, Role
from orchestrator.web.web_app import create_app
from orchestrator.web.web_service import Service

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack

Api = Callable[..., httpx.AsyncClient]
"""Returns a client of the API for a person; None: one who is not signed in."""
Served = Callable[..., Any]


def person(subject: str, *roles: Role, sees_all: bool = False, **fields: Any) -> Person:
    """A machine with an API token, who has these roles."""
    return Person(subject=subject, roles=roles, sees_all=sees_all, proved_by="api token", **fields)


ANN = person("ann@example.com", Role.REQUESTER, Role.APPROVER)
"""Starts missions and decides on cards; sees her own, and cards that she may decide."""
BO = person("bo@example.com", Role.REQUESTER)
"""Starts missions; sees only his own."""
OPS = person("ops@example.com", Role.OPERATOR, sees_all=True)
ROOT = person("root@example.com", Role.ADMIN, sees_all=True)
LOOKS = person("looks@example.com", Role.VIEWER)


def service_for(
    client: MissionClient, stack: Stack, someone: Person | None, **options: Any
) -> Service:
    """The service as one person reaches it."""

    async def identify(_: HTTPConnection) -> Person | None:
        return someone

    return Service(client=client, settings=stack.settings, identify=identify, **options)


def api_of(
    client: MissionClient, stack: Stack, someone: Person | None, **options: Any
) -> httpx.AsyncClient:
    """Return the API without a socket; it answers a bug with 500, as a server does."""
    app = create_app(service_for(client, stack, someone, **options))
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app, raise_app_exceptions=False),
        base_url="http://127.0.0.1/api/v1",
        timeout=60,
    )


@pytest.fixture
async def api(client: MissionClient, stack: Stack) -> AsyncIterator[Api]:
    """Use it as `api(ANN)`: the API without a socket."""
    async with AsyncExitStack() as opened:

        def of(someone: Person | None, **options: Any) -> httpx.AsyncClient:
            made = api_of(client, stack, someone, **options)
            opened.push_async_callback(made.aclose)
            return made

        yield of


@pytest.fixture
async def served(client: MissionClient, stack: Stack) -> AsyncIterator[Served]:
    """The API on a socket, for streams; used like `api`, and awaited."""
    async with AsyncExitStack() as opened:

        async def of(someone: Person | None, **options: Any) -> httpx.AsyncClient:
            app = create_app(service_for(client, stack, someone, **options))
            url = await opened.enter_async_context(running_app(app))
            return await opened.enter_async_context(
                httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60)
            )

        yield of
