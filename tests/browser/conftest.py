"""An installation, its inbox on a socket, and browsers of several people."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page, async_playwright

from orchestrator.adapters.storage.store import Store
from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.sandbox import SandboxClient
from orchestrator.settings import bundled_specs
from orchestrator.web.web_service import Service
from tests.browser.serving import PERSON_HEADER, identify, served
from tests.integration.conftest import PERSON, SECRETS
from tests.screenshots.chromium import chromium

Scheme = Literal["light", "dark"]
OpenPage = Callable[..., Awaitable[Page]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this folder: it needs a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """The installation."""
    folder = tmp_path_factory.mktemp("inbox")
    variables = {"ORCHESTRATOR_ROUTING_TIMEOUT_MS": "5000"}
    installation = Stack(folder, (bundled_specs(),), Ports.free(), variables=variables)
    vault = Store(installation.settings.state_dir).vault
    for name, value in PERSON.items():
        vault.put(name, value)
    with pytest.MonkeyPatch.context() as patch:
        for name in [one for one in os.environ if one.startswith(("ORCHESTRATOR_", "TEMPORAL_"))]:
            patch.delenv(name)
        for name, value in SECRETS.items():
            patch.setenv(name, value)
        await installation.__aenter__()
    try:
        yield installation
    finally:
        await installation.stop()


@pytest.fixture(scope="session")
async def client(stack: Stack) -> MissionClient:
    """A client of the installation."""
    return await stack.client()


@pytest.fixture
async def sandbox(stack: Stack) -> AsyncIterator[SandboxClient]:
    """The providers; they forget planned trouble when the test is over."""
    async with SandboxClient(stack.sandbox_url) as witness:
        yield witness
        await witness.clear_faults()


@pytest.fixture(scope="session")
async def inbox(stack: Stack, client: MissionClient) -> AsyncIterator[str]:
    """The address of the inbox."""
    service = Service(client=client, settings=stack.settings, identify=identify)
    async with served(service) as address:
        yield address


@pytest.fixture(scope="session")
async def chrome() -> AsyncIterator[Browser]:
    """Debian's Chromium, without a window."""
    async with async_playwright() as playwright:
        # Without its own sandbox, which root cannot have: it opens nothing but our own pages.
        browser = await playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--hide-scrollbars"]
        )
        yield browser
        await browser.close()


@pytest.fixture
async def open_page(chrome: Browser, inbox: str) -> AsyncIterator[OpenPage]:
    """Opens a page of the inbox as somebody; fails if a page complained in its console."""
    complaints: list[str] = []
    async with AsyncExitStack() as contexts:

        async def open_at(
            path: str,
            *,
            person: str | None = "ana@example.com",
            width: int = 1000,
            scheme: Scheme = "light",
            scripts: bool = True,
            address: str = inbox,
        ) -> Page:
            context = await chrome.new_context(
                viewport={"width": width, "height": 900},
                color_scheme=scheme,
                java_script_enabled=scripts,
                timezone_id="UTC",
                locale="en-GB",
                extra_http_headers={} if person is None else {PERSON_HEADER: person},
            )
            contexts.push_async_callback(context.close)
            context.set_default_timeout(30_000)
            page = await context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on(
                "console",
                lambda said: (
                    complaints.append(said.text)
                    if said.type == "error" and "Failed to load resource" not in said.text
                    else None
                ),
            )
            await page.goto(f"{address}{path}")
            return page

        yield open_at
    assert complaints == []


@pytest.fixture(scope="session")
def pictures() -> Path | None:
    """The folder for pictures of the documentation; None: none are taken."""
    named = os.environ.get("BROWSER_PICTURES", "")
    if not named:
        return None
    Path(named).mkdir(parents=True, exist_ok=True)
    return Path(named)
