"""Pages of the Temporal UI as pictures: opened, waited for, and cut to what they are about."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from playwright.async_api import FloatRect, Page, async_playwright

WIDTH: Final = 1400
_HEIGHT: Final = 2400
"""In pixels: so high that no page scrolls in itself, and its end can be cut off."""
_MARGIN: Final = 16
_LONGEST: Final = 2200
_TIMELINE: Final = 1310
_PAGE_S: Final = 30.0
_ROUNDS: Final = 6

_COLUMNS: Final = "namespace-workflow-table-columns"
"""Where the UI keeps, in the browser, which columns its list of workflows has."""


class Camera:
    """Takes pictures of one Temporal UI."""

    def __init__(self, page: Page, ui_url: str, folder: Path) -> None:
        """Take the browser's page, the UI's address, and where pictures go."""
        self._page = page
        self._root = f"{ui_url}/namespaces/default/workflows"
        self._folder = folder

    async def details(self, workflow_id: str, *, name: str) -> None:
        """What a workflow says of itself: its tab User Metadata."""
        await self._open(f"{self._root}/{quote(workflow_id, safe='')}")
        await self._page.get_by_test_id("user-metadata-tab").click()
        frame = self._page.frame_locator("#user-metadata-current-details")
        await frame.locator("main p").first.wait_for()
        await self._still()
        await self._take(name, until="[data-testid=user-metadata]")

    async def timeline(self, workflow_id: str, *, name: str) -> None:
        """What happened in a workflow, with what each part was for."""
        await self._open(f"{self._root}/{quote(workflow_id, safe='')}")
        await self._page.get_by_test_id("timeline-tab").wait_for()
        await self._still()
        await self._take(name, until="", bottom=_TIMELINE)

    async def workflows(self, query: str, columns: Sequence[str], *, name: str) -> None:
        """The list of workflows that a filter finds, with these columns."""
        chosen = json.dumps({"default": [{"label": label} for label in columns]})
        await self._page.goto(self._root)
        await self._page.evaluate("([k, v]) => localStorage.setItem(k, v)", [_COLUMNS, chosen])
        await self._open(f"{self._root}?query={quote(query, safe='')}")
        await self._page.locator("main table tbody tr").first.wait_for()
        await self._still()
        await self._take(name, until="main table tbody tr:last-child")

    async def _open(self, address: str) -> None:
        await self._page.goto(address)

    async def _still(self) -> None:
        """Wait until the page has its last size: what runs goes on to change."""
        before = None
        for _ in range(_ROUNDS):
            await self._page.wait_for_timeout(700)
            now = await self._page.evaluate("document.querySelector('#content').innerText.length")
            if now == before:
                return
            before = now

    async def _take(self, name: str, *, until: str, bottom: float = _LONGEST) -> None:
        """A picture of the content, from its top to the end of what `until` selects."""
        content = await self._page.locator("#content").bounding_box()
        if until:
            ends = [await one.bounding_box() for one in await self._page.locator(until).all()]
            bottom = max(end["y"] + end["height"] for end in ends if end is not None)
        assert content is not None
        clip = FloatRect(
            x=content["x"],
            y=content["y"],
            width=content["width"],
            height=min(bottom + _MARGIN, _LONGEST) - content["y"],
        )
        await self._page.screenshot(path=self._folder / f"{name}.png", clip=clip)


@asynccontextmanager
async def camera(executable: str, ui_url: str, folder: Path) -> AsyncIterator[Camera]:
    """A camera in a Chromium without a window; pictures go to `folder`."""
    async with async_playwright() as playwright:
        # Without its own sandbox, which root cannot have: it opens nothing but our own UI.
        browser = await playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--hide-scrollbars"]
        )
        context = await browser.new_context(
            viewport={"width": WIDTH, "height": _HEIGHT}, timezone_id="UTC", color_scheme="light"
        )
        context.set_default_timeout(_PAGE_S * 1000)
        try:
            yield Camera(await context.new_page(), ui_url, folder)
        finally:
            await browser.close()
