"""Hostile text in each field of every page, in a real browser: nothing runs, nothing loads."""

from collections.abc import AsyncIterator
from typing import cast

import pytest
from playwright.async_api import expect

from orchestrator.client.mission_client import MissionClient
from orchestrator.settings import Settings
from orchestrator.web.web_service import Service
from tests.browser.conftest import OpenPage
from tests.browser.serving import identify, served
from tests.unit.web.pages.stand_ins import FakeClient
from tests.unit.web.pages.test_hostile_text import PAGES, stand_in


@pytest.fixture(scope="session")
async def hostile() -> AsyncIterator[str]:
    """An inbox in which each text is an attack."""
    client: FakeClient = stand_in()
    settings = Settings.model_validate({"state_dir": "/nonexistent/orchestrator"})
    service = Service(client=cast("MissionClient", client), settings=settings, identify=identify)
    async with served(service) as address:
        yield address


@pytest.mark.parametrize("path", PAGES)
async def test_no_text_runs(path: str, hostile: str, open_page: OpenPage) -> None:
    """No dialog opens, no element of a text exists, and no other host is asked."""
    page = await open_page("/missions", address=hostile)
    opened: list[str] = []
    page.on("dialog", lambda dialog: opened.append(dialog.message))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"{hostile}{path}")
    await page.wait_for_timeout(300)

    assert opened == []
    assert await page.locator("img, main script, iframe, object").count() == 0
    assert all(address.startswith(hostile) for address in asked)
    await expect(page.get_by_text("<script>alert(1)</script>").first).to_be_attached()
