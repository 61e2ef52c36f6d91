"""Derive events of one run from its history: of a mission, a rollback, or a workflow with sagas.

The states of missions and rollbacks are replayed. Of any other workflow the waits of its sagas are
read, without its code: its history records each change of the memo into which they are written, and
the decisions and answers that it took.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import DataConverter

from orchestrator.client.history_replay import Replays, SeenState, task_ends
from orchestrator.client.mission_state import STOPPED_OUTSIDE
from orchestrator.confirmation.models import DecisionEnvelope, record_of
from orchestrator.messages import names
from orchestrator.messages.event_changes import (
    MissionState,
    SagaWaits,
    Where,
    rollback_changes,
    saga_changes,
    state_changes,
    stopped_changes,
    terminated,
)
from orchestrator.messages.events import Event, HistoryPlace
from orchestrator.messages.leg import AnswerInput, LegWaiting

CONTINUED: Final = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
_ENDS: Final = frozenset(
    {
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
        EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
        CONTINUED,
    }
)

History = Callable[[str], Awaitable[Sequence[HistoryEvent]]]
"""Returns the history of a run of the same workflow."""


class PlacedEvent(NamedTuple):
    """An event with its position in a history, for sorting with events of other workflows."""

    at: datetime
    workflow_id: str
    place: HistoryPlace
    event: Event


@dataclass(frozen=True)
class _Kind:
    """Functions that read the state of a workflow and derive events from its changes."""

    changes: Callable[[Any, Any, Where], Iterator[Event]]
    read: Callable[[Any], Any] | None = None
    """Reads the state of an instance that replays; None: the memo in the history has it."""
    stopped: Callable[[Any, Where], Iterator[Event]] = lambda before, where: iter(())
    """Yields the events of a run that ended in this state."""
    closed: Callable[[Any], Any] = lambda before: None
    """Returns the state without waits; None: it has none."""


def _without_waits(before: SagaWaits | None) -> SagaWaits:
    return (before or SagaWaits()).model_copy(update={"waits": {}})


_KINDS: Final = {
    names.MISSION_WORKFLOW: _Kind(
        state_changes,
        lambda mission: MissionState(result=mission.result(), progress=mission.progress()),
        lambda before, where: stopped_changes(before, where, STOPPED_OUTSIDE),
        lambda before: terminated(before, before.result.started_at, STOPPED_OUTSIDE),
    ),
    names.ROLLBACK_WORKFLOW: _Kind(rollback_changes, lambda rollback: rollback.report()),
}
_WITH_SAGAS: Final = _Kind(
    saga_changes,
    stopped=lambda before, where: saga_changes(before, _without_waits(before), where),
    closed=_without_waits,
)
"""Sessions, and workflows of users."""


class RunEvents:
    """Derives each event of one run's history once."""

    def __init__(
        self,
        replays: Replays,
        workflow_id: str,
        kind: str,
        after: HistoryPlace,
        *,
        history: History | None = None,
    ) -> None:
        """Take the run, and the position of the last event that was returned.

        `history` returns the history of the run that this one continues, if it is retained.
        """
        self._replays = replays
        self._history = history
        self._is_begun = False
        self.workflow_id = workflow_id
        self._kind = _KINDS.get(kind, _WITH_SAGAS)
        self._given = after
        self._seen = after.task
        self._is_reopened = False
        self._before: Any = None
        self._task = 0
        """The last task that was replayed."""
        self._counted = 0
        self._count = 0
        self._mission_id = names.mission_of(workflow_id)

    @property
    def last(self) -> Any:
        """The last state; None before the first."""
        return self._before

    async def of(self, events: Sequence[HistoryEvent]) -> list[PlacedEvent]:
        """Return the events of this history that were not returned before."""
        found: list[PlacedEvent] = []
        # The last event by which the run continues from the middle of another one.
        reset = next((one for one in reversed(events) if _is_reset(one)), None)
        if not self._is_begun:
            if (before := _continued(events)) and self._history is not None:
                earlier = await self._history(before)
                if self._kind.read is not None:
                    self._before = await self._replays.last_state(
                        self.workflow_id, earlier, self._kind.read
                    )
                elif states := await self._states(earlier):
                    self._before = states[-1].state
            self._is_begun = True
        if any(task > self._task for task in task_ends(events)):
            for task, at, now in await self._states(events, after=self._task):
                # Events before the beginning belong to the previous run, or, after a reset, to the
                # run that was reset.
                is_first = self._before is None and _continued(events) != ""
                if is_first or (reset is not None and task < reset.event_id):
                    self._before = now
                    continue
                found += self._reopened(reset)
                found += self._new(task, at, self._kind.changes(self._before, now, self._at(at)))
                self._before = now
            self._task = max(self._task, *task_ends(events))
        found += self._reopened(reset)
        last = end_of(events)
        if last is not None and last.event_type != CONTINUED:
            at = last.event_time.ToDatetime(tzinfo=UTC)
            stopped = self._kind.stopped(self._before, self._at(at))  # from outside
            found += self._new(last.event_id, at, stopped)
        return found

    async def _states(self, events: Sequence[HistoryEvent], *, after: int = 0) -> list[SeenState]:
        if self._kind.read is None:
            return await saga_waits(self._replays.converter, events, after=after)
        return await self._replays.states(
            self.workflow_id, events, self._kind.read, after=after, seen=self._seen
        )

    def _at(self, moment: datetime) -> Where:
        return Where(mission_id=self._mission_id, leg_id="", at=moment)

    def _new(self, task: int, at: datetime, changes: Iterator[Event]) -> Iterator[PlacedEvent]:
        """Yield the events that were not returned before, with their positions."""
        for event in changes:
            if task != self._counted:
                self._counted, self._count = task, 0
            self._count += 1
            if (task, self._count) > (self._given.task, self._given.number):
                self._given = HistoryPlace(self._given.run_id, task, self._count)
                yield PlacedEvent(at, self.workflow_id, self._given, event)

    def _reopened(self, reset: HistoryEvent | None) -> Iterator[PlacedEvent]:
        """Yield the waits that a reset has reopened, because their ends were already returned."""
        if reset is None or self._is_reopened:
            return
        self._is_reopened = True
        closed = None if self._before is None else self._kind.closed(self._before)
        if closed is not None:
            at = reset.event_time.ToDatetime(tzinfo=UTC)
            changes = self._kind.changes(closed, self._before, self._at(at))
            yield from self._new(reset.event_id, at, changes)


