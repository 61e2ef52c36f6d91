"""Every page: without a violation that axe finds, dark and light, narrow and wide."""

from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

from orchestrator.client.mission_client import MissionClient
from orchestrator.sandbox import SandboxClient
from tests.browser import scenes
from tests.browser.conftest import OpenPage, Scheme

_RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}


@pytest.fixture(scope="session")
async def addresses(client: MissionClient, stack: object) -> dict[str, str]:
    """The address of a page of each kind, with something to show on it."""
    async with SandboxClient(stack.sandbox_url) as sandbox:  # type: ignore[attr-defined]
        held = await scenes.held(client, sandbox)
        parked = await scenes.parked(client, sandbox)
    waits = await scenes.waits(client)
    asks = await scenes.asks(client)
    done = await scenes.succeeded(client)
    card = await scenes.one_card(waits)
    (decided, *_) = [d for leg in (await done.snapshot()).legs for d in leg.decisions]
    return {
        "inbox": "/",
        "review": f"/review?card={card.removeprefix('/cards/')}",
        "card": card,
        "closed card": f"/cards/{decided.confirmation_id}",
        "question": await scenes.one_question(asks),
        "hold": await scenes.one_question(held),
        "missions": "/missions",
        "mission": f"/missions/{parked.mission_id}",
        "mission that waits": f"/missions/{waits.mission_id}",
        "rollback": f"/missions/{parked.mission_id}/rollback",
        "rollback preview": f"/missions/{done.mission_id}/rollback",
        "parked": "/parked",
        "start": "/start",
        "not found": "/missions/no-such-mission",
    }


PAGES = (
    "inbox", "review", "card", "closed card", "question", "hold", "missions", "mission",
    "mission that waits", "rollback", "rollback preview", "parked", "start", "not found",
)  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
async def test_axe_finds_nothing(
    name: str, scheme: Scheme, addresses: dict[str, str], open_page: OpenPage
) -> None:
    """WCAG 2.2 AA as far as axe can tell, with every part of the page unfolded."""
    page = await open_page(addresses[name], scheme=scheme)
    await page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    found = await Axe().run(page, options=_RULES)

    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", PAGES)
async def test_a_phone_shows_it_whole(
    name: str, addresses: dict[str, str], open_page: OpenPage
) -> None:
    """At 320 pixels nothing is beside the screen, and buttons are large enough for a finger."""
    page = await open_page(addresses[name], width=320)
    await page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")

    assert await page.evaluate("document.documentElement.scrollWidth") <= 320
    assert await _smallest(page) >= 24


async def _smallest(page: Page) -> float:
    """The least height of what can be pressed, links within sentences aside."""
    heights: list[float] = await page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, textarea, summary, nav a')]
            .filter((one) => one.type !== 'hidden' && one.offsetParent)
            .map((one) => one.getBoundingClientRect().height)"""
    )
    return min(heights)


async def test_the_plan_of_a_goal(open_page: OpenPage) -> None:
    """Axe finds nothing on it; it is shown before anything begins."""
    page = await open_page("/start", scheme="dark")
    await page.get_by_label("Goal").fill(scenes.TABLE)
    await page.get_by_role("button", name="Show the plan").click()
    await page.get_by_role("heading", name="What would be done").wait_for()
    found = await Axe().run(page, options=_RULES)

    assert found.violations_count == 0, found.generate_report()


def test_pictures_are_small(pictures: Path | None) -> None:
    """Those of the documentation have at most 120 kB each."""
    for path in [] if pictures is None else pictures.glob("inbox*.png"):
        assert path.stat().st_size < 120_000, path.name
