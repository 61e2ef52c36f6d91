"""Conditions: what a request makes itself depend on."""

import pytest

from orchestrator.language.intent import Action
from orchestrator.language.provisos import as_stated, bound_in, conditions_in, what_of
from orchestrator.language.slots import find_slots


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("book a table in Lisbon unless it rains", "unless it rains"),
        ("If it rains in Lisbon, book a table there", "If it rains in Lisbon"),
        ("add lunch to my calendar only if I am free", "only if I am free"),
        ("book a room unless I have one there", "unless I have one there"),
    ],
)
def test_a_condition_is_read_as_it_is_written(clause: str, condition: str) -> None:
    """With the word that makes it one, and without."""
    assert conditions_in(clause, Action.CREATE) == (condition,)
    assert what_of(condition) == condition.removeprefix("only ").split(" ", 1)[1]


@pytest.mark.parametrize(
    "clause",
    [
        "book a table if possible",
        "book a table if there is one",
        "book a flight only if it costs less than 100 EUR",
        "book a flight even if it rains",
        "see if it rains",
        "if possible add it to my calendar",
    ],
)
def test_idle_talk_and_bounds_are_none(clause: str) -> None:
    """A bound on a price is kept as that."""
    assert conditions_in(clause, Action.CREATE) == ()


def test_what_somebody_is_asked_is_none() -> None:
    """Unless it is plainly one."""
    assert conditions_in("ask Bob if he is free", Action.SEND) == ()
    assert conditions_in("message my team only if it rains", Action.SEND) == ("only if it rains",)


def test_a_number_before_a_condition_counts_what_it_counts_without_one() -> None:
    """Four people, and no table for two."""
    bare, bound = "a table at 20:00 for 4", "a table at 20:00 for 4 unless it rains"
    numbers = [
        [(s.text, s.value) for s in find_slots(text, now=None) if s.kind == "quantity"]
        for text in (bare, bound)
    ]

    assert numbers == [[("4", 4)], [("4", 4)]]


@pytest.mark.parametrize(
    ("told", "stated"),
    [
        ("it rain in Rome", "it rains in Rome"),
        ("it not rain", "it does not rain"),
        ("there be an event", "there is an event"),
        ("it not be dry", "it is not dry"),
        ("my flight be late", "my flight is late"),
    ],
)
def test_what_follows_should_is_said_as_a_sentence(told: str, stated: str) -> None:
    """As it is asked about, and looked up."""
    assert as_stated(told) == stated


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("under 150 euros take the train", "under 150 euros"),
        ("for less than 20 EUR", "for less than 20 EUR"),
        ("at 8 pm", ""),
        ("on Friday, tell Ana that it is over 20 EUR", ""),
    ],
)
def test_a_bound_ends_with_its_number(text: str, bound: str) -> None:
    """Whatever follows it."""
    assert bound_in(text) == bound
