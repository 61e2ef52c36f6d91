"""The feed of all missions: cards and questions as they open, are decided or answered, or expire.

Each sweep lists missions that run or ended lately, and reads the histories that grew. Events are
ordered by time within a sweep, and exactly within a workflow.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic
from typing import Final

from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator.client.connection import Connection, Notify, until_answered
from orchestrator.client.mission_events import in_order, with_cursor
from orchestrator.client.mission_state import history_or_none
from orchestrator.client.run_events import PlacedEvent, RunEvents
from orchestrator.core.errors import EventsUnreadable, MissionNotFound
from orchestrator.messages import names
from orchestrator.messages.events import FEED_KINDS, AnyEvent, Cursor, HistoryPlace, read_cursor

_EVERY_S: Final = 1.0
_LONGEST_REST_S: Final = 10.0
_AT_ONCE: Final = 8
_OVERLAP: Final = timedelta(minutes=2)
"""How late a workflow may show in lists and be read without a cursor missing it."""
_LATELY: Final = timedelta(minutes=1)


async def mission_feed(
    connection: Connection,
    *,
    after: str | None = None,
    follow: bool = True,
    notify: Notify | None = None,
) -> AsyncGenerator[AnyEvent, None]:
    """Yield cards, decisions and questions of all missions after a cursor.

    Raises:
        ServerUnreachable: the server was unavailable for minutes, and `notify` was not given.
        UsageError: the cursor is invalid.
    """
    begun = Cursor(begun=datetime.now(UTC) - _LATELY)
    sweeps = _Sweeps(connection, read_cursor(after) if after else begun, notify=notify)
    while True:
        found = await until_answered(sweeps.sweep, notify=notify)
        for placed in found:
            yield with_cursor(placed.event, sweeps.after(placed))
        if not follow:
            return
        await asyncio.sleep(_EVERY_S)


@dataclass
class _Followed:
    """A run that the feed reads."""

    making: RunEvents
    length: int = 0
    shown: object = None
    """Its entry in the list when it was read last."""
    looked_at: float = 0.0
    rest_s: float = 0.0
    is_done: bool = False


class _Sweeps:
    """Reads the events since the previous sweep."""

    def __init__(self, connection: Connection, cursor: Cursor, *, notify: Notify | None) -> None:
        self._connection = connection
        self._begun = cursor
        self._since = cursor.since
        self._notify = notify
        self._runs: dict[str, _Followed] = {}
        self._places: dict[str, tuple[HistoryPlace, datetime]] = {
            run: (place, cursor.since or datetime.max.replace(tzinfo=UTC))
            for run, place in cursor.places.items()
        }
        self._took = timedelta()

    def after(self, event: PlacedEvent) -> Cursor:
        """Return the cursor after an event of the sweep."""
        self._places[event.place.run_id] = (event.place, event.at)
        passed = event.at - _OVERLAP - self._took
        self._since = passed if self._since is None else max(self._since, passed)
        self._places = {r: (p, at) for r, (p, at) in self._places.items() if at > self._since}
        places = {run: place for run, (place, _) in self._places.items()}
        return replace(self._begun, places=places, since=self._since)

    async def sweep(self) -> list[PlacedEvent]:
        """Return the events since the previous sweep, in the order of their times."""
        began = monotonic()
        with self._connection.explaining():
            listed = [one async for one in self._connection.temporal.list_workflows(self._query())]
        self._runs = {one.run_id: self._followed(one) for one in listed}
        due = [one for one in listed if self._is_due(one)]
        places = asyncio.Semaphore(_AT_ONCE)

        async def read(run: WorkflowExecution) -> list[PlacedEvent]:
            async with places:
                return await self._read(run)

        found = await asyncio.gather(*map(read, due))
        self._took = timedelta(seconds=monotonic() - began)
        return in_order(found)

    def _query(self) -> str:
        known = [moment for moment in (self._begun.begun, self._since) if moment is not None]
        closed_after = max(known).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return (
            f"WorkflowType = '{names.MISSION_WORKFLOW}' AND "
            f"(ExecutionStatus = 'Running' OR CloseTime > '{closed_after}')"
        )

    def _followed(self, run: WorkflowExecution) -> _Followed:
        known = self._runs.get(run.run_id)
        if known is not None:
            return known
        place = self._begun.places.get(run.run_id, HistoryPlace(run.run_id, 0, 0))
        making = RunEvents(
            self._connection.replays,
            run.id,
            run.workflow_type,
            place,
            history=partial(history_or_none, self._connection, run.id),
        )
        return _Followed(making)

    def _is_due(self, run: WorkflowExecution) -> bool:
        known = self._runs[run.run_id]
        if known.is_done:
            return False
        has_rested = monotonic() - known.looked_at >= known.rest_s
        return has_rested or known.shown != _shown(run)

    async def _read(self, run: WorkflowExecution) -> list[PlacedEvent]:
        """Return the new events of one run, which may be deleted in the meantime."""
        known = self._runs[run.run_id]
        handle = self._connection.temporal.get_workflow_handle(run.id, run_id=run.run_id)
        shown, known.looked_at = _shown(run), monotonic()
        found: list[PlacedEvent] = []
        try:
            with self._connection.explaining(run.id):
                described = await handle.describe()
                length = described.history_length
                if length > known.length:
                    events = [event async for event in handle.fetch_history_events()]
                    found = await known.making.of(events)
                    known.length, known.rest_s = len(events), 0.0
                else:
                    known.rest_s = min(max(2 * known.rest_s, _EVERY_S), _LONGEST_REST_S)
        except MissionNotFound:
            known.is_done = True  # it was deleted
        except EventsUnreadable as unreadable:
            known.is_done = True
            if self._notify is not None:
                self._notify(unreadable)
        else:
            known.shown = shown
            known.is_done = (
                described.status is not WorkflowExecutionStatus.RUNNING and length <= known.length
            )
        return [one for one in found if self._is_fed(one)]

    def _is_fed(self, placed: PlacedEvent) -> bool:
        if placed.event.kind not in FEED_KINDS:
            return False
        since, is_placed = self._begun.since, placed.place.run_id in self._begun.places
        return is_placed or since is None or placed.at > since


def _shown(run: WorkflowExecution) -> object:
    """Return the entry of a run in a list: if it differs, the run has changed."""
    pairs = run.typed_search_attributes
    return run.status, sorted((pair.key.name, str(pair.value)) for pair in pairs)
