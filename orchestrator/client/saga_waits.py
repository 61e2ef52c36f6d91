"""Read the waits of a workflow's sagas from its history: of any workflow, without its code.

The workflow writes its open cards and questions into its memo. Its history records each change of
the memo, and the decisions and answers that it took.
"""

from collections.abc import Sequence
from datetime import UTC
from typing import Any, TypeVar

from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import DataConverter

from orchestrator.client.history_replay import SeenState, task_ends
from orchestrator.confirmation.models import DecisionEnvelope, record_of
from orchestrator.messages import names
from orchestrator.messages.event_changes import SagaWaits
from orchestrator.messages.leg import AnswerInput, LegWaiting

T = TypeVar("T")
_STARTED = EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED


async def saga_waits(
    converter: DataConverter, events: Sequence[HistoryEvent], *, after: int = 0
) -> list[SeenState]:
    """Return the waits after each task that changed them, without equal neighbours.

    `events` are those of one run, from the first; states are wanted `after` a task.
    """
    ends = {place: task for task, place in task_ends(events).items()}
    started = {one.event_id: one.event_time for one in events if one.event_type == _STARTED}
    reading = _Reading(converter)
    found: list[SeenState] = []
    for place, event in enumerate(events, 1):
        await reading.take(event)
        task = ends.get(place)
        if task is None or (found and found[-1].state == reading.state):
            continue
        at = started[task].ToDatetime(tzinfo=UTC)
        found.append(SeenState(task, at, reading.state))
    return [one for one in found if one.task > after]


class _Reading:
    """The waits up to one event."""

    def __init__(self, converter: DataConverter) -> None:
        self._converter = converter
        self._accepted: dict[int, Any] = {}
        """Decisions and answers that were accepted and may still be refused, by their events."""
        self.state = SagaWaits()

    async def take(self, event: HistoryEvent) -> None:
        """Apply an event."""
        if event.HasField("workflow_execution_update_accepted_event_attributes"):
            await self._accept(event)
            return
        if event.HasField("workflow_execution_update_completed_event_attributes"):
            completed = event.workflow_execution_update_completed_event_attributes
            taken = self._accepted.pop(completed.accepted_event_id, {})
            if completed.outcome.HasField("success"):
                self.state = self.state.model_copy(update=taken)
            return
        # The waits that an event has written into the memo.
        begun = event.workflow_execution_started_event_attributes.memo
        changed = event.workflow_properties_modified_event_attributes.upserted_memo
        memo = {**begun.fields, **changed.fields}
        fields = {key: one for key, one in memo.items() if key.startswith(names.WAITS_MEMO)}
        if fields:
            kinds: list[type] = [LegWaiting] * len(fields)
            written = await self._converter.decode(list(fields.values()), kinds)
            waits = dict(self.state.waits)
            for key, one in zip(fields, written, strict=True):
                waits.pop(name := key.removeprefix(names.WAITS_MEMO), None)
                if isinstance(one, LegWaiting):
                    waits[name] = one
            self.state = self.state.model_copy(update={"waits": waits})

    async def _accept(self, event: HistoryEvent) -> None:
        update = event.workflow_execution_update_accepted_event_attributes.accepted_request.input
        if update.name == names.DECIDE_UPDATE:
            decision = (await self._decoded(update.args, DecisionEnvelope)).decision
            at = event.event_time.ToDatetime(tzinfo=UTC)
            for card in self.state.cards:
                if card.confirmation_id == decision.confirmation_id:
                    decisions = (*self.state.decisions, record_of(decision, card, at))
                    self._accepted[event.event_id] = {"decisions": decisions}
        elif update.name == names.ANSWER_UPDATE:
            answer = await self._decoded(update.args, AnswerInput)
            answered = self.state.answered | {answer.question_id}
            self._accepted[event.event_id] = {"answered": answered}

    async def _decoded(self, payloads: Payloads, kind: type[T]) -> T:
        (found,) = await self._converter.decode(payloads.payloads[:1], [kind])
        given: T = found
        return given
