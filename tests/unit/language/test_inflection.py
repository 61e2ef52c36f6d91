"""Inflected forms."""

import pytest

from orchestrator.language.inflection import participle, singular


@pytest.mark.parametrize(
    ("verb", "done"),
    [("file", "filed"), ("carry", "carried"), ("stop", "stopped"), ("rent", "rented"),
     ("send", "sent"), ("play", "played"), ("cancel", "cancelled")],
)  # fmt: skip
def test_participles_are_formed_by_rule_or_list(verb: str, done: str) -> None:
    """Regular verbs need no list."""
    assert participle(verb) == done


@pytest.mark.parametrize(
    ("many", "one"),
    [("offers", "offer"), ("categories", "category"), ("boxes", "box"), ("status", "status")],
)
def test_singular_names_one_of_a_list(many: str, one: str) -> None:
    """Near enough for the names of lists."""
    assert singular(many) == one
