"""Events of workflows with sagas, from the memos and updates in their histories."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.contrib.pydantic import pydantic_data_converter as CONVERTER

from orchestrator.client.history_replay import Replays
from orchestrator.client.run_events import RunEvents
from orchestrator.confirmation.models import (
    Amend,
    Approve,
    ConfirmationCard,
    Decision,
    DecisionEnvelope,
    Reject,
)
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.events import Event, HistoryPlace
from orchestrator.messages.leg import AnswerInput, LegWaiting, Question
from tests.unit.cards import open_card

NOON = datetime(2027, 1, 1, 12, tzinfo=UTC)
SAGA = "table-0123456789abcdef"
CALL = "1-table"
CARD = open_card(
    f"{SAGA}.{CALL}.1",
    "book",
    "structured-order",
    title="A table",
    expires_at=NOON + timedelta(hours=1),
)
AMENDED = CARD.model_copy(update={"digest": "cd" * 32})
QUESTION = Question(
    question_id=f"{SAGA}.{CALL}.q", mission_id=SAGA, leg_id=CALL, question="Which?", fields={}
)


class History:
    """A history that grows by workflow tasks, a minute each."""

    def __init__(self) -> None:
        self.events: list[HistoryEvent] = []
        self.at = NOON
        self._add(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)

    def _add(self, kind: "EventType.ValueType") -> HistoryEvent:
        event = HistoryEvent(event_id=len(self.events) + 1, event_type=kind)
        event.event_time.FromDatetime(self.at)
        self.events.append(event)
        return event

    def task(self) -> "History":
        """Complete a task, to which the following commands belong."""
        self.at += timedelta(minutes=1)
        self._add(EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED)
        self._add(EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED)
        self._task = self._add(EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED).event_id
        return self

    def waits(self, waiting: LegWaiting | None) -> "History":
        """Show a wait in the memo, or its end."""
        event = self._add(EventType.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED)
        changed = event.workflow_properties_modified_event_attributes
        changed.workflow_task_completed_event_id = self._task
        (payload,) = CONVERTER.payload_converter.to_payloads([waiting])
        changed.upserted_memo.fields[f"{names.WAITS_MEMO}{SAGA}.{CALL}"].CopyFrom(payload)
        return self

    def update(self, name: str, message: Record, *, refused: bool = False) -> "History":
        """Accept and complete an update."""
        accepted = self._add(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED)
        given = accepted.workflow_execution_update_accepted_event_attributes.accepted_request.input
        given.name = name
        given.args.payloads.extend(CONVERTER.payload_converter.to_payloads([message]))
        event = self._add(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED)
        completed = event.workflow_execution_update_completed_event_attributes
        completed.accepted_event_id = accepted.event_id
        if refused:
            completed.outcome.failure.CopyFrom(Failure(message="refused"))
        else:
            completed.outcome.success.SetInParent()
        return self

    def decided(self, decision: Decision, *, refused: bool = False) -> "History":
        """Take a decision."""
        envelope = DecisionEnvelope(decision=decision)
        return self.update(names.DECIDE_UPDATE, envelope, refused=refused)

    def reset(self) -> "History":
        """Continue from here in another run."""
        event = self._add(EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED)
        cause = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW
        event.workflow_task_failed_event_attributes.cause = cause
        return self

    def ended(self) -> "History":
        """End by a termination."""
        self._add(EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
        return self


def reader(after: HistoryPlace | None = None) -> RunEvents:
    replays = Replays(cast(Any, SimpleNamespace(data_converter=CONVERTER)))
    return RunEvents(replays, "table/1", "Table", after or HistoryPlace("run", 0, 0))


def shown(events: Sequence[Any]) -> list[str]:
    """The state of each card or question, and the decisions."""
    return [getattr(one.event, "state", "") or one.event.decision for one in events]


def opened(card: ConfirmationCard = CARD) -> History:
    return History().task().waits(LegWaiting(card=card))


APPROVE = Approve(confirmation_id=CARD.confirmation_id, digest=CARD.digest, approver="bo")
AMEND = Amend(confirmation_id=CARD.confirmation_id, changes={"seat": "aisle"}, approver="bo")
REJECT = Reject(confirmation_id=CARD.confirmation_id, reason="no", approver="bo")
LATER = CARD.model_copy(update={"expires_at": NOON + timedelta(seconds=90)})
ASKED = LegWaiting(question=QUESTION)
ANSWER = AnswerInput(question_id=QUESTION.question_id, values={})


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (opened(), ["opened"]),
        (opened().task().decided(APPROVE).waits(None), ["opened", "approved", "approved"]),
        (opened().task().decided(REJECT).waits(None), ["opened", "rejected", "rejected"]),
        (
            opened().task().decided(AMEND).waits(LegWaiting(card=AMENDED)),
            ["opened", "amended", "amended", "opened"],
        ),
        (opened().task().decided(APPROVE), ["opened", "approved"]),
        (opened().task().decided(APPROVE, refused=True).waits(None), ["opened", "withdrawn"]),
        (opened(LATER).task().waits(None), ["opened", "expired"]),
        (opened().ended(), ["opened", "withdrawn"]),
        (opened().task().waits(None).ended(), ["opened", "withdrawn"]),
        (History().task().waits(ASKED).task().waits(None), ["opened", "withdrawn"]),
        (
            History().task().waits(ASKED).task().update(names.ANSWER_UPDATE, ANSWER).waits(None),
            ["opened", "answered"],
        ),
        (opened().reset().task().waits(None), ["opened", "withdrawn"]),
    ],
)
async def test_events_come_from_the_memo_and_the_updates(
    history: History, expected: list[str]
) -> None:
    found = await reader().of(history.events)

    assert shown(found) == expected
    assert {(one.event.mission_id, one.event.leg_id) for one in found} == {(SAGA, CALL)}


async def test_a_history_read_in_pieces_gives_each_event_once() -> None:
    """Also after a new reader continues from the place of any event."""
    history, following = opened(), reader()
    pieces = [*await following.of(history.events)]
    history.task().decided(AMEND).waits(LegWaiting(card=AMENDED))
    pieces += await following.of(history.events)
    approve = APPROVE.model_copy(update={"digest": AMENDED.digest})
    history.task().decided(approve).waits(None)
    pieces += await following.of(history.events)
    history.ended()
    pieces += await following.of(history.events)
    whole = await reader().of(history.events)

    assert shown(whole)[-3:] == ["opened", "approved", "approved"]
    assert events_of(pieces) == events_of(whole)
    for number, one in enumerate(whole, 1):
        rest = await reader(one.place).of(history.events)
        assert events_of(rest) == events_of(whole)[number:]


def events_of(found: Sequence[Any]) -> list[Event]:
    return [one.event for one in found]
