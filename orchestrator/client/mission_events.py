"""Events of one mission, its legs and its rollback, in the order of their times.

The histories of the mission and of its rollback are read from their first event, then followed by
long polls, run after run.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import partial
from itertools import accumulate
from time import perf_counter
from typing import Any, Final

from temporalio.api.history.v1 import HistoryEvent

from orchestrator.adapters.temporal.rollbacks import begun_rollback, described, started_with
from orchestrator.client.connection import Connection, Notify, until_answered
from orchestrator.client.mission_state import history_or_none
from orchestrator.client.run_events import CONTINUED, PlacedEvent, RunEvents, end_of
from orchestrator.core.errors import MissionNotFound, UsageError
from orchestrator.messages import names
from orchestrator.messages.event_changes import MissionState
from orchestrator.messages.events import AnyEvent, Cursor, Event, HistoryPlace, read_cursor
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import RollbackInput, RollbackReport

_LOG = logging.getLogger(__name__)
_LOOK_S: Final = (0.25, 5.0)
"""Shortest and longest pause between reads while long polls return nothing."""
_REST: Final = 3.0
"""Pause between reads, as a multiple of the time of a read: a long history costs more."""
_LONGEST_REST_S: Final = 10.0


async def mission_events(
    connection: Connection,
    mission_id: str,
    *,
    after: str | None = None,
    follow: bool = True,
    notify: Notify | None = None,
) -> AsyncGenerator[AnyEvent, None]:
    """Yield the events of a mission after a cursor, until the mission and its rollback are over.

    Without `follow`, it ends with the events so far.

    Raises:
        MissionNotFound: there is no such mission, or the server no longer retains it.
        EventsUnreadable: this release cannot replay the history.
        UsageError: the cursor is of another mission.
    """
    cursor = read_cursor(after) if after else Cursor()
    if any(names.mission_of(workflow_id) != mission_id for workflow_id in cursor.places):
        raise UsageError(f"the cursor belongs to no event of {mission_id}")
    reading = _MissionReading(connection, mission_id, cursor)
    while True:
        began = perf_counter()
        found = await until_answered(reading.read, notify=notify)
        took = perf_counter() - began
        for placed in found:
            cursor = cursor.at(placed.workflow_id, placed.place)
            yield with_cursor(placed.event, cursor)
        if reading.is_over or not follow:
            return
        await until_answered(reading.more, notify=notify)
        await asyncio.sleep(min(_REST * took, _LONGEST_REST_S))


def in_order(workflows: Iterable[Sequence[PlacedEvent]]) -> list[PlacedEvent]:
    """Return the events of several workflows sorted by time, each workflow's in its own order."""
    keyed: list[tuple[datetime, PlacedEvent]] = []
    for events in workflows:
        latest = accumulate((one.at for one in events), max)
        keyed += zip(latest, events, strict=True)
    return [placed for _, placed in sorted(keyed, key=lambda one: one[0])]


def with_cursor(event: Event, cursor: Cursor) -> AnyEvent:
    """Return an event with its cursor."""
    given: AnyEvent = event.model_copy(update={"cursor": str(cursor)})  # type: ignore[assignment]
    return given


