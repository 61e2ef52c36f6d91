"""Clauses, read."""

from datetime import UTC, datetime

import pytest

from orchestrator.planning.rules.utterance import read_others, read_utterance

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("order sushi in Lisbon", ("sushi",)),
        ("move the budget file to X", ("budget", "file")),
        ("add it", ()),
    ],
)
def test_the_direct_object_ends_at_a_preposition(text: str, words: tuple[str, ...]) -> None:
    """Articles and what is only pointed at are no part of it."""
    assert read_utterance(text, now=NOW).direct_object == words


def test_other_clauses_are_read_nearest_first() -> None:
    """What was said last before the clause comes before what was said earlier, or later."""
    goal = (
        "book a flight to Porto, reserve a hotel in Lisbon, rent a car"
        " and check the weather in Oslo"
    )

    others = read_others("rent a car", goal, now=NOW)

    assert [utterance.of("place")[0].value for utterance in others] == ["Lisbon", "Porto", "Oslo"]


@pytest.mark.parametrize("day", ["on 2 December", "on Friday", "on 2026-12-02"])
def test_who_writes_places_small_may_write_a_month_large(day: str) -> None:
    """A capital that English always asks for says nothing of how names are written."""
    said = read_utterance(f"any flights from berlin to rome {day}?", now=NOW)

    assert [(slot.kind, slot.value) for slot in said.of("origin", "place")] == [
        ("origin", "berlin"),
        ("place", "rome"),
    ]
