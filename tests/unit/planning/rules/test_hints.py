"""What a person asks for instead, read as more of the request."""

from datetime import UTC, datetime

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.hints import follow, wants_another
from orchestrator.planning.rules.moments import moment_of
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


def item(name: str, clock: str, amount: float, **more: object) -> Item:
    fields: JsonObject = {
        "name": name,
        "date": "2026-12-03",
        "departure": clock,
        "price": {"amount": amount, "currency": "EUR"},
        "expires_at": "2026-11-22T00:00:00Z",
        **more,  # type: ignore[dict-item]
    }
    return Item(fields=fields, own=frozenset(fields), plain=fields)


EARLY = item("Nordwind", "06:00", 70.5)
NOON = item("Atlantic", "12:00", 90.5, meal=True)
LATE = item("Southern", "20:00", 150.5, meal=True)


@pytest.mark.parametrize(
    ("hint", "left"),
    [
        ("a later flight please", [LATE]),
        ("too early", [LATE]),
        ("something earlier", [EARLY]),
        ("too late for me", [EARLY]),
        ("cheaper!", [EARLY]),
        ("that is too expensive", [EARLY]),
        ("less expensive", [EARLY]),
        ("under 100 EUR", [EARLY]),
        ("with a meal", [LATE]),
        ("Southern", [LATE]),
        ("the cheapest", [EARLY, LATE]),
    ],
)
def test_a_hint_leaves_what_it_speaks_of(hint: str, left: list[Item]) -> None:
    """Compared with what was refused: the flight at noon."""
    followed = follow(read_utterance(hint, now=NOW), [EARLY, LATE], NOON)

    assert list(followed.items) == left
    assert followed.is_read


@pytest.mark.parametrize("hint", ["qwertz", "no", "not with a meal"])
def test_what_nothing_can_be_made_of_is_known_as_such(hint: str) -> None:
    """Nothing is guessed from it; what is ruled out is not taken for what is wanted."""
    followed = follow(read_utterance(hint, now=NOW), [EARLY, LATE], NOON)

    assert not followed.is_read


def test_a_hint_that_leaves_nothing_says_so() -> None:
    """In its words."""
    followed = follow(read_utterance("a later one", now=NOW), [EARLY], NOON)

    assert followed.items == ()
    assert followed.refusal == "nothing else that was found is later, as was asked for"


def test_how_long_a_thing_is_offered_is_not_when_it_is() -> None:
    """The moment is that of the thing itself."""
    assert moment_of(NOON) == "2026-12-03T12:00"


def test_another_is_another() -> None:
    """Not the same at another time."""
    assert wants_another([read_utterance("another one at nine", now=NOW)])
    assert not wants_another([read_utterance("at nine", now=NOW)])
