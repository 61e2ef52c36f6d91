"""Run a list of missions, starting each mission once however often the list is run.

The caller gives each mission's id, or the id is derived from the list's name and the request. A
list that is run again, on this machine or another, therefore finds its missions.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from pydantic import Field

from orchestrator.client.connection import Connection, until_answered
from orchestrator.client.mission_handle import MissionHandle
from orchestrator.client.start import Starter
from orchestrator.core.errors import (
    MissionIdTaken,
    MissionRefused,
    OrchestratorError,
    PolicyWidened,
    UsageError,
)
from orchestrator.core.record import Record
from orchestrator.messages.mission import MissionRequest, MissionStatus, request_digest

NOT_STARTED: Final = "not_started"
_MOST_FAULTS: Final = 10
_DIGITS: Final = 16


class BatchEntry(Record):
    """A request of a list, with its place."""

    place: str = Field(description="its place in the list, such as `line 3`")
    request: MissionRequest


class BatchEnd(Record):
    """The end of one mission of a list."""

    place: str
    mission_id: str
    status: str
    error: str = ""

    @property
    def succeeded(self) -> bool:
        """True if the mission succeeded."""
        return self.status == MissionStatus.SUCCEEDED


class BatchFaulty(UsageError):
    """Some requests of a list cannot be started, so none was started."""

    def __init__(self, faults: Sequence[str]) -> None:
        """Take one sentence for each fault."""
        more = f"; and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
        super().__init__(f"nothing was started: {'; '.join(faults[:_MOST_FAULTS])}{more}")


NotifyEntry = Callable[[BatchEntry, str], None]
"""Called with an entry and its new status."""


class Batch:
    """Runs lists of requests."""

    def __init__(self, connection: Connection, starter: Starter, *, hides_goals: bool) -> None:
        """Take the connection, the starter, and whether ids must reveal nothing of a goal."""
        self._connection = connection
        self._starter = starter
        self._hides_goals = hides_goals

    async def named(self, name: str, entries: Sequence[BatchEntry]) -> tuple[BatchEntry, ...]:
        """Return the entries with their ids, after checking that each could be started.

        Raises:
            BatchFaulty: some entries could not.
        """
        made, faults, same = [], [], Counter[str]()
        for entry in entries:
            try:
                mission_id = entry.request.mission_id or await self._id_of(name, entry, same)
                request = entry.request.model_copy(update={"mission_id": mission_id})
                await self._starter.completed(request, pins=False)
                made.append(entry.model_copy(update={"request": request}))
            except OrchestratorError as error:
                faults.append(f"{entry.place}: {error}")
        faults += _twice(made)
        if faults:
            raise BatchFaulty(faults)
        return tuple(made)

    async def run(
        self, name: str, entries: Sequence[BatchEntry], *, at_once: int, notify: NotifyEntry
    ) -> list[BatchEnd]:
        """Run all entries, at most `at_once` at a time; return their ends in order.

        In a second run, missions that are over are not started again, and others are joined.

        Raises:
            BatchFaulty: some could not be started; nothing was.
        """
        waiting = iter(list(enumerate(await self.named(name, entries))))
        ends: dict[int, BatchEnd] = {}

        async def one_after_another() -> None:
            for number, entry in waiting:
                ends[number] = await self._one(entry, notify)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(one_after_another())
        except ExceptionGroup as failed:  # the first error, for which the others were cancelled
            raise failed.exceptions[0] from None
        return [end for _, end in sorted(ends.items())]

    async def _one(self, entry: BatchEntry, notify: NotifyEntry) -> BatchEnd:
        mission_id = entry.request.mission_id or ""

        def noted(absence: Exception) -> None:
            notify(entry, str(absence))

        try:
            # The same id and request name the same mission, so the start may be retried.
            mission = await until_answered(lambda: self._begun(entry.request), notify=noted)
        except (MissionIdTaken, MissionRefused, PolicyWidened, UsageError) as refusal:
            notify(entry, NOT_STARTED)
            return BatchEnd(
                place=entry.place, mission_id=mission_id, status=NOT_STARTED, error=str(refusal)
            )
        notify(entry, f"queued: {mission.queued}" if mission.queued else "under way")
        result = await until_answered(mission.result, notify=noted)
        notify(entry, result.status)
        return BatchEnd(
            place=entry.place,
            mission_id=mission_id,
            status=result.status,
            error=result.error or "",
        )

    async def _begun(self, request: MissionRequest) -> MissionHandle:
        started = await self._starter.start(request)
        return MissionHandle(self._connection, started.mission_id, queued=started.queued)

    async def _id_of(self, name: str, entry: BatchEntry, same: "Counter[str]") -> str:
        """Return an id that is the same whenever the same list holds the same request.

        Raises:
            UsageError: the id would reveal a secret: ids are not encrypted.
        """
        if self._hides_goals:
            raise UsageError(
                "give it an id: what is recorded is encrypted here, and an id that is made of the "
                "request would let others try what it asks for"
            )
        request = entry.request.model_copy(update={"mission_id": name})
        completed, brought = await self._starter.completed(request, pins=False)
        if brought.values:
            raise UsageError(
                f"give it an id: it brings {', '.join(sorted(brought.values))}, which is personal, "
                "and no id is made of that"
            )
        digest = request_digest(completed)[:_DIGITS]
        same[digest] += 1
        number = f"-{same[digest]}" if same[digest] > 1 else ""
        return f"{name}-{digest}{number}"


def _twice(entries: Iterable[BatchEntry]) -> Iterator[str]:
    """Yield a sentence for each id that two requests share."""
    seen: dict[str, str] = {}
    for entry in entries:
        mission_id = entry.request.mission_id or ""
        if mission_id in seen:
            yield f"{entry.place}: its id {mission_id} is that of {seen[mission_id]} as well"
        seen.setdefault(mission_id, entry.place)
