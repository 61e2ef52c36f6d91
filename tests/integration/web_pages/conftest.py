"""The pages over the installation, for people who were identified."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.devserver import Stack
from orchestrator.web import pages
from orchestrator.web.people import Person, Role
from orchestrator.web.web_service import Service

BrowserOf = Callable[..., httpx.AsyncClient]


@pytest.fixture
async def browser_of(stack: Stack, client: MissionClient) -> AsyncIterator[BrowserOf]:
    """Opens the pages as somebody with some roles."""
    async with AsyncExitStack() as opened:

        def open_pages(subject: str, *roles: Role, sees_all: bool = True) -> httpx.AsyncClient:
            person = Person(
                subject=subject, roles=roles or (Role.ADMIN,), sees_all=sees_all, proved_by="cookie"
            )

            async def identify(_: HTTPConnection) -> Person | None:
                return person

            service = Service(client=client, settings=stack.settings, identify=identify)
            transport = httpx.ASGITransport(app=Starlette(routes=pages.routes(service)))
            made = httpx.AsyncClient(
                transport=transport, base_url="http://inbox.example", timeout=60
            )
            opened.push_async_callback(made.aclose)
            return made

        yield open_pages


@pytest.fixture
def ana(browser_of: BrowserOf) -> httpx.AsyncClient:
    """Ana's browser; she may do all."""
    return browser_of("ana@example.com")
