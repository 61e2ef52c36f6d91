"""An inbox with hundreds of waiting cards; its times are printed. Last, as its missions stay."""

import asyncio
import os
import statistics
import sys
import time

import httpx
import pytest
from playwright.async_api import expect

from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionRequest
from orchestrator.testing import eventually
from tests.browser import scenes
from tests.browser.conftest import OpenPage
from tests.browser.serving import PERSON_HEADER

CARDS = int(os.environ.get("BROWSER_CARDS", "500"))
_AT_ONCE = 10
_PATIENCE_S = 900


async def start_many(client: MissionClient, count: int) -> None:
    places = asyncio.Semaphore(_AT_ONCE)

    async def start(number: int) -> None:
        async with places:
            request = MissionRequest(
                goal=scenes.TABLE, requester=scenes.REQUESTER, mission_id=f"many-{number}"
            )
            await client.start(request)

    await asyncio.gather(*map(start, range(count)))


@pytest.mark.timeout(_PATIENCE_S + 300)
async def test_hundreds_of_cards(
    client: MissionClient, inbox: str, open_page: OpenPage, capsys: pytest.CaptureFixture[str]
) -> None:
    """All are counted, in pages; the last page has the last of them."""
    await start_many(client, CARDS)

    async def all_wait() -> bool:
        waiting = await client.waiting()
        return sum(card.mission_id.startswith("many-") for card in waiting.cards) == CARDS

    await eventually(all_wait, timeout_s=_PATIENCE_S)
    headers = {PERSON_HEADER: "ana@example.com"}
    taken = []
    async with httpx.AsyncClient(base_url=inbox, headers=headers, timeout=60) as reader:
        for _ in range(10):
            began = time.perf_counter()
            answer = await reader.get("/")
            taken.append(time.perf_counter() - began)
            assert answer.status_code == 200
    page = await open_page("/")
    loaded = await page.evaluate(
        "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
    )
    with capsys.disabled():
        sys.stdout.write(
            f"\n{CARDS} cards: answered in {statistics.median(taken):.2f} s, "
            f"drawn in {loaded:.0f} ms\n"
        )
    await expect(page.locator("li.entry")).to_have_count(50)
    await page.get_by_role("link", name="Next").click()
    await expect(page.get_by_text("Page 2 of")).to_be_visible()
