"""What a text says, thing by thing."""

from datetime import UTC, datetime

import pytest

from orchestrator.planning.accounting.things_said import things_said

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def said(text: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in things_said(text, now=NOW)]


def test_a_clause_says_its_verb_its_object_and_its_values() -> None:
    """What the closed words of English and politeness say is nothing."""
    assert said("Could you please book me a table for four in Oslo on 2026-12-04 at 20:00?") == [
        ("verb", "book"),
        ("thing", "table"),
        ("count", "four"),
        ("place", "Oslo"),
        ("date", "2026-12-04"),
        ("time", "20:00"),
    ]


def test_values_are_read() -> None:
    """As the planners read them."""
    (*_, day, amount) = things_said("Book a room in Oslo tomorrow under 200 EUR", now=NOW)

    assert (day.value, day.kind) == ("2026-11-24", "date")
    assert amount.value == {"amount": 200, "currency": "EUR"}
    assert amount.hint == "under"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tell Bo I can't come", "I can't come"),
        ("let the team know that the dinner is not booked", "that the dinner is not booked"),
        ('Send "no dinner" to anna@example.com', '"no dinner"'),
        ("remind me to pay the rent", "to pay the rent"),
    ],
)
def test_what_somebody_is_told_is_one_text(text: str, told: str) -> None:
    """With its negations, verbs and values."""
    texts = [one.text for one in things_said(text, now=NOW) if one.is_text]

    assert texts == [told]
    assert not any(kind == "negation" for kind, _ in said(text))


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("Book a flight to Rome but not on Friday", "negation", "not on Friday"),
        ("Book a table for 2-3 people in Rome", "count", "2-3 people"),
        ("Book a room in Rome, 4-6 December", "date", "6 December"),
        ("Book a room without breakfast for 3 nights", "negation", "without breakfast"),
        ("Cancel all my bookings except the hotel", "negation", "except the hotel"),
        ("Cancel all my bookings except the hotel", "count", "all"),
        ("Book a car in Rome, otherwise a taxi", "condition", "otherwise a taxi"),
        ("Book a table for two tomorrow unless it rains", "condition", "unless it rains"),
        ("Book a room near the station in Rome", "quality", "near the station"),
        ("Find flights to Rome. Don't book anything", "negation", "Don't book anything"),
    ],
)
def test_what_changes_an_order_is_a_thing_of_its_own(text: str, kind: str, words: str) -> None:
    """A negation with what it denies, a condition, a quality."""
    assert (kind, words) in said(text)


def test_what_bounds_the_price_of_it_is_no_quality() -> None:
    """The amount says all of it."""
    told = said("Book a room in Porto on 2026-12-08 if it costs less than 500 EUR")

    assert told[-1] == ("amount", "500 EUR")
    assert not [text for kind, text in told if kind == "quality"]
    assert said("Book a room in Porto; otherwise let me know")[3:] == []
