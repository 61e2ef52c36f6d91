"""The inbox and the API with hundreds of waiting cards: pages, readers, events, decisions.

`orchestrator serve` is a process of its own, next to one server and one worker; the readers share
another one. The list that the command line draws (`confirm list`) reads the same cards, as the
alternative.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx

from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionRequest
from orchestrator.runtime.devserver import Ports, Stack
from orchestrator.settings import bundled_specs
from orchestrator.testing import eventually
from tests.benchmarks.figure import Figure

_CARDS: Final = 500
_GOAL: Final = "Reserve a table for 4 in Lisbon on 6 December 2026 at 20:00"
_AT_ONCE: Final = 10
_PAGES, _READERS, _EVENTS, _DECISIONS = 10, 50, 10, 60
_TURNS_S: Final = 5.0
"""How long a reader looks at a page."""
_PATIENCE_S: Final = 600.0


def run() -> list[Figure]:
    """Measure pages, readers, events and decisions."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_measured(Path(folder)))


async def _measured(folder: Path) -> list[Figure]:
    ports = Ports.free(has_inbox=True)
    stack = Stack(folder=folder, specs=(bundled_specs(),), ports=ports)
    async with AsyncExitStack() as held:
        await held.enter_async_context(stack)
        client = await stack.client()
        http = await held.enter_async_context(
            httpx.AsyncClient(
                base_url=stack.inbox_url or "",
                timeout=60,
                limits=httpx.Limits(max_connections=60),
            )
        )
        empty = await _median(lambda: http.get("/"), _PAGES)
        await _start(client, _CARDS)
        listed = await _median(client.waiting, _PAGES)
        page = await _median(lambda: http.get("/"), _PAGES)
        answered = await _median(lambda: http.get("/api/v1/cards"), _PAGES)
        p95 = await _readers(http)
        reach = await _events(client, http)
        rate = await _decisions(client, http)
    cards = f"with {_CARDS} waiting cards"
    return [
        Figure(name="inbox, empty", value=empty, unit="s"),
        Figure(name=f"inbox {cards}", value=page, unit="s", note="1 wanted"),
        Figure(name=f"cards by the API {cards}", value=answered, unit="s"),
        Figure(name=f"cards by the client {cards}", value=listed, unit="s"),
        Figure(
            name=f"first byte of a mission's page, p95, {_READERS} readers, {_TURNS_S:g} s a page",
            value=p95,
            unit="s",
            note="0.15 wanted",
        ),
        Figure(
            name="from a card's opening to an open page", value=reach, unit="s", note="1 wanted"
        ),
        Figure(name="decisions", value=rate, unit="a minute", note="200 wanted"),
    ]


async def _median(call: Callable[[], Awaitable[object]], times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


async def _start(client: MissionClient, count: int) -> None:
    places = asyncio.Semaphore(_AT_ONCE)

    async def start(number: int) -> None:
        async with places:
            await client.start(MissionRequest(goal=_GOAL, mission_id=f"many-{number}"))

    await asyncio.gather(*map(start, range(count)))

    async def all_wait() -> bool:
        return len((await client.waiting()).cards) >= count

    await eventually(all_wait, timeout_s=_PATIENCE_S)


async def _readers(http: httpx.AsyncClient) -> float:
    """Return the 95th percentile of the first byte, of readers who turn a page now and then."""
    taken: list[float] = []

    async def read(number: int) -> None:
        await asyncio.sleep(number * _TURNS_S / _READERS)
        for turn in range(4):
            began = time.perf_counter()
            async with http.stream("GET", f"/missions/many-{number * 4 + turn}") as answer:
                await anext(answer.aiter_raw())
                taken.append(time.perf_counter() - began)
            await asyncio.sleep(_TURNS_S)  # a person reads

    await asyncio.gather(*map(read, range(_READERS)))
    return statistics.quantiles(taken, n=20)[-1]


async def _events(client: MissionClient, http: httpx.AsyncClient) -> float:
    """Return the median time from the opening of a card until a stream of cards tells of it."""
    taken: list[float] = []
    async with http.stream("GET", "/api/v1/events", params={"after": "now"}) as answer:
        lines = answer.aiter_lines()
        for number in range(_EVENTS):
            mission = await client.start(
                MissionRequest(goal=_GOAL, mission_id=f"followed-{number}")
            )
            async for card in mission.cards():
                began = time.perf_counter()
                while card.confirmation_id not in await anext(lines):
                    pass
                taken.append(time.perf_counter() - began)
                break
    return statistics.median(taken)


async def _decisions(client: MissionClient, http: httpx.AsyncClient) -> float:
    """Return decisions a minute, by a few people at once."""
    cards = [one for one in (await client.waiting()).cards if one.mission_id.startswith("many-")]
    chosen, places = cards[:_DECISIONS], asyncio.Semaphore(4)

    async def decide(confirmation_id: str, digest: str) -> None:
        async with places:
            body = {"kind": "approve", "digest": digest}
            answer = await http.post(f"/api/v1/cards/{confirmation_id}/decision", json=body)
            answer.raise_for_status()

    began = time.perf_counter()
    await asyncio.gather(*(decide(one.confirmation_id, one.digest) for one in chosen))
    return 60 * len(chosen) / (time.perf_counter() - began)
