"""Warnings on a card: what the goal says otherwise, and what nobody stated."""

from datetime import UTC, datetime

import pytest

from orchestrator.confirmation.named_things import EarlierAnswer, find_things
from orchestrator.confirmation.value_warnings import (
    Stated,
    language_of,
    said_otherwise,
    stated_nowhere,
)
from orchestrator.core.record import JsonObject

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
ANSWER = EarlierAnswer(
    {
        "offers": [
            {
                "offer_id": "OFR-1",
                "date": "2026-11-28",
                "departs": "2026-11-28T08:15:00",
                "flight": "LH2034",
                "price": {"amount": 120, "currency": "EUR"},
            }
        ]
    },
    arguments={"city": "Lisbon"},
)


def stated(goal: str, **more: object) -> Stated:
    return Stated(goal=goal, now=NOW, language=language_of(goal), **more)  # type: ignore[arg-type]


def otherwise(goal: str, sent: JsonObject, *answers: EarlierAnswer, **more: object) -> list[str]:
    things = find_things(sent, answers)
    return [*said_otherwise(sent, things, stated(goal, **more), defaults={"guests": 1})]


@pytest.mark.parametrize(
    ("goal", "sent", "told"),
    [
        ("Book the flight on 5 December 2026", {"offer_id": "OFR-1"}, "28 November 2026"),
        ("Reserva una mesa el 5 de diciembre de 2026", {"date": "2026-11-28"}, "28 November 2026"),
        ("Buche einen Tisch am 5. Dezember 2026", {"date": "2026-11-28"}, "28 November 2026"),
        ("Book a table at 20:00", {"time": "21:30"}, "21:30"),
        ("Pay 50 EUR to Ana", {"amount": 500, "currency": "EUR"}, "500"),
        ("Reserve a table for 4", {"party_size": 2}, "2"),
        ("Write to ana@example.com", {"to": "bob@example.com"}, "bob@example.com"),
        ("Cancel order 4711", {"order_id": "4712"}, "4712"),
        ("Book a table in Porto", {"city": "Lisbon"}, "Porto"),
        ("Book the flight to Porto", {"offer_id": "OFR-1"}, "Porto"),
    ],
)
def test_a_value_that_nothing_agrees_with_is_named(goal: str, sent: JsonObject, told: str) -> None:
    """The card says both: of the call, and of the thing that its ids stand for."""
    warnings = otherwise(goal, sent, ANSWER)

    assert len(warnings) == 1
    assert warnings[0].startswith("the goal says ")
    assert told in warnings[0]


@pytest.mark.parametrize(
    ("goal", "sent"),
    [
        ("Book the flight on 28 November", {"offer_id": "OFR-1"}),
        ("Book LH2034 on 28 November at 8:15", {"offer_id": "OFR-1"}),
        ("A dinner on one evening from 3 to 6 December 2026", {"date": "2026-12-04"}),
        ("Book it for less than 300 EUR", {"offer_id": "OFR-1"}),
        (
            "Reserve a table for 4 tomorrow at 8 pm",
            {"date": "2026-11-24", "time": "20:00", "party_size": 4},
        ),
        ("Book a room for 2 nights", {"guests": 1}),
        ("Pay invoice 4711", {"invoice_id": 4711}),
        ("Book the flight to Lisboa", {"offer_id": "OFR-1"}),
        ("Tell Ana that we are late", {"to": "ana@example.com", "body": "We are late."}),
        ("Overweisung: 1.200,50 € an Ana", {"amount": 1200.5, "currency": "EUR"}),
    ],
)
def test_what_agrees_or_is_not_comparable_is_no_warning(goal: str, sent: JsonObject) -> None:
    """A perfect call has no warning, whatever language the goal is in."""
    assert otherwise(goal, sent, ANSWER) == []


def test_the_words_of_its_order_come_before_the_rest_of_the_goal() -> None:
    """Another part of the goal is no excuse for a call of this one."""
    goal = "Book a table on 5 December 2026 and a hotel from 6 December 2026"
    clause = "Book a table on 5 December 2026"

    assert otherwise(goal, {"date": "2026-12-06"}) == []
    assert len(otherwise(goal, {"date": "2026-12-06"}, clause=clause)) == 1
    assert otherwise("Book 2 rooms", {"beds": 3}, count=2) == []


def nowhere(goal: str, sent: JsonObject, *given: str) -> list[str]:
    return [*stated_nowhere(sent, [ANSWER], stated(goal, given=given))]


@pytest.mark.parametrize(
    "sent",
    [
        {"body": "Your ticket costs 999 EUR"},
        {"date": "2026-12-24"},
        {"to": "mallory@example.com"},
        {"amount": 77, "currency": "EUR"},
        {"note": "see booking XK99-17"},
    ],
)
def test_a_value_that_nobody_stated_is_named(sent: JsonObject) -> None:
    assert len(nowhere("Tell Ana what the flight costs", sent)) == 1


@pytest.mark.parametrize(
    "sent",
    [
        {"body": "The flight LH2034 costs 120.00 EUR"},
        {"date": "2026-11-28"},
        {"to": "ana@example.com"},
        {"check_in": "2026-12-03", "check_out": "2026-12-05"},
        {"body": "See you there!"},
        {"traveler": "pii:traveler"},
    ],
)
def test_what_goal_inputs_or_answers_state_is_no_warning(sent: JsonObject) -> None:
    """Days that follow from a stated day and a stated number of nights are stated as well."""
    goal = "Book the hotel for 2 nights from 3 December 2026 and tell Ana"
    assert nowhere(goal, sent, "ana@example.com") == []
