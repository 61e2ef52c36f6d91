"""The events of one run of a workflow, made of its history as far as that was read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from orchestrator.client.live.history_replay import answers, task_ends
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.event_changes import (
    Where,
    leg_changes,
    mission_changes,
    rollback_changes,
)
from orchestrator.messages.event_cursor import HistoryPlace
from orchestrator.messages.events import Event, LegEvent, MissionEvent
from orchestrator.messages.leg import LegInput, LegStatus, LegWaiting
from orchestrator.messages.leg_progress import LegProgress
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackReport

CONTINUED: Final = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
_STOPPED: Final = "it was stopped from outside"
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


class ToldEvent(NamedTuple):
    """An event and its place, to be sorted with those of other workflows."""

    at: datetime
    workflow_id: str
    place: HistoryPlace
    event: Event


@dataclass(frozen=True)
class _Kind:
    """How the events of one kind of workflow are made."""

    query: str
    answer: type[Any]
    changes: Callable[[Any, Any, Where], Iterator[Event]]


_KINDS: Final = {
    names.MISSION_WORKFLOW: _Kind(names.RESULT_QUERY, MissionResult, mission_changes),
    names.LEG_WORKFLOW: _Kind(names.PROGRESS_QUERY, LegProgress, leg_changes),
    names.ROLLBACK_WORKFLOW: _Kind(names.REPORT_QUERY, RollbackReport, rollback_changes),
}


class RunEvents:
    """Makes events of one run's history; what was told once is not told again."""

    def __init__(self, client: Client, workflow_id: str, kind: str, after: HistoryPlace) -> None:
        """Take whose events they are; `after`: the run, and what of it was told before."""
        self._client = client
        self.workflow_id = workflow_id
        self._kind = _KINDS[kind]
        self._told = after
        self._seen = after.task
        self._is_begun = False
        self._is_reopened = False
        self._before: Record | None = None
        self._task = 0
        """Up to which the history was replayed."""
        self._counted = 0
        self._count = 0
        self._mission_id, _, leg = workflow_id.partition(".")
        self._leg_id = leg if kind == names.LEG_WORKFLOW else ""

    @property
    def last(self) -> Record | None:
        """What the workflow answered last; None before it did anything."""
        return self._before

    async def of(self, events: Sequence[HistoryEvent]) -> list[ToldEvent]:
        """Those that this history has, and that were not told yet."""
        if not self._is_begun:
            self._before = await self._at_its_start(events)
            self._is_begun = True
        found: list[ToldEvent] = []
        reset = reset_in(events)
        if any(task > self._task for task in task_ends(events)):
            converter = self._client.data_converter
            for answer in await answers(
                self.workflow_id,
                events,
                self._kind.query,
                after=self._task,
                seen=self._seen,
                converter=converter,
            ):
                now = converter.payload_converter.from_payload(answer.payload, self._kind.answer)
                if reset is not None and answer.task < reset.event_id:
                    self._before = now  # the run that was reset has told it
                    continue
                found += self._reopened(reset)
                changes = self._kind.changes(self._before, now, self._at(answer.at))
                found += self._new(answer.task, answer.at, changes)
                self._before = now
            self._task = max(self._task, *task_ends(events))
        found += self._reopened(reset)
        return [*found, *self._end(events)]

    def _at(self, moment: datetime) -> Where:
        return Where(mission_id=self._mission_id, leg_id=self._leg_id, at=moment)

    def _new(self, task: int, at: datetime, changes: Iterator[Event]) -> Iterator[ToldEvent]:
        told = (self._numbered(task, at, event) for event in changes)
        return (one for one in told if one is not None)

    def _numbered(self, task: int, at: datetime, event: Event) -> ToldEvent | None:
        """An event with its place; None: it was told before."""
        if task != self._counted:
            self._counted, self._count = task, 0
        self._count += 1
        place = HistoryPlace(self._told.run_id, task, self._count)
        if (task, self._count) <= (self._told.task, self._told.told):
            return None
        self._told = place
        return ToldEvent(at, self.workflow_id, place, event)

    async def _at_its_start(self, events: Sequence[HistoryEvent]) -> Record | None:
        """What a leg that goes on in this run brought along."""
        started = events[0].workflow_execution_started_event_attributes
        if not self._leg_id or not started.continued_execution_run_id:
            return None
        (leg,) = await self._client.data_converter.decode(started.input.payloads, [LegInput])
        state = leg.state
        return LegProgress(
            agent=leg.leg.agent.name,
            goal=leg.leg.goal,
            status=state.status,
            steps=state.steps,
            steps_before=state.steps_before,
            decisions=state.decisions,
            ledger=state.ledger,
        )

    def _reopened(self, reset: HistoryEvent | None) -> Iterator[ToldEvent]:
        """What stands open again where a run goes on that was reset: its end was told before."""
        before = self._before
        if reset is None or self._is_reopened:
            return iter(())
        self._is_reopened = True
        closed: Record | None = None
        if isinstance(before, MissionResult):
            closed = before.model_copy(update=_mission_end(before, before.started_at))
        elif isinstance(before, LegProgress):
            closed = before.model_copy(
                update={"waiting": LegWaiting(), "status": LegStatus.CANCELLED}
            )
        if closed is None:
            return iter(())
        at = reset.event_time.ToDatetime(tzinfo=UTC)
        return self._new(reset.event_id, at, self._kind.changes(closed, before, self._at(at)))

    def _end(self, events: Sequence[HistoryEvent]) -> Iterator[ToldEvent]:
        """That it was stopped, where it could not say so itself."""
        last = end_of(events)
        if last is None or last.event_type == CONTINUED:
            return iter(())
        at = last.event_time.ToDatetime(tzinfo=UTC)
        return self._new(last.event_id, at, self._stopped(self._at(at)))

    def _stopped(self, where: Where) -> Iterator[Event]:
        before = self._before
        if self._kind.answer is MissionResult:
            yield from _stopped_mission(before, where)
        elif isinstance(before, LegProgress) and before.status in _UNDER_WAY:
            nothing = {"waiting": LegWaiting()}
            yield from leg_changes(before, before.model_copy(update=nothing), where)
            yield LegEvent(
                **where, status="terminated", agent=before.agent, goal=before.goal, error=_STOPPED
            )


