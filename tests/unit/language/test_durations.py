"""Stretches of time and numbers in words."""

import pytest

from orchestrator.language.slots import read_slots


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("for an hour and a half", 90, "minutes"),
        ("for half an hour", 30, "minutes"),
        ("a half-hour call", 30, "minutes"),
        ("for three quarters of an hour", 45, "minutes"),
        ("for one and a half hours", 90, "minutes"),
        ("for 1.5 hours", 90, "minutes"),
        ("for 1h30", 90, "minutes"),
        ("for 2 hours 30 minutes", 150, "minutes"),
        ("for two hours and fifteen minutes", 135, "minutes"),
        ("for sixty minutes", 60, "minutes"),
        ("for an hour", 1, "hour"),
        ("a two-hour meeting", 2, "hour"),
        ("for two nights", 2, "nights"),
        ("for a week", 1, "week"),
        ("for the night", 1, "night"),
        ("for a fortnight", 14, "days"),
        ("for twenty-five people", 25, "people"),
        ("one hundred tickets", 100, "tickets"),
    ],
)
def test_quantities_in_words(text: str, value: int, unit: str) -> None:
    """A number of what is counted; parts of an hour in minutes."""
    (slot,) = read_slots(text, now=None)

    assert (slot.kind, slot.value, slot.hint) == ("quantity", value, unit)


@pytest.mark.parametrize("text", ["for half a day", "for two and a half days"])
def test_a_part_of_a_day_is_not_told(text: str) -> None:
    """It is seen, and has no value."""
    (slot,) = read_slots(text, now=None)

    assert (slot.kind, slot.value) == ("quantity", None)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("under a hundred and fifty euros", 150), ("two thousand five hundred USD", 2500)],
)
def test_amounts_in_words(text: str, amount: int) -> None:
    """Of several words, before a currency."""
    (slot,) = read_slots(text, now=None)

    assert isinstance(slot.value, dict)
    assert (slot.kind, slot.value["amount"]) == ("amount", amount)


@pytest.mark.parametrize("text", ["twice a day", "two three", "half of it"])
def test_what_is_no_stretch(text: str) -> None:
    """A rate, and words that are no number together."""
    assert not [s for s in read_slots(text, now=None) if s.hint in ("day", "days", "minutes")]
