"""The proxy's page in a browser: its figures and charts as they are drawn, and nothing loaded."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from orchestrator.adapters.storage.store import Store
from orchestrator.proxy.proxy_app import ExchangeRecorder, Proxy, Upstream, create_proxy
from orchestrator.proxy.server import running_app
from orchestrator.pruning.pruner import Pruner
from orchestrator.routing.learning.trace import usage_of
from tests.integration.proxy.model_server import ModelServer
from tests.screenshots.chromium import chromium
from tests.unit.pruning.test_pruner import chat

pytestmark = pytest.mark.clients


@pytest.fixture
async def recorded(model: ModelServer, pruner: Pruner, tmp_path: Path) -> AsyncIterator[str]:
    """The base URL of a proxy that has pruned three requests of 51 tools, one in shadow."""
    traces = Store(tmp_path).proxy_traces
    recorder = ExchangeRecorder(traces)
    proxy = Proxy(
        Upstream.at(f"{model.address}/v1"),
        pruner,
        limit_s=30,
        seen=recorder,
        usage=lambda: usage_of(traces.records()),
    )
    async with running_app(create_proxy(proxy)) as url, httpx.AsyncClient(base_url=url) as client:
        for mode in ("prune", "prune", "shadow"):
            headers = {"x-orqen-mode": mode}
            await client.post(
                "/v1/chat/completions", content=chat("weather in London"), headers=headers
            )
        yield url
    recorder.close()


async def test_the_page_is_drawn(recorded: str, tmp_path: Path) -> None:
    """A bar for each width and mode with its count, beside the figures; no address but its own."""
    picture = tmp_path / "page.png"
    drawn = await _browse(f"{recorded}/_orqen", "--dump-dom")
    await _browse(f"{recorded}/_orqen", f"--screenshot={picture}")

    assert re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", drawn)[:2] == [
        ("requests", "3"),
        ("tools offered", "51.0"),
    ]
    assert 'aria-label="prune: 2, shadow: 1"' in drawn
    assert len(re.findall("<rect", drawn)) == 4
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", drawn)
    assert picture.stat().st_size > 10_000


async def _browse(url: str, wanted: str) -> str:
    """What a Chromium without a window makes of a page."""
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000")
    running = await asyncio.create_subprocess_exec(
        *(chromium(), *options, wanted, url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "LANG": "C.UTF-8"},
    )
    said, _ = await running.communicate()
    assert running.returncode == 0
    return said.decode()
