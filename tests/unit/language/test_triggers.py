"""Trigger words."""

from datetime import datetime

import pytest

from orchestrator.language.triggers import find_triggers
from orchestrator.language.values import find_values
from orchestrator.language.word_lists import WordLists

NOW = datetime(2026, 11, 23, 9)
KINDS = (
    *("condition", "correction", "exception", "negation", "back_reference"),
    *("relative_event", "range", "other_account", "maybe"),
)
ENTRIES = [(kind, line) for kind in KINDS for line in WordLists("triggers").lines(kind)]


def _kinds(text: str) -> list[str]:
    return [t.kind for t in find_triggers(text, values=find_values(text, now=NOW))]


@pytest.mark.parametrize(("kind", "entry"), ENTRIES)
def test_each_entry_is_found_in_a_request(kind: str, entry: str) -> None:
    """Every entry of the list is recognised with its kind, in any case of letters."""
    words = entry.replace("#", "2").replace("@", "Friday")

    assert kind in _kinds(f"Book a table for {words} people")
    assert kind in _kinds(f"{words.capitalize()} people, book a table")


def test_the_list_is_short() -> None:
    """The list is closed at 120 entries, each once."""
    assert len({entry for _, entry in ENTRIES}) == len(ENTRIES) <= 120


@pytest.mark.parametrize(
    "text",
    ["Book a table for 4 in Lisbon on 6 December at 20:00", "Book a room from 6 to 8 December",
     "List flights up to 90 EUR after the 6th", "Check if LH2034 is on time",
     "Is it raining in Rome?", "Get order no. 4711 the day after tomorrow",
     'Post "if it rains, never mind" to #general', "Create a note called Plan B or nothing",
     "Notify everybody in the notebook"],
)  # fmt: skip
def test_a_plain_request_has_no_trigger(text: str) -> None:
    """Values, quoted texts and longer words trigger nothing."""
    assert _kinds(text) == []