class _MissionReading:
    """Reads a mission and its rollback, each from its place in the cursor."""

    def __init__(self, connection: Connection, mission_id: str, cursor: Cursor) -> None:
        self._connection = connection
        self._mission_id = mission_id
        self._cursor = cursor
        self._rollback_id = names.rollback_workflow_id(mission_id)
        self._readers: dict[str, _HistoryReader] = {}
        self._done_rollbacks: set[str] = set()
        self._patience = _LOOK_S[0]

    @property
    def is_over(self) -> bool:
        """True if nothing more will happen now.

        Parked obligations may still wait, and a rollback may still come.
        """
        return all(
            one.is_closed or (isinstance(one.last, RollbackReport) and one.last.settled)
            for one in self._readers.values()
        )

    async def read(self) -> list[PlacedEvent]:
        """Return the recorded events in the order of their times."""
        if not self._readers:
            newest = await self._connection.mission(self._mission_id)
            first = HistoryPlace(await self._first_of(newest.run_id or ""), 0, 0)
            self._readers[self._mission_id] = _HistoryReader(
                self._connection,
                self._mission_id,
                names.MISSION_WORKFLOW,
                self._cursor.places.get(self._mission_id, first),
            )
        found: list[list[PlacedEvent]] = []
        read: set[str] = set()
        while new := [r for r in self._readers.values() if r.workflow_id not in read]:
            # After the rollback, the mission again: it may have new events.
            found += await asyncio.gather(*(reader.read() for reader in new))
            read |= {reader.workflow_id for reader in new}
            if await self._find_rollback():
                read.discard(self._rollback_id)
        return in_order(found)

    async def _first_of(self, run_id: str) -> str:
        """Return the first run that the server retains in the chain that leads to this run.

        A mission continues in new runs when its history grows long, or after a reset.
        """
        client = self._connection.temporal
        with self._connection.explaining(self._mission_id):
            while True:
                handle = client.get_workflow_handle(self._mission_id, run_id=run_id)
                events = handle.fetch_history_events(page_size=1)
                begun = (await anext(events)).workflow_execution_started_event_attributes
                original = begun.original_execution_run_id
                before = begun.continued_execution_run_id if original == run_id else original
                kept = client.get_workflow_handle(self._mission_id, run_id=before)
                if not before or await described(kept) is None:
                    return run_id
                run_id = before

    async def more(self) -> None:
        """Wait until a history may have grown."""
        still_open = (one for one in self._readers.values() if not one.is_closed)
        polls = [asyncio.ensure_future(one.more()) for one in still_open]
        try:
            done, _ = await asyncio.wait(
                polls, timeout=self._patience, return_when=asyncio.FIRST_COMPLETED
            )
            self._patience = _LOOK_S[0] if done else min(2 * self._patience, _LOOK_S[1])
            for one in done:
                one.result()
        finally:
            for one in polls:
                one.cancel()
            await asyncio.gather(*polls, return_exceptions=True)

    async def _find_rollback(self) -> bool:
        """Follow the mission's rollback; return True if there is one to read.

        After a failed rollback a new run continues, and names the failed one.
        """
        known = self._readers.get(self._rollback_id)
        mission = self._readers[self._mission_id]
        state = mission.last
        may_be = mission.is_closed or (
            isinstance(state, MissionState) and state.result.status is MissionStatus.ROLLING_BACK
        )
        if not may_be or (known is not None and not known.is_closed):
            return False
        newest = await begun_rollback(self._connection.temporal, self._mission_id)
        if newest is None or newest.run_id is None:
            return False
        if known is not None:
            self._done_rollbacks.add(known.run_id)
        first, seen = "", set(self._done_rollbacks)
        run_id: str | None = newest.run_id
        while run_id is not None and run_id not in seen:
            seen.add(first := run_id)
            handle = self._connection.temporal.get_workflow_handle(self._rollback_id, run_id=run_id)
            run_id = None
            with suppress(LookupError, MissionNotFound), self._connection.explaining():
                begun = await started_with(self._connection.temporal, handle, RollbackInput)
                run_id = begun.take_over
        if not first:
            return False
        after = None if known is not None else self._cursor.places.get(self._rollback_id)
        self._readers[self._rollback_id] = _HistoryReader(
            self._connection,
            self._rollback_id,
            names.ROLLBACK_WORKFLOW,
            after or HistoryPlace(first, 0, 0),
        )
        return True


class _HistoryReader:
    """Reads the runs of one workflow in turn and derives their events."""

    def __init__(
        self, connection: Connection, workflow_id: str, kind: str, after: HistoryPlace
    ) -> None:
        self._connection = connection
        self.workflow_id = workflow_id
        self._kind = kind
        self._is_gone = False
        self._begin(after)

    def _begin(self, after: HistoryPlace) -> None:
        self.run_id = after.run_id
        self._is_last = False
        self._history = self._connection.histories.of(self.workflow_id, self.run_id)
        self._events: Sequence[HistoryEvent] = ()
        self._handle = self._connection.temporal.get_workflow_handle(
            self.workflow_id, run_id=self.run_id
        )
        self._making = RunEvents(
            self._connection.replays,
            self.workflow_id,
            self._kind,
            after,
            history=partial(history_or_none, self._connection, self.workflow_id),
        )

    @property
    def is_closed(self) -> bool:
        """True if the workflow is over."""
        end = end_of(self._events)
        return self._is_gone or (end is not None and end.event_type != CONTINUED)

    @property
    def last(self) -> Any:
        """The last state of the workflow."""
        return self._making.last

    async def read(self) -> list[PlacedEvent]:
        """Return the workflow's new events on the server."""
        found: list[PlacedEvent] = []
        while True:
            try:
                if not self.is_closed:
                    with self._explaining():
                        self._events = await self._history.read(await self._handle.describe())
            except MissionNotFound:
                _LOG.warning(
                    "the history of %s, run %s, is no longer kept: its events are left out",
                    self.workflow_id,
                    self.run_id,
                )
                newest = await described(
                    self._connection.temporal.get_workflow_handle(self.workflow_id)
                )
                if newest is not None and newest.run_id not in (None, self.run_id):
                    self._begin(HistoryPlace(newest.run_id or "", 0, 0))
                    continue
                self._is_gone = True
                if self._kind == names.MISSION_WORKFLOW:
                    raise
                return found
            found += await self._making.of(self._events)
            end = end_of(self._events)
            if end is None or self._is_last:
                return found
            if end.event_type == CONTINUED:
                ended = end.workflow_execution_continued_as_new_event_attributes
                goes_on = ended.new_execution_run_id
            else:
                # An operator may reset a run, even a closed one: a new run then continues from its
                # middle.
                with self._explaining():
                    closed = await self._handle.describe()
                goes_on = closed.raw_description.workflow_extended_info.reset_run_id
                self._is_last = not goes_on
            if not goes_on:
                return found
            self._begin(HistoryPlace(goes_on, 0, 0))

    async def more(self) -> None:
        """Wait until the history has grown."""
        with self._explaining():
            await self._history.grow(len(self._events))

    def _explaining(self) -> AbstractContextManager[None]:
        return self._connection.explaining(names.mission_of(self.workflow_id))
