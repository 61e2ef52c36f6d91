"""The feed of all missions: their cards and questions opened, decided, answered, expired.

It sweeps: lists what runs or ended lately, and reads the histories that grew. The order is by time
within a sweep, and exact within a workflow.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator.client.connection import Connection, until_answered
from orchestrator.client.live.mission_events import in_order, with_cursor
from orchestrator.client.live.run_events import RunEvents, ToldEvent
from orchestrator.core.errors import EventsUnreadable, MissionNotFound
from orchestrator.messages import names
from orchestrator.messages.event_cursor import Cursor, HistoryPlace, read_cursor
from orchestrator.messages.events import FEED_KINDS, AnyEvent

_EVERY_S: Final = 1.0
_LONGEST_REST_S: Final = 10.0
_AT_ONCE: Final = 8
_OVERLAP: Final = timedelta(minutes=2)
"""How late a workflow may show in lists, and a look at it be, for a cursor to miss nothing."""
_LATELY: Final = timedelta(minutes=1)


async def mission_feed(
    connection: Connection,
    *,
    after: str | None = None,
    follow: bool = True,
    tell: Callable[[Exception], None] | None = None,
) -> AsyncGenerator[AnyEvent, None]:
    """Cards, decisions and questions of all missions after a cursor.

    Raises:
        ServerUnreachable: it was away for minutes, and nobody is told.
        UsageError: the cursor is none.
    """
    begun = Cursor(begun=datetime.now(UTC) - _LATELY)
    sweeps = _Sweeps(connection, read_cursor(after) if after else begun, tell=tell)
    while True:
        found = await until_answered(sweeps.sweep, tell=tell)
        for told in found:
            yield with_cursor(told.event, sweeps.after(told))
        if not follow:
            return
        await asyncio.sleep(_EVERY_S)


@dataclass
class _Followed:
    """One run that the feed reads, as far as it was read."""

    making: RunEvents
    length: int = 0
    shown: object = None
    """What the list said of it when it was looked at last."""
    looked_at: float = 0.0
    rest_s: float = 0.0
    is_done: bool = False


class _Sweeps:
    """Reads what happened since the sweep before."""

    def __init__(
        self, connection: Connection, cursor: Cursor, *, tell: Callable[[Exception], None] | None
    ) -> None:
        self._connection = connection
        self._begun = cursor
        self._since = cursor.since
        self._tell = tell
        self._runs: dict[str, _Followed] = {}
        self._places: dict[str, tuple[HistoryPlace, datetime]] = {
            run: (place, cursor.since or datetime.max.replace(tzinfo=UTC))
            for run, place in cursor.places.items()
        }
        self._took = timedelta()

    def after(self, told: ToldEvent) -> Cursor:
        """The cursor after an event of the sweep; what is told in order leaves only the newest."""
        self._places[told.place.run_id] = (told.place, told.at)
        passed = told.at - _OVERLAP - self._took
        self._since = passed if self._since is None else max(self._since, passed)
        self._places = {r: (p, at) for r, (p, at) in self._places.items() if at > self._since}
        places = {run: place for run, (place, _) in self._places.items()}
        return replace(self._begun, places=places, since=self._since)

    async def sweep(self) -> list[ToldEvent]:
        """The events since the sweep before, in the order of their times."""
        began = monotonic()
        with self._connection.explaining():
            listed = [one async for one in self._connection.temporal.list_workflows(self._query())]
        self._runs = {one.run_id: self._followed(one) for one in listed}
        due = [one for one in listed if self._is_due(one)]
        places = asyncio.Semaphore(_AT_ONCE)

        async def read(run: WorkflowExecution) -> list[ToldEvent]:
            async with places:
                return await self._read(run)

        found = await asyncio.gather(*map(read, due))
        self._took = timedelta(seconds=monotonic() - began)
        return in_order(found)

    def _query(self) -> str:
        known = [moment for moment in (self._begun.begun, self._since) if moment is not None]
        closed_after = max(known).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return (
            f"WorkflowType IN ('{names.LEG_WORKFLOW}', '{names.MISSION_WORKFLOW}') AND "
            f"(ExecutionStatus = 'Running' OR CloseTime > '{closed_after}')"
        )

    def _followed(self, run: WorkflowExecution) -> _Followed:
        known = self._runs.get(run.run_id)
        if known is not None:
            return known
        told = self._begun.places.get(run.run_id, HistoryPlace(run.run_id, 0, 0))
        making = RunEvents(self._connection.temporal, run.id, run.workflow_type, told)
        return _Followed(making)

    def _is_due(self, run: WorkflowExecution) -> bool:
        known = self._runs[run.run_id]
        if known.is_done:
            return False
        has_rested = monotonic() - known.looked_at >= known.rest_s
        return has_rested or known.shown != _shown(run)

    async def _read(self, run: WorkflowExecution) -> list[ToldEvent]:
        """What is new of one run, whatever becomes of it meanwhile."""
        known = self._runs[run.run_id]
        handle = self._connection.temporal.get_workflow_handle(run.id, run_id=run.run_id)
        shown, known.looked_at = _shown(run), monotonic()
        found: list[ToldEvent] = []
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
            if self._tell is not None:
                self._tell(unreadable)
        else:
            known.shown = shown
            known.is_done = (
                described.status is not WorkflowExecutionStatus.RUNNING and length <= known.length
            )
        return [one for one in found if self._is_fed(one)]

    def _is_fed(self, told: ToldEvent) -> bool:
        if told.event.kind not in FEED_KINDS:
            return False
        since, is_placed = self._begun.since, told.place.run_id in self._begun.places
        return is_placed or since is None or told.at > since


def _shown(run: WorkflowExecution) -> object:
    """What a list says of a run: another is news of it, the same need not be none."""
    pairs = run.typed_search_attributes
    return run.status, sorted((pair.key.name, str(pair.value)) for pair in pairs)
