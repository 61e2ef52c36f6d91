"""One reading of the feed for all who follow it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import ServerUnreachable
from orchestrator.messages.events import AnyEvent, Cursor, DecisionEvent
from orchestrator.web import shared_feed
from orchestrator.web.shared_feed import NOW, SharedFeed

_BEGIN = datetime(2026, 6, 1, tzinfo=UTC)


def event(number: int) -> AnyEvent:
    return DecisionEvent(
        mission_id="trip-1",
        at=_BEGIN + timedelta(seconds=number),
        cursor=f"c{number}",
        confirmation_id=f"trip-1.1-flights.{number}",
        digest="",
        decision="approved",
        approver="ann@example.com",
    )


class Feed:
    """A client with a feed of numbered events, which the test adds."""

    def __init__(self) -> None:
        self.events_so_far: list[AnyEvent] = []
        self.live = 0
        """Readings that follow the feed now."""
        self.begun = 0
        self.error: Exception | None = None

    def add(self, *numbers: int) -> None:
        self.events_so_far += map(event, numbers)

    async def events(
        self,
        *,
        after: str | None,
        follow: bool = True,
        swept: Callable[[Cursor], None] | None = None,
    ) -> AsyncGenerator[AnyEvent, None]:
        cursors = [one.cursor for one in self.events_so_far]
        # The shared reading begins at a time: what the test added before is not new.
        place = cursors.index(after) + 1 if after in cursors else len(cursors) if follow else 0
        self.live += follow
        self.begun += follow
        try:
            while True:
                while place < len(self.events_so_far):
                    place += 1
                    yield self.events_so_far[place - 1]
                if not follow:
                    return
                if self.error is not None:
                    raise self.error
                assert swept is not None
                swept(Cursor())
                await asyncio.sleep(0.005)
        finally:
            self.live -= follow

    @property
    def client(self) -> MissionClient:
        return cast(MissionClient, self)


async def take(events: AsyncGenerator[AnyEvent, None], count: int) -> list[str]:
    async with asyncio.timeout(5):
        return [(await anext(events)).cursor for _ in range(count)]


async def test_many_follow_one_reading() -> None:
    source, feed = Feed(), SharedFeed()
    several = [feed.follow(source.client, after=NOW) for _ in range(20)]
    following = [asyncio.create_task(take(one, 2)) for one in several]
    await asyncio.sleep(0.05)
    source.add(1, 2)
    found = await asyncio.gather(*following)
    for one in several:
        await one.aclose()
    await feed.close()

    assert found == [["c1", "c2"]] * 20
    assert (source.begun, source.live) == (1, 0)


async def test_a_reader_continues_after_its_cursor_each_event_once() -> None:
    """From what is kept, or by reading what it missed."""
    source, feed = Feed(), SharedFeed()
    source.add(1, 2, 3)
    async with aclosing(feed.follow(source.client, after="c1")) as old:
        missed = await take(old, 2)
        source.add(4)
        missed += await take(old, 1)
        source.add(5)
        async with aclosing(feed.follow(source.client, after="c4")) as kept:
            newer = await take(kept, 1)
            source.add(6)
            newer += await take(kept, 1)
        missed += await take(old, 2)
    await feed.close()

    assert missed == ["c2", "c3", "c4", "c5", "c6"]
    assert newer == ["c5", "c6"]


async def test_from_now_brings_what_happens_during_the_first_look() -> None:
    """The look at all missions takes a while; what it finds from before is left out."""

    class Slow(Feed):
        async def events(self, **_: Any) -> AsyncGenerator[AnyEvent, None]:
            yield event(1)
            await asyncio.sleep(0.05)
            yield event(2).model_copy(update={"at": datetime.now(UTC)})
            _["swept"](Cursor())
            await asyncio.sleep(60)

    feed = SharedFeed()
    async with aclosing(feed.follow(Slow().client, after=NOW)) as events:
        found = await take(events, 1)
    await feed.close()

    assert found == ["c2"]


async def test_it_is_read_no_longer_than_somebody_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_feed, "_LINGERS_S", 0.02)
    source, feed = Feed(), SharedFeed()
    for expected in (1, 2):
        async with aclosing(feed.follow(source.client, after=NOW)) as events:
            following = asyncio.create_task(take(events, 1))
            await asyncio.sleep(0.05)
            source.add(expected)
            assert await following == [f"c{expected}"]
        for _ in range(200):
            await asyncio.sleep(0.01)
            if not source.live:
                break

        assert (source.begun, source.live) == (expected, 0)


async def test_a_failure_reaches_each_reader_and_the_next_begins_again() -> None:
    source, feed = Feed(), SharedFeed()
    readers: list[Any] = [feed.follow(source.client, after=NOW) for _ in range(3)]
    following = [asyncio.create_task(take(one, 1)) for one in readers]
    await asyncio.sleep(0.05)
    source.error = ServerUnreachable("127.0.0.1:1")
    failed = await asyncio.gather(*following, return_exceptions=True)
    source.error = None
    async with aclosing(feed.follow(source.client, after=NOW)) as events:
        again = asyncio.create_task(take(events, 1))
        await asyncio.sleep(0.05)
        source.add(1)
        found = await again
    await feed.close()

    assert [type(one) for one in failed] == [ServerUnreachable] * 3
    assert found == ["c1"]


async def test_a_failure_at_the_first_look_is_raised() -> None:
    source, feed = Feed(), SharedFeed()
    source.error = ServerUnreachable("127.0.0.1:1")
    readers = [feed.follow(source.client, after=NOW) for _ in range(2)]
    failed = await asyncio.gather(*(take(one, 1) for one in readers), return_exceptions=True)

    assert [type(one) for one in failed] == [ServerUnreachable] * 2


async def test_a_reader_that_is_far_behind_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds no memory for ever, and others go on."""
    monkeypatch.setattr(shared_feed, "_WAITING", 3)
    source, feed = Feed(), SharedFeed()
    async with aclosing(feed.follow(source.client, after=NOW)) as slow:
        first = asyncio.create_task(take(slow, 1))
        await asyncio.sleep(0.05)
        source.add(1)
        await first
        source.add(*range(2, 10))
        await asyncio.sleep(0.05)
        rest = [one.cursor async for one in slow]
    await feed.close()

    assert rest == []
