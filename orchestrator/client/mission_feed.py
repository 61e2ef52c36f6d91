"""The feed of all missions: cards and questions as they open, are decided or answered, or expire.

Each sweep lists missions and sessions that run or ended lately, and workflows of users whose sagas
wait, and reads the histories that grew. Events are ordered by time within a sweep, and exactly
within a workflow.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic
from typing import Final

from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.temporal.search_attributes import quoted
from orchestrator.client.connection import Connection, Notify, until_answered
from orchestrator.client.mission_events import in_order, with_cursor
from orchestrator.client.mission_state import history_or_none
from orchestrator.client.run_events import PlacedEvent, RunEvents
from orchestrator.core.errors import EventsUnreadable, MissionNotFound, UsageError
from orchestrator.messages import names
from orchestrator.messages.event_changes import SagaWaits
from orchestrator.messages.events import FEED_KINDS, AnyEvent, Cursor, HistoryPlace, read_cursor

_EVERY_S: Final = 0.5
_LONGEST_REST_S: Final = 60.0
"""For a run whose entry in the list stays the same: only a revoked rule changes nothing there."""
_AT_ONCE: Final = 8
_PAGE: Final = 100
_OVERLAP: Final = timedelta(minutes=2)
"""How late a workflow may show in lists and be read without a cursor missing it."""
_LATELY: Final = timedelta(minutes=1)
_LISTED: Final = frozenset({names.MISSION_WORKFLOW, names.SESSION_WORKFLOW})
"""Types of workflows that are listed whether they wait or not."""


async def mission_feed(
    connection: Connection,
    *,
    after: str | None = None,
    follow: bool = True,
    notify: Notify | None = None,
    swept: Callable[[Cursor], None] | None = None,
    task_queue: str = "",
) -> AsyncGenerator[AnyEvent, None]:
    """Yield cards, decisions and questions of all missions, sagas and sessions after a cursor.

    See `MissionClient.events`. Without `task_queue`, workflows of every queue in the namespace
    count.

    Raises:
        ServerUnreachable: the server was unavailable for minutes, and `notify` was not given.
        UsageError: the cursor is invalid, or of one mission.
    """
    begun = Cursor(begun=datetime.now(UTC) - _LATELY)
    cursor = read_cursor(after) if after else begun
    if cursor.begun is None:
        raise UsageError(
            "the cursor belongs to one mission: give one of `mission watch` without an id"
        )
    sweeps = _Sweeps(connection, cursor, notify=notify, task_queue=task_queue)
    while True:
        found = await until_answered(sweeps.sweep, notify=notify)
        for placed in found:
            yield with_cursor(placed.event, sweeps.after(placed))
        if swept is not None:
            swept(sweeps.passed())
        if not follow:
            return
        await asyncio.sleep(_EVERY_S)


@dataclass
class _Followed:
    """A run that the feed reads."""

    run: WorkflowExecution
    making: RunEvents
    length: int = 0
    shown: object = None
    """Its entry in the list when it was read last."""
    looked_at: float = 0.0
    rest_s: float = 0.0
    is_done: bool = False

    @property
    def is_waiting(self) -> bool:
        """True for a workflow of a user with open waits: once they close, no list shows it."""
        if self.run.workflow_type in _LISTED:
            return False
        last = self.making.last
        return not self.is_done and isinstance(last, SagaWaits) and bool(last.waits)


class _Sweeps:
    """Reads the events since the previous sweep."""

    def __init__(
        self, connection: Connection, cursor: Cursor, *, notify: Notify | None, task_queue: str
    ) -> None:
        self._connection = connection
        self._task_queue = task_queue
        self._begun = cursor
        self._since = cursor.since
        self._notify = notify
        self._runs: dict[str, _Followed] = {}
        self._places: dict[str, tuple[HistoryPlace, datetime]] = {
            run: (place, cursor.since or datetime.max.replace(tzinfo=UTC))
            for run, place in cursor.places.items()
        }
        self._unknown = tuple(cursor.places)
        """Runs of the cursor, before the first sweep."""
        self._took = timedelta()
        self._swept_at = datetime.now(UTC)

    def after(self, event: PlacedEvent) -> Cursor:
        """Return the cursor after an event of the sweep."""
        self._places[event.place.run_id] = (event.place, event.at)
        passed = event.at - _OVERLAP - self._took
        self._since = passed if self._since is None else max(self._since, passed)
        self._places = self._kept_places(self._since)
        places = {run: place for run, (place, _) in self._places.items()}
        return replace(self._begun, places=places, since=self._since)

    def _kept_places(self, since: datetime) -> dict[str, tuple[HistoryPlace, datetime]]:
        """Return the places of runs with events since then, and of those that wait."""
        waiting = {run for run, one in self._runs.items() if one.is_waiting}
        return {r: (p, at) for r, (p, at) in self._places.items() if at > since or r in waiting}

    def passed(self) -> Cursor:
        """Return the cursor after everything that a sweep which began long enough ago has read.

        Twice the overlap: an event has the server's time, and a sweep that of this machine.
        """
        passed = self._swept_at - 2 * _OVERLAP - self._took
        since = passed if self._since is None else max(self._since, passed)
        places = {run: place for run, (place, _) in self._kept_places(since).items()}
        return replace(self._begun, places=places, since=since)

    async def sweep(self) -> list[PlacedEvent]:
        """Return the events since the previous sweep, in the order of their times."""
        began, swept_at = monotonic(), datetime.now(UTC)
        known_times = [one for one in (self._begun.begun, self._since) if one is not None]
        closed_after = max(known_times).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        of_queue = f"TaskQueue = {quoted(self._task_queue)} AND " if self._task_queue else ""
        ours = f"'{names.MISSION_WORKFLOW}', '{names.SESSION_WORKFLOW}'"
        open_or_late = f"(ExecutionStatus = 'Running' OR CloseTime > '{closed_after}')"
        waits = (
            f"WorkflowType NOT IN ({ours}, '{names.ROLLBACK_WORKFLOW}') AND "
            f"ExecutionStatus = 'Running' AND "
            f"{names.WAITING_FOR_ATTRIBUTE} IN ('confirmation', 'answer')"
        )
        query = f"{of_queue}(WorkflowType IN ({ours}) AND {open_or_late} OR {waits})"
        listed = await self._listed(query)
        ids = {one.run_id for one in listed}
        # Runs that waited when they were read last, and are not listed any more.
        for run_id, waited in self._runs.items():
            if waited.is_waiting and run_id not in ids:
                waited.rest_s = 0.0
                listed.append(waited.run)
        unknown = [one for one in self._unknown if one not in ids]
        for first in range(0, len(unknown), _PAGE):
            several = ", ".join(map(quoted, unknown[first : first + _PAGE]))
            found_now = await self._listed(f"RunId IN ({several})")
            listed += [one for one in found_now if one.workflow_type not in _LISTED]
        self._unknown = ()
        known, self._runs = self._runs, {}
        due: list[WorkflowExecution] = []
        for run in listed:
            one = self._runs[run.run_id] = known.get(run.run_id) or self._followed(run)
            has_rested = monotonic() - one.looked_at >= one.rest_s
            if not one.is_done and (has_rested or one.shown != _shown(run)):
                due.append(run)
        places = asyncio.Semaphore(_AT_ONCE)

        async def read(run: WorkflowExecution) -> list[PlacedEvent]:
            async with places:
                return await self._read(run)

        found = await asyncio.gather(*map(read, due))
        self._took, self._swept_at = timedelta(seconds=monotonic() - began), swept_at
        return in_order(found)

    async def _listed(self, query: str) -> list[WorkflowExecution]:
        with self._connection.explaining():
            return [one async for one in self._connection.temporal.list_workflows(query)]

    def _followed(self, run: WorkflowExecution) -> _Followed:
        place = self._begun.places.get(run.run_id, HistoryPlace(run.run_id, 0, 0))
        making = RunEvents(
            self._connection.replays,
            run.id,
            run.workflow_type,
            place,
            history=partial(history_or_none, self._connection, run.id),
        )
        return _Followed(run, making)

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
                    events = await self._connection.histories.read(described)
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
        for saga_id in {one.event.mission_id for one in found} - {run.id}:
            self._connection.note_saga(saga_id, run.id)
        since = self._begun.since
        return [
            one
            for one in found
            if one.event.kind in FEED_KINDS
            and (since is None or one.at > since or one.place.run_id in self._begun.places)
        ]


def _shown(run: WorkflowExecution) -> object:
    """Return what a list shows of a run: if it differs, the run may have new events."""
    raw = run.raw_info
    memo = raw.memo.fields.items()
    waits = {key: one.SerializeToString() for key, one in memo if key.startswith(names.WAITS_MEMO)}
    return run.status, raw.search_attributes.SerializeToString(deterministic=True), waits
