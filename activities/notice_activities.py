"""Read the feed for what is to be announced, and deliver notices to their channels."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta
from typing import Any, Final, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError

from orchestrator.activities.boundary import heartbeats, translated_errors
from orchestrator.adapters.notices.notice_desk import NoticeDesk
from orchestrator.adapters.notices.notice_rules import NoticeRules
from orchestrator.core.errors import NoticeUndelivered
from orchestrator.messages import names
from orchestrator.messages.events import AnyEvent, Cursor, DecisionEvent
from orchestrator.messages.notice import (
    ANNOUNCES_OPEN,
    Delivered,
    DeliverInput,
    Delivery,
    NoticePage,
    NoticesInput,
    Undelivered,
    UndeliveredInput,
    announced,
)

Part = TypeVar("Part")
Feed = Callable[[str, Callable[[Cursor], None]], AsyncGenerator[AnyEvent, None]]
"""Yields the events after a cursor, and calls back with the cursor of each completed sweep."""
RequesterOf = Callable[[str], Awaitable[str]]
"""Returns the requester of a mission; empty if it has none, or is gone."""

LONGEST_POLL_S: Final = 60.0
LONGEST_REPLAY_S: Final = 5.0
_GATHERS_S: Final = 0.2
"""Events of one sweep come together; this is the pause after which a page is full."""
_PAGE: Final = 50
_KNOWN: Final = 1_000


class FeedReader:
    """Turns the feed into pages of deliveries.

    A page continues the feed of the page before it in the same process, which has the histories
    of running missions in memory. A page after any other cursor opens the feed again.
    """

    def __init__(
        self,
        feed: Feed,
        rules: NoticeRules,
        requester_of: RequesterOf,
        *,
        poll_s: float = LONGEST_POLL_S,
        replayed_s: float = LONGEST_REPLAY_S,
    ) -> None:
        """Take the feed, the routes, and how long a page waits for its first event.

        A feed that is closed may replay a history for `replayed_s` more, as the SDK bears no cut.
        """
        self._feed = feed
        self._rules = rules
        self._requester_of = requester_of
        self._poll_s = poll_s
        self._replayed_s = replayed_s
        self._turn = asyncio.Lock()
        self._open: AsyncGenerator[AnyEvent, None] | None = None
        self._next: asyncio.Task[AnyEvent] | None = None
        self._cursor = ""
        self._swept: Cursor | None = None
        self._deciders: OrderedDict[tuple[str, str], list[str]] = OrderedDict()
        self._requesters: OrderedDict[str, str] = OrderedDict()

    async def page(
        self, wanted: NoticesInput, *, until: "asyncio.Future[None] | None" = None
    ) -> NoticePage:
        """Return the deliveries after a cursor; wait a while for the first one, or `until` then."""
        async with self._turn:
            try:
                if self._open is None or wanted.cursor != self._cursor:
                    await self.close()
                    self._cursor = wanted.cursor
                    self._open = self._feed(wanted.cursor, self._note_sweep)
                events = await self._collect({until} if until is not None else set())
                deliveries = [
                    one for event in events for one in await self._deliveries(event, wanted)
                ]
            except BaseException:
                await self.close()  # what was taken from the feed is not lost: it is read again
                raise
            if self._swept is not None:
                self._cursor, self._swept = str(self._swept), None
            return NoticePage(deliveries=tuple(deliveries), cursor=self._cursor)

    async def close(self) -> None:
        """Stop reading."""
        waiting, self._next = self._next, None
        if waiting is not None:
            await asyncio.wait({waiting}, timeout=self._replayed_s)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        feed, self._open = self._open, None
        if feed is not None:
            await feed.aclose()
        self._swept = None

    def _note_sweep(self, cursor: Cursor) -> None:
        self._swept = cursor

    async def _collect(self, until: "set[asyncio.Future[None]]") -> list[AnyEvent]:
        events: list[AnyEvent] = []
        while len(events) < _PAGE:
            assert self._open is not None
            if self._next is None:
                self._next = asyncio.ensure_future(anext(self._open))
            waited: set[asyncio.Future[Any]] = {self._next, *until}
            await asyncio.wait(
                waited,
                timeout=_GATHERS_S if events else self._poll_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not self._next.done():
                break
            event = self._next.result()
            self._next = None
            self._cursor, self._swept = event.cursor, None
            events.append(event)
        return events

    async def _deliveries(self, event: AnyEvent, wanted: NoticesInput) -> list[Delivery]:
        if isinstance(event, DecisionEvent):
            made = self._deciders.setdefault((event.confirmation_id, event.digest), [])
            made.append(event.approver)
            _trim(self._deciders)
            return []
        key = (getattr(event, "confirmation_id", ""), getattr(event, "digest", ""))
        if event.mission_id not in self._requesters:
            self._requesters[event.mission_id] = await self._requester_of(event.mission_id)
            _trim(self._requesters)
        requester = self._requesters[event.mission_id]
        notice = announced(
            event, requester=requester, decided_by=", ".join(self._deciders.get(key, ()))
        )
        # What was closed before notices were first switched on is announced to nobody.
        is_old = notice is not None and wanted.began_at is not None and notice.at < wanted.began_at
        if notice is None or (is_old and notice.event not in ANNOUNCES_OPEN):
            return []
        return list(self._rules.deliveries(notice))


def _trim(kept: OrderedDict[tuple[str, str], list[str]] | OrderedDict[str, str]) -> None:
    while len(kept) > _KNOWN:
        kept.popitem(last=False)


class NoticeActivities:
    """The activities of the notices workflows; without a desk, other workers do the work."""

    def __init__(self, reader: FeedReader | None = None, desk: NoticeDesk | None = None) -> None:
        """Take the reader and the desk of a worker that has a configuration of notices."""
        self._reader = reader
        self._desk = desk

    @activity.defn(name=names.READ_NOTICES)
    async def read_notices(self, wanted: NoticesInput) -> NoticePage:
        """Return what is to be announced after a cursor."""
        reader = _configured(self._reader)
        # A worker that stops gives what it has, and does not wait for more.
        stopping = asyncio.ensure_future(activity.wait_for_worker_shutdown())
        try:
            async with heartbeats():
                with translated_errors():
                    return await reader.page(wanted, until=stopping)
        finally:
            stopping.cancel()

    @activity.defn(name=names.DELIVER_NOTICE)
    async def deliver_notice(self, wanted: DeliverInput) -> Delivered:
        """Make one attempt to deliver a notice to a channel."""
        desk = _configured(self._desk)
        async with heartbeats():
            with translated_errors():
                try:
                    return await desk.deliver(wanted)
                except NoticeUndelivered as error:
                    wait = error.retry_after_s
                    raise ApplicationError(
                        str(error),
                        type=error.code,
                        non_retryable=error.final,
                        next_retry_delay=timedelta(seconds=wait) if wait else None,
                    ) from None

    @activity.defn(name=names.NOTE_UNDELIVERED)
    async def note_undelivered(self, wanted: UndeliveredInput) -> Undelivered:
        """Note that a channel was given up."""
        desk = _configured(self._desk)
        with translated_errors():
            return await desk.undelivered(wanted)


def _configured(part: Part | None) -> Part:
    if part is None:
        raise ApplicationError(
            "this worker has no configuration of notices (ORCHESTRATOR_NOTICES); give it to all "
            "workers of the task queue, or terminate the workflow of the notices",
            type="NoticesNotConfigured",
        )
    return part
