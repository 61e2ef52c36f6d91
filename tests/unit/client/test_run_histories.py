"""Histories in memory: reading one again fetches only what is new, also after errors."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.client import run_histories
from orchestrator.client.run_histories import RunHistories, RunHistory


class Server:
    """One run on a server that answers in pages and lets requests wait, and notes what it sent."""

    def __init__(self, length: int, *, pages: bool = True) -> None:
        self.length = length
        self.at = datetime(2026, 12, 3, tzinfo=UTC)
        """When all its events occurred."""
        self.uncertain = 0
        """Events at the end that other ones may replace."""
        self.is_over = False
        self.has_pages = pages
        self.has_empty_end = False
        """The answer to a request that waits: an empty page, and no token."""
        self.sent: list[int] = []
        self.errors: list[RPCStatusCode] = []
        self.grown = asyncio.Event()

    def add(self, number: int) -> None:
        """Let the run grow."""
        self.length += number
        self.grown.set()

    def get_workflow_handle(self, *_: object, **__: object) -> Any:
        """Its handle."""
        return SimpleNamespace(fetch_history_events=lambda **asked: Pages(self, **asked))

    def histories(self) -> RunHistories:
        """Histories that are read from it."""
        return RunHistories(cast(Client, self))

    def history(self) -> RunHistory:
        """The one of its run."""
        return self.histories().of("trip", "run")


class Pages:
    """An iterator of the SDK: its token stays as it was when a request fails."""

    def __init__(self, server: Server, *, page_size: int, wait_new_event: bool = False) -> None:
        self._server, self._size, self._waits = server, page_size, wait_new_event
        self._sent = 0
        self.next_page_token: bytes | None = None
        self.current_page: list[HistoryEvent] | None = None

    async def fetch_next_page(self) -> None:
        """Send the next page, or wait for one."""
        server = self._server
        if self._waits and server.has_empty_end:
            self.current_page, self.next_page_token = [], None
            return
        if server.errors:
            raise RPCError("planted", server.errors.pop(0), b"")
        if self._waits and self._sent == server.length and not server.is_over:
            server.grown.clear()
            await server.grown.wait()
        size = self._size if server.has_pages else server.length
        last = min(server.length, self._sent + size)
        numbers = range(self._sent + 1, last + 1)
        self.current_page = [HistoryEvent(event_id=number) for number in numbers]
        for event in self.current_page:
            event.event_time.FromDatetime(server.at)
        server.sent += numbers if self._waits or not server.has_pages else []
        self._sent = last - (server.uncertain if last == server.length else 0)
        has_more = last < server.length or (self._waits and not server.is_over)
        self.next_page_token = b"more" if has_more else None


def run(length: int, *, is_over: bool = False) -> Any:
    """The server's description of the run."""
    Is = WorkflowExecutionStatus
    return SimpleNamespace(history_length=length, status=Is.FAILED if is_over else Is.RUNNING)


def ids(events: Any) -> list[int]:
    return [event.event_id for event in events]


async def test_a_second_read_fetches_only_new_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Page by page; without new events, nothing is asked."""
    monkeypatch.setattr(run_histories, "_PAGE", 4)
    server = Server(10)
    history = server.history()

    for length in (10, 10, 13, 20):
        server.length = length
        assert ids(await history.read(run(length))) == list(range(1, length + 1))

    assert server.sent == list(range(1, 21))


async def test_readers_share_a_history() -> None:
    """One waits for what comes, others read meanwhile; each event crosses the wire once."""
    server = Server(5)
    histories = server.histories()
    waiting, other = histories.of("trip", "run"), histories.of("trip", "run")
    await waiting.read(run(5))
    grown = asyncio.create_task(waiting.grow(5))
    await asyncio.sleep(0)
    late = asyncio.create_task(other.read(run(7)))
    await asyncio.sleep(0)
    server.add(2)

    assert ids(await late) == list(range(1, 8))
    await grown
    assert server.sent == list(range(1, 8))


async def test_a_wait_that_is_abandoned_loses_nothing() -> None:
    """The next read continues where the last page ended."""
    server = Server(5)
    history = server.history()
    await history.read(run(5))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await history.grow(5)
    server.add(3)

    assert ids(await history.read(run(8))) == list(range(1, 9))
    assert server.sent == list(range(1, 9))


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        (RPCStatusCode.UNAVAILABLE, [1, 2, 3, 4, 5]),
        (RPCStatusCode.INVALID_ARGUMENT, [1, 2, 3, 1, 2, 3, 4, 5]),
    ],
)
async def test_reading_continues_after_an_error(status: RPCStatusCode, sent: list[int]) -> None:
    """With its token if the server was away, from the first event if it refused the token."""
    server = Server(3)
    history = server.history()
    await history.read(run(3))
    server.add(2)
    server.errors = [status]
    with pytest.raises(RPCError):
        await history.read(run(5))

    assert ids(await history.read(run(5))) == [1, 2, 3, 4, 5]
    assert server.sent == sent


async def test_a_task_that_the_server_drops_is_replaced() -> None:
    """A task is sent before it is certain; here the run is terminated instead.

    Waiting for more of a run that is over returns at once.
    """
    server = Server(5)
    server.uncertain = 2
    history = server.history()
    await history.read(run(3))
    server.length, server.uncertain, server.is_over = 4, 0, True

    assert ids(await history.read(run(4, is_over=True))) == [1, 2, 3, 4]
    assert server.sent == [1, 2, 3, 4, 5, 4]
    await asyncio.wait_for(history.grow(4), 1)


async def test_a_server_without_pages_is_never_waited_for() -> None:
    """The time-skipping server sends whole histories, and lets a first request wait."""
    server = Server(3, pages=False)
    history = server.history()

    assert ids(await history.read(run(3))) == [1, 2, 3]
    server.length = 4
    assert ids(await history.read(run(4))) == [1, 2, 3, 4]
    server.has_empty_end = True
    await history.grow(4)
    server.length = 5
    assert ids(await history.read(run(5))) == [1, 2, 3, 4, 5]
    assert not history.is_whole


async def test_the_oldest_histories_leave_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one stays, whatever its size."""
    monkeypatch.setattr(run_histories, "_MOST_BYTES", 0)
    histories = Server(3).histories()
    first = histories.of("trip", "one")
    await first.read(run(3))
    histories.of("trip", "two")

    assert histories.of("trip", "one") is not first
