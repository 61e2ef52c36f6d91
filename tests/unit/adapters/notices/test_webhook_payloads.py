"""What leaves in a webhook: ids and facts, and nothing personal, wherever it stands."""

import json
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.adapters.notices.webhook_payloads import MASKED, masked, payload
from orchestrator.messages.events import DecisionEvent, QuestionEvent
from orchestrator.messages.hold import Hold
from orchestrator.messages.notice import announced, failure_of
from tests.unit.adapters.notices.notices import AT, card_event, notice

PERSONAL = (
    "zephyrine.oakhollow@planted.example",
    "4111 1111 1111 1111",
    "+4930555019283",
    "DE89370400440532013000",
)


def test_a_card_is_announced_by_its_facts() -> None:
    body = json.loads(payload(notice(), link="https://inbox.example.com/cards/x"))

    assert body == {
        "type": "card.opened",
        "timestamp": "2026-11-30T12:00:00+00:00",
        "data": {
            "mission_id": "trip-1",
            "leg_id": "1-flights",
            "confirmation_id": "trip-1.1-flights.2",
            "digest": "d" * 64,
            "card_type": "structured-itinerary",
            "tool": "flight_book_offer",
            "title": "Book flight from Berlin to Lisbon",
            "agent": "flights",
            "price": {"amount": "120.50", "currency": "EUR"},
            "expires_at": "2026-11-30T13:00:00+00:00",
            "link": "https://inbox.example.com/cards/x",
        },
    }


@pytest.mark.parametrize("value", PERSONAL)
@pytest.mark.parametrize("field", ["title", "requester"])
def test_no_personal_value_of_a_card_leaves(field: str, value: str) -> None:
    """Not even one that a planner put where cards do not mask."""
    made = notice(**{field: f"Pay {value} now"})
    body = payload(made, link="").decode()

    assert value not in body
    assert not any(part in body for part in value.split() if len(part) > 3)


@pytest.mark.parametrize("value", PERSONAL)
def test_no_text_about_a_question_leaves(value: str) -> None:
    """Its text and reason are a planner's words; its fields are names, and are looked through."""
    event = QuestionEvent(
        mission_id="trip-1",
        at=AT,
        question_id="trip-1.1-flights.3",
        state="opened",
        question=f"Is {value} right?",
        why=f"because of {value}",
        fields=("seat", value),
        personal=(value,),
        hold=Hold(error=f"failed with {value}"),
    )
    made = announced(event, requester=value)
    assert made is not None
    body = payload(made, link="").decode()

    assert value not in body
    assert json.loads(body)["data"]["fields"][0] == "seat"


def test_a_decision_names_nobody_and_no_reason() -> None:
    made = announced(card_event(state="rejected"), decided_by="bo@example.com")
    assert made is not None
    body = payload(made, link="").decode()

    assert json.loads(body)["type"] == "card.decided"
    assert json.loads(body)["data"]["decision"] == "rejected"
    assert "bo@example.com" not in body
    assert "ana@example.com" not in body


def test_each_state_of_a_card_has_its_event() -> None:
    """A decision by itself is no notice: of a card with two approvers one closes nothing."""
    changes = ("opened", "reminded", "expired", "withdrawn")
    for state in (*changes, "approved", "amended", "responded"):
        made = announced(card_event(state=state))
        assert made is not None
        assert made.event == f"card.{state if state in changes else 'decided'}"
    decision: dict[str, Any] = {"confirmation_id": "m.l.1", "digest": "d", "approver": "a"}
    single = DecisionEvent(mission_id="m", at=AT, decision="approved", **decision)
    assert announced(single) is None


def test_an_event_has_one_id_and_others_have_another() -> None:
    """Read twice it is the same notice; a second reminder, or an amended card, is another."""
    same = {notice().notice_id, notice(title="read by a newer release").notice_id}
    others = {
        notice(state="reminded").notice_id,
        notice(state="reminded", at=AT + timedelta(hours=1)).notice_id,
        notice(digest="e" * 64).notice_id,
        failure_of(notice()).notice_id,
    }

    assert len(same) == 1
    assert len(same | others) == 5


def test_hidden_characters_are_shown() -> None:
    assert masked("pay\u202e evil\n") == r"pay\u202e evil\n"
    assert masked("to ana@example.com today") == f"to {MASKED} today"
