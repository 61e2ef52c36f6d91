"""Read the waits of a workflow's sagas from its history: of any workflow, without its code.

The workflow writes its open cards and questions into its memo. Its history records each change of
the memo, and the decisions and answers that it took.
"""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import DataConverter

from orchestrator.client.history_replay import SeenState, task_ends
from orchestrator.confirmation.models import DecisionEnvelope, record_of
from orchestrator.messages import names
from orchestrator.messages.event_changes import SagaWaits
from orchestrator.messages.leg import AnswerInput, LegWaiting

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
