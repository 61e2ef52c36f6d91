"""Following one workflow's history: read from its beginning, then by long polls, run after run."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle, WorkflowHistoryEventAsyncIterator

from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.client.connection import Connection
from orchestrator.client.live.run_events import CONTINUED, RunEvents, ToldEvent, end_of
from orchestrator.core.errors import MissionNotFound
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.event_cursor import HistoryPlace

_CHILD_STARTED: Final = EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED
_PAGE: Final = 1000
_LOG = logging.getLogger(__name__)


class StartedChild(NamedTuple):
    """A workflow that another one started."""

    workflow_id: str
    run_id: str
    kind: str


class HistoryReader:
    """Reads the runs of one workflow, one after the other, and makes their events."""

    def __init__(
        self, connection: Connection, workflow_id: str, kind: str, after: HistoryPlace
    ) -> None:
        """Take what is read, and after which place of which run."""
        self._connection = connection
        self._client: Client = connection.temporal
        self.workflow_id = workflow_id
        self._kind = kind
        self._is_gone = False
        self._begin(after)

    def _begin(self, after: HistoryPlace) -> None:
        self.run_id = after.run_id
        self._is_last = False
        self._events: list[HistoryEvent] = []
        self._polls: WorkflowHistoryEventAsyncIterator | None = None
        self._making = RunEvents(self._client, self.workflow_id, self._kind, after)

    @property
    def is_closed(self) -> bool:
        """Whether it does nothing more."""
        end = end_of(self._events)
        return self._is_gone or (end is not None and end.event_type != CONTINUED)

    @property
    def last(self) -> Record | None:
        """What the workflow answered last."""
        return self._making.last

    def children(self) -> Iterator[StartedChild]:
        """Legs and rollbacks that it has started."""
        for event in self._events:
            if event.event_type == _CHILD_STARTED:
                started = event.child_workflow_execution_started_event_attributes
                one = started.workflow_execution
                yield StartedChild(one.workflow_id, one.run_id, started.workflow_type.name)

    async def read(self) -> list[ToldEvent]:
        """The events of all that the server has by now.

        Raises:
            ServerUnreachable: it does not answer.
            MissionNotFound: it has no such run, or no longer.
            EventsUnreadable: this release cannot replay it.
        """
        found: list[ToldEvent] = []
        while True:
            try:
                await self._catch_up()
            except MissionNotFound:
                if self._kind == names.MISSION_WORKFLOW:
                    raise
                if not await self._passes_over():
                    return found
                continue
            found += await self._making.of(self._events)
            goes_on = await self._goes_on()
            if not goes_on:
                return found
            self._begin(HistoryPlace(goes_on, 0, 0))

    async def _goes_on(self) -> str:
        """The run that goes on where this one ended; '' where none does, or it runs itself.

        An operator may reset a run, also one that has ended: another then goes on from its middle.
        """
        end = end_of(self._events)
        if end is None or self._is_last:
            return ""
        if end.event_type == CONTINUED:
            return end.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
        with self._explaining():
            found = await self._handle.describe()
        reset: str = found.raw_description.workflow_extended_info.reset_run_id
        self._is_last = not reset
        return reset

    async def _passes_over(self) -> bool:
        """Go on with the newest run where the server no longer keeps this one; whether there is."""
        _LOG.warning(
            "the history of %s, run %s, is no longer kept: its events are left out",
            self.workflow_id,
            self.run_id,
        )
        newest = await described(self._client.get_workflow_handle(self.workflow_id))
        if newest is None or newest.run_id in (None, self.run_id):
            self._is_gone = True
            return False
        self._begin(HistoryPlace(newest.run_id or "", 0, 0))
        return True

    async def more(self) -> None:
        """Wait until the server has more than was read.

        Raises:
            ServerUnreachable: it does not answer.
        """
        with self._explaining():
            if self._polls is None:
                self._polls = self._handle.fetch_history_events(
                    page_size=_PAGE, wait_new_event=True
                )
            polls, read = self._polls, len(self._events)
            while True:
                try:
                    await polls.fetch_next_page()
                except BaseException:
                    self._polls = None  # its token may be of a server that is gone
                    raise
                if polls.next_page_token is None:
                    self._polls = None
                    return
                if any(event.event_id > read for event in polls.current_page or ()):
                    return

    @property
    def _handle(self) -> "WorkflowHandle[Any, Any]":
        return self._client.get_workflow_handle(self.workflow_id, run_id=self.run_id)

    async def _catch_up(self) -> None:
        """Read all that there is, where there is more than was read."""
        if self.is_closed:
            return
        with self._explaining():
            known = (await self._handle.describe()).history_length
            if known > len(self._events):
                self._events = [event async for event in self._handle.fetch_history_events()]

    def _explaining(self) -> AbstractContextManager[None]:
        return self._connection.explaining(names.mission_of(self.workflow_id))
