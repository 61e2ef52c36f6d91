"""Pages of the feed: no event is lost or passed over, whatever happens between two pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from orchestrator.activities.notice_activities import FeedReader, NoticeActivities
from orchestrator.core.errors import ServerUnreachable
from orchestrator.messages.events import AnyEvent, Cursor, DecisionEvent, HistoryPlace
from orchestrator.messages.notice import DeliverInput, NoticePage, NoticesInput
from tests.unit.activities.made_calls import failure_of
from tests.unit.adapters.notices.notices import AT, card_event, notice, rules


class Feed:
    """Events with their numbers as cursors; each opening continues after its cursor."""

    def __init__(self, *events: AnyEvent) -> None:
        self.events = list(events)
        self.opened: list[str] = []
        self.failures: list[Exception] = []
        self.swept = ""
        self.grown = asyncio.Event()

    def add(self, event: AnyEvent) -> None:
        self.events.append(event)
        self.grown.set()

    async def __call__(
        self, cursor: str, swept: Callable[[Cursor], None]
    ) -> AsyncGenerator[AnyEvent, None]:
        self.opened.append(cursor)
        place = int(cursor) if cursor.isdecimal() else 0
        while True:
            while place < len(self.events):
                place += 1
                yield self.events[place - 1].model_copy(update={"cursor": str(place)})
                if self.failures:
                    raise self.failures.pop(0)
            if self.swept:
                swept(Cursor({self.swept: HistoryPlace("r", 1, 1)}))
            self.grown.clear()
            await self.grown.wait()


async def nobody(_: str) -> str:
    return "ana@example.com"


OpenPages = Callable[..., FeedReader]


@pytest.fixture
async def reader() -> AsyncIterator[OpenPages]:
    """Opens the pages of a feed, for as long as the test."""
    opened: list[FeedReader] = []

    def read(feed: Feed, **changes: float) -> FeedReader:
        times = {"poll_s": 0.05, "replayed_s": 0.05, **changes}
        opened.append(FeedReader(feed, rules(), nobody, **times))
        return opened[-1]

    yield read
    for pages in opened:
        await pages.close()


async def read(pages: FeedReader, cursor: str = "") -> NoticePage:
    return await pages.page(NoticesInput(cursor=cursor))


def opened(number: int) -> AnyEvent:
    return card_event(confirmation_id=f"m.1-leg.{number}")


def about(page: NoticePage) -> list[str]:
    return [one.notice.wait_id for one in page.deliveries]


async def test_a_page_continues_the_one_before_without_reading_again(reader: OpenPages) -> None:
    feed = Feed(opened(1), opened(2))
    pages = reader(feed)
    first = await read(pages)
    nothing = await read(pages, first.cursor)
    feed.add(opened(3))
    second = await read(pages, nothing.cursor)

    assert about(first) == ["m.1-leg.1", "m.1-leg.2"]
    assert about(nothing) == []
    assert nothing.cursor == first.cursor
    assert about(second) == ["m.1-leg.3"]
    assert feed.opened == [""]


async def test_a_page_whose_answer_was_lost_is_read_again(reader: OpenPages) -> None:
    """The workflow asks with the cursor that it has."""
    feed = Feed(opened(1), opened(2))
    pages = reader(feed)
    await read(pages, "1")

    assert about(await read(pages, "1")) == ["m.1-leg.2"]
    assert feed.opened == ["1", "1"]


async def test_a_feed_that_fails_loses_no_event(reader: OpenPages) -> None:
    feed = Feed(opened(1), opened(2))
    feed.failures = [ServerUnreachable("localhost:7233")]
    pages = reader(feed)
    with pytest.raises(ServerUnreachable):
        await read(pages)

    assert about(await read(pages)) == ["m.1-leg.1", "m.1-leg.2"]


async def test_a_read_that_is_cancelled_loses_no_event(reader: OpenPages) -> None:
    feed = Feed()
    pages = reader(feed, poll_s=60)
    reading = asyncio.create_task(read(pages))
    await asyncio.sleep(0.05)
    reading.cancel()
    feed.add(opened(1))
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert about(await read(pages)) == ["m.1-leg.1"]


async def test_an_idle_feed_passes_over_the_time(reader: OpenPages) -> None:
    """Else each start would list all missions that ended since the last event."""
    feed = Feed(opened(1))
    feed.swept = "later"
    pages = reader(feed)
    first = await read(pages)

    assert first.cursor not in ("", "1")
    assert (await read(pages, first.cursor)).cursor == first.cursor
    assert feed.opened == [""]


async def test_what_was_closed_before_the_first_start_is_not_announced(reader: OpenPages) -> None:
    """What is open is, however old it is."""
    feed = Feed(opened(1), card_event(state="approved"), card_event(state="expired"))
    page = await reader(feed).page(NoticesInput(began_at=AT + timedelta(seconds=1)))

    assert [one.notice.event for one in page.deliveries] == ["card.opened"]


async def test_a_closed_card_names_who_decided(reader: OpenPages) -> None:
    decided: dict[str, Any] = {"mission_id": "m", "at": AT, "decision": "approved"}
    decided |= {"confirmation_id": "trip-1.1-flights.2", "digest": "d" * 64}
    both = [DecisionEvent(**decided, approver=name) for name in ("ann", "bob")]
    page = await read(reader(Feed(*both, card_event(state="approved"))))

    assert [one.notice.decided_by for one in page.deliveries] == ["ann, bob"]


async def test_a_page_is_bounded(reader: OpenPages) -> None:
    pages = reader(Feed(*(opened(number) for number in range(120))))
    sizes, cursor = [], ""
    for _ in range(3):
        page = await read(pages, cursor)
        sizes.append(len(page.deliveries))
        cursor = page.cursor

    assert sizes == [50, 50, 20]


async def test_a_worker_that_stops_does_not_wait_for_more(reader: OpenPages) -> None:
    feed, environment = Feed(), ActivityEnvironment()
    reads = NoticeActivities(reader(feed, poll_s=60)).read_notices
    reading = asyncio.create_task(environment.run(reads, NoticesInput(cursor="0")))
    await asyncio.sleep(0.05)
    environment.worker_shutdown()
    page = await asyncio.wait_for(reading, 60)
    feed.add(opened(1))

    assert page == NoticePage(cursor="0")


async def test_a_worker_without_a_configuration_leaves_the_work_to_others() -> None:
    """It fails, and Temporal has another worker try."""
    activities, run = NoticeActivities(), ActivityEnvironment().run
    deliver = DeliverInput(notice=notice(), channel="ops")
    for work in (
        run(activities.read_notices, NoticesInput()),
        run(activities.deliver_notice, deliver),
    ):
        failed = await failure_of(work)
        assert "ORCHESTRATOR_NOTICES" in failed.message
        assert not failed.non_retryable
