"""What a clause rules out is not taken, and a limit without a currency holds."""

from datetime import UTC, datetime

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.answers import Item, read_items
from orchestrator.planning.rules.ranking import Ranking, Wish, rank_items
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def _price(amount: float) -> JsonObject:
    return {"amount": amount, "currency": "EUR"}


TABLES: list[Item] = [
    item
    for item in read_items(
        {
            "things": [
                {"n": 1, "airline": "Alba", "price": _price(40)},
                {"n": 2, "airline": "Brava", "price": _price(60)},
                {"n": 3, "airline": "Alba", "price": _price(250)},
            ]
        }
    )
    if item.label
]


def _ranked(text: str) -> Ranking:
    wish = Wish(
        utterance=read_utterance(text, now=NOW),
        stated={},
        strict=frozenset(),
        named=(),
        dull=frozenset(),
        buying=True,
    )
    return rank_items(TABLES, wish)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Book a flight, but not with Alba", [2]),
        ("Book a flight with anything but Brava", [1, 3]),
        ("Book a flight, not the cheapest", [2, 3]),
        ("Book a flight, max 50", [1]),
        ("Book a flight, but nothing over 60 EUR", [1, 2]),
        ("Book a flight for no more than 60", [1, 2]),
        ("Book a flight under fifty euros", [1]),
        ("Book a flight for no more than four", [1, 2, 3]),
    ],
)
def test_what_is_left_is_taken(text: str, taken: list[int]) -> None:
    """Of the things that bear what is ruled out none."""
    assert [item.fields["n"] for item in _ranked(text).items] == taken


def test_nothing_left_is_said() -> None:
    """All that was found is what was ruled out."""
    text = "Book a flight with anything but Alba, and not with Brava"

    assert _ranked(text).refusal == "all that was found is 'Brava', which was ruled out"


def test_what_is_ruled_out_is_no_value() -> None:
    """No input is filled with it."""
    utterance = read_utterance("Book a table in Rome, not in Milan, at 20:00", now=NOW)

    assert [slot.value for slot in utterance.of("place")] == ["Rome"]
