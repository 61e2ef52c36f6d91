"""Many missions from one list: so many at a time, each started once however often the list is run.

Nothing is kept beside the missions themselves: the id of each is its own, or is made of the list's
name and what is asked for, so that a list that is run again finds what it has started, on this
machine or another.
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
_MOST_TOLD: Final = 10
_DIGITS: Final = 16


class BatchEntry(Record):
    """One request of a list."""

    place: str = Field(description="where it stands there, such as `line 3`")
    request: MissionRequest


class BatchEnd(Record):
    """What became of one of them."""

    place: str
    mission_id: str
    status: str
    error: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether it did all that was asked for."""
        return self.status == MissionStatus.SUCCEEDED


class BatchFaulty(UsageError):
    """Some requests of a list cannot be started; none was."""

    def __init__(self, faults: Sequence[str]) -> None:
        """Take a sentence for each."""
        more = f"; and {len(faults) - _MOST_TOLD} more" if len(faults) > _MOST_TOLD else ""
        super().__init__(f"nothing was started: {'; '.join(faults[:_MOST_TOLD])}{more}")


Tell = Callable[[BatchEntry, str], None]
"""Told of an entry, and of what has just become of it."""


class Batch:
    """Runs lists of requests."""

    def __init__(self, connection: Connection, starter: Starter, *, hides_goals: bool) -> None:
        """Take the connection, what starts missions, and whether ids may tell nothing of a goal."""
        self._connection = connection
        self._starter = starter
        self._hides_goals = hides_goals

    async def named(self, name: str, entries: Sequence[BatchEntry]) -> tuple[BatchEntry, ...]:
        """The entries with their ids, each of which could be started.

        Raises:
            BatchFaulty: some could not.
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
        self, name: str, entries: Sequence[BatchEntry], *, at_once: int, tell: Tell
    ) -> list[BatchEnd]:
        """Run them all, at most so many at a time; how each ended, in their order.

        Run again, those that are over are not started again, and those that go on are joined.

        Raises:
            BatchFaulty: some could not be started; nothing was.
        """
        waiting = iter(list(enumerate(await self.named(name, entries))))
        ends: dict[int, BatchEnd] = {}

        async def one_after_another() -> None:
            for number, entry in waiting:
                ends[number] = await self._one(entry, tell)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(one_after_another())
        except ExceptionGroup as failed:  # the first of them; the others were stopped for it
            raise failed.exceptions[0] from None
        return [end for _, end in sorted(ends.items())]

    async def _one(self, entry: BatchEntry, tell: Tell) -> BatchEnd:
        mission_id = entry.request.mission_id or ""

        def tell_absence(absence: Exception) -> None:
            tell(entry, str(absence))

        try:
            # Of an id with the same request, which is the same mission: it may be sent again.
            mission = await until_answered(lambda: self._begun(entry.request), tell=tell_absence)
        except (MissionIdTaken, MissionRefused, PolicyWidened, UsageError) as refusal:
            tell(entry, NOT_STARTED)
            return BatchEnd(
                place=entry.place, mission_id=mission_id, status=NOT_STARTED, error=str(refusal)
            )
        tell(entry, f"queued: {mission.queued}" if mission.queued else "under way")
        result = await until_answered(mission.result, tell=tell_absence)
        tell(entry, result.status)
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
        """An id by which the same request of the same list is found again, wherever it stands.

        Raises:
            UsageError: the id would tell what is not to be told: ids are not encrypted.
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
    """A sentence for each id that two requests have."""
    seen: dict[str, str] = {}
    for entry in entries:
        mission_id = entry.request.mission_id or ""
        if mission_id in seen:
            yield f"{entry.place}: its id {mission_id} is that of {seen[mission_id]} as well"
        seen.setdefault(mission_id, entry.place)