def _stopped_mission(before: Record | None, where: Where) -> Iterator[Event]:
    if not isinstance(before, MissionResult):
        status = MissionStatus.TERMINATED.value
        yield MissionEvent(**where, status=status, error=_STOPPED, over=True)
    elif before.finished_at is None:
        stopped = before.model_copy(update=_mission_end(before, where["at"]))
        yield from mission_changes(before, stopped, where)


def _mission_end(before: MissionResult, at: datetime | None) -> dict[str, Any]:
    """What differs of a mission that was stopped."""
    return {
        "status": MissionStatus.TERMINATED,
        "error": before.error or _STOPPED,
        "plan_waits": LegWaiting(),
        "finished_at": at,
    }


_UNDER_WAY: Final = frozenset(
    {
        LegStatus.WAITING,
        LegStatus.RUNNING,
        LegStatus.AWAITING_ANSWER,
        LegStatus.AWAITING_CONFIRMATION,
        LegStatus.AWAITING_MODEL,
    }
)


def reset_in(events: Sequence[HistoryEvent]) -> HistoryEvent | None:
    """The last event by which a run goes on from the middle of another one; None: it does not."""
    return next((event for event in reversed(events) if _is_reset(event)), None)


def _is_reset(event: HistoryEvent) -> bool:
    if event.event_type != EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
        return False
    cause = event.workflow_task_failed_event_attributes.cause
    return cause == WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW


def end_of(events: Sequence[HistoryEvent]) -> HistoryEvent | None:
    """The event that closed the run; None while it runs."""
    return events[-1] if events and events[-1].event_type in _ENDS else None
