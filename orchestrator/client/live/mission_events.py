"""The events of one mission: of itself, its legs and its rollback, in the order of their times."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import accumulate
from time import perf_counter
from typing import Final

from orchestrator.adapters.temporal.rollbacks import begun_rollback, described, started_with
from orchestrator.client.connection import Connection, until_answered
from orchestrator.client.live.history_reader import HistoryReader
from orchestrator.client.live.run_events import ToldEvent
from orchestrator.core.errors import MissionNotFound, UsageError
from orchestrator.messages import names
from orchestrator.messages.event_cursor import Cursor, HistoryPlace, read_cursor
from orchestrator.messages.events import AnyEvent, Event
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackInput, RollbackReport

_LOOK_S: Final = (0.25, 5.0)
"""How soon and how late the server is asked while its long polls say nothing."""
_REST: Final = 3.0
"""How many times as long as a reading took is waited before the next: a long history costs more."""
_LONGEST_REST_S: Final = 10.0


async def mission_events(
    connection: Connection,
    mission_id: str,
    *,
    after: str | None = None,
    tell: Callable[[Exception], None] | None = None,
) -> AsyncGenerator[AnyEvent, None]:
    """The events of a mission after a cursor, until it is over and nothing of it goes on.

    Raises:
        MissionNotFound: there is no such mission, or its server no longer keeps it.
        EventsUnreadable: this release cannot read what its workers recorded.
        UsageError: the cursor is none of this mission.
    """
    cursor = _cursor_of(mission_id, after)
    reading = _MissionReading(connection, mission_id, cursor)
    while True:
        began = perf_counter()
        found = await until_answered(reading.read, tell=tell)
        took = perf_counter() - began
        for told in found:
            cursor = cursor.at(told.workflow_id, told.place)
            yield with_cursor(told.event, cursor)
        if reading.is_over:
            return
        await until_answered(reading.more, tell=tell)
        await asyncio.sleep(min(_REST * took, _LONGEST_REST_S))


def _cursor_of(mission_id: str, after: str | None) -> Cursor:
    cursor = read_cursor(after) if after else Cursor()
    if any(names.mission_of(workflow_id) != mission_id for workflow_id in cursor.places):
        raise UsageError(f"that cursor is of no event of {mission_id}")
    return cursor


def in_order(workflows: Iterable[Sequence[ToldEvent]]) -> list[ToldEvent]:
    """Events of several workflows by their times, those of each as they came about."""
    keyed: list[tuple[datetime, ToldEvent]] = []
    for told in workflows:
        latest = accumulate((one.at for one in told), max)
        keyed += zip(latest, told, strict=True)
    return [told for _, told in sorted(keyed, key=lambda one: one[0])]


def with_cursor(event: Event, cursor: Cursor) -> AnyEvent:
    """An event as it is given out."""
    given: AnyEvent = event.model_copy(update={"cursor": str(cursor)})  # type: ignore[assignment]
    return given


class _MissionReading:
    """The readers of a mission's workflows, each from where the cursor says."""

    def __init__(self, connection: Connection, mission_id: str, cursor: Cursor) -> None:
        self._connection = connection
        self._mission_id = mission_id
        self._cursor = cursor
        self._rollback_id = names.rollback_workflow_id(mission_id)
        self._readers: dict[str, HistoryReader] = {}
        self._done_rollbacks: set[str] = set()
        self._patience = _LOOK_S[0]

    @property
    def is_over(self) -> bool:
        """Whether nothing of it goes on: what is parked waits, and a rollback may come later."""
        return all(
            reader.is_closed or _is_settled(reader.last) for reader in self._readers.values()
        )

    async def read(self) -> list[ToldEvent]:
        """The events of all that is recorded by now, in the order of their times."""
        if not self._readers:
            newest = await self._connection.mission(self._mission_id)
            assert newest.run_id is not None
            first = await self._first_of(newest.run_id)
            self._follow(self._mission_id, names.MISSION_WORKFLOW, first)
        found: list[list[ToldEvent]] = []
        read: set[str] = set()
        while new := [r for r in self._readers.values() if r.workflow_id not in read]:
            # Children after those who started them, and again what went on meanwhile.
            found += await asyncio.gather(*(reader.read() for reader in new))
            read |= {reader.workflow_id for reader in new}
            self._find_children()
            if await self._find_rollback():
                read.discard(self._rollback_id)
        return in_order(found)

    async def _first_of(self, run_id: str) -> str:
        """The run that a run was once made of where it was reset; else itself."""
        client = self._connection.temporal
        with self._connection.explaining(self._mission_id):
            handle = client.get_workflow_handle(self._mission_id, run_id=run_id)
            events = handle.fetch_history_events(page_size=1)
            begun = (await anext(events)).workflow_execution_started_event_attributes
            original = begun.original_execution_run_id or run_id
            if original != run_id:
                kept = client.get_workflow_handle(self._mission_id, run_id=original)
                return run_id if await described(kept) is None else original
        return run_id

    async def more(self) -> None:
        """Wait until something may have happened."""
        polls = [asyncio.ensure_future(reader.more()) for reader in self._open()]
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

    def _open(self) -> Iterator[HistoryReader]:
        return (r for r in self._readers.values() if not r.is_closed)

    def _follow(self, workflow_id: str, kind: str, run_id: str) -> None:
        """Read a workflow from its first run, or from where the cursor stands in it."""
        after = self._cursor.places.get(workflow_id, HistoryPlace(run_id, 0, 0))
        self._readers[workflow_id] = HistoryReader(self._connection, workflow_id, kind, after)

    def _find_children(self) -> None:
        for workflow_id, run_id, kind in self._readers[self._mission_id].children():
            if workflow_id not in self._readers and kind in _READ:
                self._follow(workflow_id, kind, run_id)

    async def _find_rollback(self) -> bool:
        """Follow the mission's rollback where the mission did not start it; whether there is one.

        One that was broken off is taken up by a new run, which says so.
        """
        known = self._readers.get(self._rollback_id)
        mission = self._readers[self._mission_id]
        may_be = mission.is_closed or _is_rolling_back(mission.last)
        if not may_be or (known is not None and not known.is_closed):
            return False
        newest = await begun_rollback(self._connection.temporal, self._mission_id)
        if newest is None or newest.run_id is None:
            return False
        if known is not None:
            self._done_rollbacks.add(known.run_id)
        runs = await self._chain(newest.run_id)
        if not runs:
            return False
        place = self._cursor.places.get(self._rollback_id)
        if known is None and place is not None:
            self._follow(self._rollback_id, names.ROLLBACK_WORKFLOW, runs[0])
            return True
        after = HistoryPlace(runs[0], 0, 0)
        self._readers[self._rollback_id] = HistoryReader(
            self._connection, self._rollback_id, names.ROLLBACK_WORKFLOW, after
        )
        return True

    async def _chain(self, newest: str) -> list[str]:
        """The runs of the rollback that were not read to their end, the first one first."""
        runs: list[str] = []
        run_id: str | None = newest
        while run_id is not None and run_id not in (*self._done_rollbacks, *runs):
            runs.insert(0, run_id)
            handle = self._connection.temporal.get_workflow_handle(self._rollback_id, run_id=run_id)
            with suppress(LookupError, MissionNotFound), self._connection.explaining():
                begun = await started_with(self._connection.temporal, handle, RollbackInput)
                run_id = begun.take_over
                continue
            run_id = None
        return runs


_READ: Final = frozenset({names.LEG_WORKFLOW, names.ROLLBACK_WORKFLOW})


def _is_settled(answer: object) -> bool:
    return isinstance(answer, RollbackReport) and answer.settled


def _is_rolling_back(answer: object) -> bool:
    return isinstance(answer, MissionResult) and answer.status is MissionStatus.ROLLING_BACK