def _continued(events: Sequence[HistoryEvent]) -> str:
    return events[0].workflow_execution_started_event_attributes.continued_execution_run_id


def _is_reset(event: HistoryEvent) -> bool:
    cause = event.workflow_task_failed_event_attributes.cause
    return cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW


def end_of(events: Sequence[HistoryEvent]) -> HistoryEvent | None:
    """Return the event that closed the run; None while it runs."""
    return events[-1] if events and events[-1].event_type in _ENDS else None


_STARTED = EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED


async def saga_waits(
    converter: DataConverter, events: Sequence[HistoryEvent], *, after: int = 0
) -> list[SeenState]:
    """Return the waits after each task that changed them, without equal neighbours.

    `events` are those of one run, from the first; states are wanted `after` a task.
    """
    ends = {place: task for task, place in task_ends(events).items()}
    started = {one.event_id: one.event_time for one in events if one.event_type == _STARTED}
    accepted: dict[int, dict[str, Any]] = {}
    """Decisions and answers that were accepted and may still be refused, by their events."""
    found: list[SeenState] = []
    state = SagaWaits()
    for place, event in enumerate(events, 1):
        if event.HasField("workflow_execution_update_accepted_event_attributes"):
            accepted[event.event_id] = await _accepted(converter, event, state)
        elif event.HasField("workflow_execution_update_completed_event_attributes"):
            completed = event.workflow_execution_update_completed_event_attributes
            taken = accepted.pop(completed.accepted_event_id, {})
            if completed.outcome.HasField("success"):
                state = state.model_copy(update=taken)
        else:
            # The waits that an event has written into the memo.
            begun = event.workflow_execution_started_event_attributes.memo
            changed = event.workflow_properties_modified_event_attributes.upserted_memo
            memo = {**begun.fields, **changed.fields}
            fields = {key: one for key, one in memo.items() if key.startswith(names.WAITS_MEMO)}
            if fields:
                kinds: list[type] = [LegWaiting] * len(fields)
                written = await converter.decode(list(fields.values()), kinds)
                waits = dict(state.waits)
                for key, one in zip(fields, written, strict=True):
                    waits.pop(name := key.removeprefix(names.WAITS_MEMO), None)
                    if isinstance(one, LegWaiting):
                        waits[name] = one
                state = state.model_copy(update={"waits": waits})
        task = ends.get(place)
        if task is not None and not (found and found[-1].state == state):
            found.append(SeenState(task, started[task].ToDatetime(tzinfo=UTC), state))
    return [one for one in found if one.task > after]


async def _accepted(
    converter: DataConverter, event: HistoryEvent, state: SagaWaits
) -> dict[str, Any]:
    """Return what an accepted decision or answer changes, if it is not refused."""
    update = event.workflow_execution_update_accepted_event_attributes.accepted_request.input
    kind = {names.DECIDE_UPDATE: DecisionEnvelope, names.ANSWER_UPDATE: AnswerInput}.get(
        update.name
    )
    if kind is None:
        return {}
    (given,) = await converter.decode(update.args.payloads[:1], [kind])
    if isinstance(given, AnswerInput):
        return {"answered": state.answered | {given.question_id}}
    decision, at = given.decision, event.event_time.ToDatetime(tzinfo=UTC)
    for card in state.cards:
        if card.confirmation_id == decision.confirmation_id:
            return {"decisions": (*state.decisions, record_of(decision, card, at))}
    return {}
