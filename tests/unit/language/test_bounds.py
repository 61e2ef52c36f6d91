"""Bounds: what the words beside an amount make of it."""

import pytest

from orchestrator.language.bounds import limit_of
from orchestrator.language.slots import find_slots


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("nothing over 15 EUR", "max"),
        ("do not spend more than 15 EUR", "max"),
        ("more than 15 EUR", "min"),
        ("not less than 15 EUR", "min"),
        ("unless it costs more than 15 EUR", "max"),
        ("unless it is under 15 EUR", "min"),
        ("15 EUR", None),
    ],
)
def test_what_is_denied_to_be_more_is_at_most_that(said: str, limit: str | None) -> None:
    """A denial turns a least into a most."""
    (amount,) = [slot for slot in find_slots(said, now=None) if slot.kind == "amount"]

    assert limit_of(said, amount) == limit
