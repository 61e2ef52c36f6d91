"""Events of a mission as those of AG-UI: a snapshot and its deltas agree, and calls are paired."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from ag_ui.core import EventType
from pydantic import JsonValue

from orchestrator.confirmation.models import Amend, Approve, ConfirmationCard, Reject, Respond
from orchestrator.core.budget import Money
from orchestrator.core.errors import UsageError
from orchestrator.messages.events import (
    AnyEvent,
    CallEvent,
    CardEvent,
    Cursor,
    DecisionEvent,
    HistoryPlace,
    LegEvent,
    MissionEvent,
    ObligationEvent,
    PlanEvent,
    PlannedPart,
    QuestionEvent,
    RollbackEvent,
    SelectionEvent,
)
from orchestrator.messages.leg import Question
from orchestrator.web.ag_ui.interrupts import card_interrupt, question_interrupt, read_card_answer
from orchestrator.web.ag_ui.run_view import MissionView, shown_events, text_events, was_seen

AT = datetime(2026, 11, 30, tzinfo=UTC)
BASE: dict[str, Any] = {"mission_id": "m", "leg_id": "1-leg", "at": AT}
FIVE = Money(amount=Decimal("5.50"), currency="EUR")
CARD: dict[str, Any] = {"confirmation_id": "m.1-leg.1", "title": "Pay", "tool": "pay"}
CARD |= {"digest": "d"}
EVENTS: tuple[AnyEvent, ...] = (
    MissionEvent(**BASE, status="running", goal="pay", cursor="1"),
    PlanEvent(**BASE, legs=(PlannedPart(leg_id="1-leg", agent="a", goal="pay"),), cursor="2"),
    LegEvent(**BASE, status="thinking", agent="a", cursor="3"),
    SelectionEvent(**BASE, step=1, tools=("pay",), band="crisp", catalog_size=9, cursor="4"),
    CardEvent(**BASE, **CARD, state="opened", cursor="5"),
    DecisionEvent(
        **BASE, confirmation_id="m.1-leg.1", digest="d", decision="approved", approver="ana"
    ),
    CardEvent(**BASE, **CARD, state="approved", cursor="6"),
    ObligationEvent(**BASE, obligation_id="m.1-leg.1", tool="pay", state="intended", price=FIVE),
    CallEvent(**BASE, call_id="m.1-leg.1", tool="pay", state="sent", cursor="7"),
    CallEvent(
        **BASE, call_id="m.1-leg.1", tool="pay", state="answered", outcome="succeeded", cursor="8"
    ),
    ObligationEvent(**BASE, obligation_id="m.1-leg.1", tool="pay", state="committed", price=FIVE),
    QuestionEvent(**BASE, question_id="m.1-leg.2", state="opened", fields=("seat",)),
    QuestionEvent(**BASE, question_id="m.1-leg.2", state="answered", fields=("seat",)),
    RollbackEvent(**BASE, status="rolled_back", settled=True),
    MissionEvent(**BASE, status="succeeded", summary="done", over=True, cursor="9"),
)


def patched(state: JsonValue, operations: list[Any]) -> JsonValue:
    """Apply replacements of members of the root, which are all that is sent."""
    assert isinstance(state, dict)
    for one in operations:
        assert one["op"] == "replace"
        assert one["path"].count("/") == 1
        assert one["path"][1:] in state
        state = {**state, one["path"][1:]: one["value"]}
    return state


@pytest.mark.parametrize("begin", range(len(EVENTS)))
def test_a_snapshot_and_its_deltas_are_the_state_at_every_moment(begin: int) -> None:
    view = MissionView("m")
    for event in EVENTS[:begin]:
        view.take(event)
    state: JsonValue = json.loads(view.snapshot().model_dump_json())["snapshot"]
    for event in EVENTS[begin:]:
        for shown in shown_events(view, event):
            dumped = json.loads(shown.model_dump_json(by_alias=True))
            if dumped["type"] == EventType.STATE_DELTA:
                state = patched(state, dumped["delta"])
        assert state == view.snapshot().snapshot


def test_the_state_is_what_the_mission_came_to() -> None:
    view = MissionView("m")
    for event in EVENTS:
        view.take(event)
    state: Any = view.state

    assert (state["status"], state["summary"], state["over"]) == ("succeeded", "done", True)
    assert state["cursor"] == "9"
    assert state["spend"] == {"EUR": "5.50"}
    assert state["ledger"]["m.1-leg.1"]["state"] == "committed"
    assert state["waiting"] == {}
    assert not view.waits
    paid: dict[str, Any] = {"obligation_id": "m.1-leg.1", "tool": "pay", "price": FIVE}
    view.take(ObligationEvent(**BASE, **paid, state="cancelled"))
    assert view.state["spend"] == {}


def test_each_call_is_opened_closed_and_answered_once() -> None:
    view = MissionView("m")
    shown = [one for event in EVENTS for one in shown_events(view, event)]
    calls = [one for one in shown if one.type.name.startswith("TOOL_CALL")]
    kinds = ["TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert [one.type for one in calls] == kinds
    assert json.loads(str(calls[-1].model_dump()["content"])) == {"outcome": "succeeded"}


def test_hidden_characters_of_a_summary_are_shown() -> None:
    _, content, _ = text_events("m", "done\u202e!\nyes")

    assert content.model_dump()["delta"] == "done\\u202e!\nyes"
    assert list(text_events("m", "  ")) == []


def place(task: int, number: int = 0, run: str = "r") -> HistoryPlace:
    return HistoryPlace(run, task, number)


def test_events_before_a_cursor_were_seen() -> None:
    seen = Cursor({"m": place(9, 1), "m.rollback": place(2)})

    assert was_seen(seen, Cursor({"m": place(9, 1)}))
    assert was_seen(seen, Cursor({"m": place(4, 7)}))
    assert not was_seen(seen, Cursor({"m": place(9, 2)}))
    assert not was_seen(seen, Cursor({"m": place(1, 0, run="another")}))
    assert not was_seen(Cursor(), Cursor({"m": place(1)}))


OPEN = ConfirmationCard(
    confirmation_id="m.1-leg.1",
    mission_id="m",
    leg_id="1-leg",
    card_type="structured-payment",
    title="Pay\u202e",
    tool="pay",
    warnings=("mind the price",),
    cancellation="until noon",
    price=FIVE,
    digest="d" * 64,
    expires_at=AT,
)


def test_a_card_is_an_interrupt_with_its_digest() -> None:
    made = card_interrupt(OPEN)

    assert made.id == OPEN.confirmation_id
    assert made.message == "Pay\\u202e for 5.50 EUR\nmind the price\nuntil noon"
    assert made.response_schema is not None
    assert made.response_schema["properties"]["digest"] == {"const": "d" * 64}
    assert made.metadata is not None
    assert made.metadata["digest"] == "d" * 64
    assert made.expires_at == AT.isoformat()


def test_a_question_is_an_interrupt_with_its_fields() -> None:
    asked = Question(
        question_id="m.1-leg.2",
        mission_id="m",
        leg_id="1-leg",
        question="Which seat?",
        fields={"seat": {"type": "string"}},
        personal=("name",),
    )
    made = question_interrupt(asked)

    assert made.response_schema == {"type": "object", "properties": {"seat": {"type": "string"}}}
    assert made.metadata == {"personal": ["name"], "isHold": False}


REJECT = Reject(confirmation_id="c", reason="no", then="skip")
AMEND = Amend(confirmation_id="c", changes={"seat": "2A"})


@pytest.mark.parametrize(
    ("payload", "decision"),
    [
        ({"decision": "approve"}, Approve(confirmation_id="c", digest="d")),
        ({"decision": "reject", "reason": "no", "then": "skip"}, REJECT),
        ({"decision": "respond", "text": "later"}, Respond(confirmation_id="c", text="later")),
        ({"decision": "amend", "changes": {"seat": "2A"}}, AMEND),
    ],
)
def test_an_answer_is_a_decision(payload: Any, decision: Any) -> None:
    assert read_card_answer({**payload, "digest": "d"}).decision_on("c") == decision


@pytest.mark.parametrize(
    "payload",
    [
        "yes",
        "approve",
        True,
        None,
        {},
        {"decision": "approve"},
        {"decision": "approve", "digest": ""},
        {"approved": True, "digest": "d"},
        {"decision": "approve", "digest": "d", "approver": "bo@example.com"},
        {"decision": "respond", "digest": "d"},
    ],
)
def test_nothing_else_decides(payload: Any) -> None:
    """Neither a word nor a nod; and nobody names themselves."""
    with pytest.raises(UsageError):
        read_card_answer(payload).decision_on("c")
