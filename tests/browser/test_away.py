"""Temporal, the service or the session is away: pages say so, and go on when it is back."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.devserver import Stack
from orchestrator.web.people import Person
from orchestrator.web.request_limits import Limits
from orchestrator.web.web_service import Door, Service
from tests.browser import scenes
from tests.browser.conftest import OpenPage
from tests.browser.serving import Wire, identify, served

_BACK_MS = 60_000


@pytest.fixture
async def wire(stack: Stack) -> AsyncIterator[Wire]:
    """The wire to Temporal."""
    made = Wire(stack.address)
    await made.open()
    yield made
    await made.cut()


async def test_a_page_waits_for_the_server(
    stack: Stack, client: MissionClient, wire: Wire, open_page: OpenPage
) -> None:
    """It is no empty list: it names what is away, and becomes the inbox by itself."""
    mission = await scenes.waits(client)
    settings = stack.settings.model_copy(update={"temporal_address": wire.address})
    over_wire = MissionClient(await connect_temporal(wire.address), settings)
    service = Service(client=over_wire, settings=settings, identify=identify)
    async with served(service) as address:
        page = await open_page("/", address=address)
        entry = page.locator(f"a[href^='/cards/{mission.mission_id}']")
        await expect(entry).to_be_visible()
        await wire.cut()
        await page.reload(timeout=_BACK_MS)
        await expect(page.get_by_role("heading", level=1)).to_have_text(
            "The service does not answer"
        )
        await expect(page.get_by_text("tries again")).to_be_visible()
        await wire.open()
        await expect(entry).to_be_visible(timeout=_BACK_MS)
        await page.context.close()
    await mission.cancel()


async def test_an_open_page_outlives_its_service(
    client: MissionClient, inbox: str, open_page: OpenPage
) -> None:
    """It says that nobody answers, and shows what has happened in the meantime."""
    wire = Wire(urlsplit(inbox).netloc)
    await wire.open()
    page = await open_page("/", address=f"http://{wire.address}")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await wire.cut()
    await expect(page.locator("#announced")).to_contain_text("does not answer", timeout=_BACK_MS)
    mission = await scenes.waits(client)
    await wire.open()
    entry = page.locator(f"a[href^='/cards/{mission.mission_id}']")
    await expect(entry).to_be_visible(timeout=_BACK_MS)
    await page.context.close()
    await wire.cut()
    await mission.cancel()


class Session:
    """A session that may be over, and a sign-in that begins another."""

    is_open = True

    async def identify(self, connection: HTTPConnection) -> Person | None:
        return await identify(connection) if self.is_open else None

    async def sign_in(self, request: Request) -> RedirectResponse:
        self.is_open = True
        return RedirectResponse(request.query_params["next"], 303)


async def test_a_session_that_is_over_loses_nothing_that_was_typed(
    stack: Stack, client: MissionClient, open_page: OpenPage
) -> None:
    """The page says so and leads to sign-in; a form that came too late did nothing."""
    mission, session, reason = await scenes.waits(client), Session(), "not this week"
    service = Service(
        client=client,
        settings=stack.settings,
        identify=session.identify,
        limits=Limits(heartbeat_s=0.5),
        door=Door(routes=[Route("/sign-in", session.sign_in)]),
    )
    async with served(service) as address:
        page = await open_page(await scenes.one_card(mission), address=address)
        field = page.get_by_label("Reason")
        await page.get_by_text("Reject", exact=True).first.click()
        await field.fill(reason)
        session.is_open = False
        await expect(page.get_by_text("You are signed out")).to_be_visible(timeout=_BACK_MS)
        await expect(field).to_have_value(reason)
        await page.get_by_role("link", name="Sign in again").click()
        await expect(field).to_have_value(reason)

        session.is_open = False
        await page.get_by_role("button", name="Reject").click()
        await expect(page.get_by_text("nothing was done")).to_be_visible()
        assert len(await mission.confirmations()) == 1
        await page.get_by_role("link", name="Sign in", exact=True).click()
        await expect(field).to_have_value(reason)
        await page.get_by_role("button", name="Reject").click()
        await expect(page.get_by_text(f"{reason}")).to_be_visible()
        await page.context.close()
    await mission.cancel()
