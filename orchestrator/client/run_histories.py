"""Histories of runs in memory, so that reading one again fetches only its new events."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowHistoryEventAsyncIterator,
)
from temporalio.service import RPCError, RPCStatusCode

_PAGE: Final = 1000
_MOST_BYTES: Final = 32 * 1024 * 1024
"""Events in memory, besides those of the run that was read last."""


class RunHistory:
    """The events of one run. A page token continues after the last event, also after an error.

    At its end may be a workflow task, scheduled and started, that the server drops again.
    """

    def __init__(self, temporal: Client, workflow_id: str, run_id: str) -> None:
        """Take the run; the server is not called yet."""
        self._handle: WorkflowHandle[Any, Any] = temporal.get_workflow_handle(
            workflow_id, run_id=run_id
        )
        self._pages: WorkflowHistoryEventAsyncIterator | None = None
        self._reading = asyncio.Lock()
        self.events: Sequence[HistoryEvent] = ()
        self.size_bytes = 0

    @property
    def is_whole(self) -> bool:
        """True if the run is over and all its events are here."""
        return self._pages is not None and bool(self.events) and not self._pages.next_page_token

    async def read(self, run: WorkflowExecutionDescription) -> Sequence[HistoryEvent]:
        """Return the events that the server's description of the run counts, or more."""
        async with self._reading:
            if self._pages is None and len(self.events) < run.history_length:
                # A request that waits would wait at once on a server without pages: the
                # time-skipping one.
                first = self._handle.fetch_history_events(page_size=1)
                await first.fetch_next_page()
                if first.next_page_token is None:
                    self._put(first.current_page or ())
                    return self.events
            # What is over is read to its end, which never waits: a dropped task may hide that.
            is_over = run.status is not WorkflowExecutionStatus.RUNNING
            while len(self.events) < run.history_length or (is_over and self._pages is not None):
                if not await self._fetch():
                    break
        return self.events

    async def grow(self, length: int) -> None:
        """Wait for events after that many; return without any when the long poll or run ends."""
        async with self._reading:
            while len(self.events) <= length and await self._fetch():
                pass

    async def _fetch(self) -> bool:
        """Fetch the next page, waiting for one; return False after the last or an empty one."""
        if self._pages is None:
            self._pages = self._handle.fetch_history_events(page_size=_PAGE, wait_new_event=True)
        elif self.is_whole:
            return False
        try:
            await self._pages.fetch_next_page()
        except RPCError as error:
            if error.status is not RPCStatusCode.UNAVAILABLE:
                # The token may belong to a server that has been replaced.
                self._pages, self.events, self.size_bytes = None, (), 0
            raise
        page = self._pages.current_page or ()
        if not page and self._pages.next_page_token is None:
            self._pages = None  # a server without pages says nothing about the end
        self._put(page)
        return bool(page)

    def _put(self, page: Sequence[HistoryEvent]) -> None:
        """Add a page, in place of a task that the server has dropped."""
        if page:
            self.events = (*self.events[: page[0].event_id - 1], *page)
            self.size_bytes += sum(event.ByteSize() for event in page)


class RunHistories:
    """The histories that were read last, as far as they fit into memory."""

    def __init__(self, temporal: Client) -> None:
        """Take the client that reads them."""
        self._temporal = temporal
        self._runs: OrderedDict[tuple[str, str], RunHistory] = OrderedDict()

    def of(self, workflow_id: str, run_id: str) -> RunHistory:
        """Return the history of a run, which all its readers share."""
        key = (workflow_id, run_id)
        known = self._runs.pop(key, None) or RunHistory(self._temporal, workflow_id, run_id)
        self._runs[key] = known
        while len(self._runs) > 1 and sum(r.size_bytes for r in self._runs.values()) > _MOST_BYTES:
            self._runs.popitem(last=False)
        return known

    async def read(self, run: WorkflowExecutionDescription) -> Sequence[HistoryEvent]:
        """Return all events of a run that its description counts."""
        return await self.of(run.id, run.run_id or "").read(run)
