"""The clauses of a goal."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.language.goal_clauses import split_goal

PARTS = [
    "Book a table for 4 in Lisbon on 6 December at 20:00",
    "cancel order 4711",
    "list my open invoices",
    "what is the weather in Porto",
    'post "wait; then call me and cancel it" to #general',
    "pay 4.50 EUR to Dr. Haas",
    "send the plan to ana.ruiz@example.com",
    "open https://example.com/a;b",
    "find a flight between 6 and 8 December",
]
JOINTS = [". ", "; ", ", then ", " and then ", "\n", "\n2. ", "\n- ", " and ", ", and also "]


@settings(max_examples=200, deadline=None)
@given(
    parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), joint=st.sampled_from(JOINTS)
)
def test_a_goal_comes_apart_where_it_was_joined(parts: list[str], joint: str) -> None:
    """Clauses joined in any of the ways are found again, whole, with their spans."""
    goal = joint.join(parts)
    clauses = split_goal(goal)

    assert [c.text for c in clauses] == parts
    assert all(goal[c.start : c.end] == c.text for c in clauses)


@pytest.mark.parametrize(
    "goal",
    ["If it rains on Friday, cancel the table", "Find and book a flight to Rome",
     "Invite Ana and Bo to lunch", "Book a room in Rome, Italy, with breakfast and parking",
     "Get the report, which is in Rome", "Reserve a car from 6 and until 8 December"],
)  # fmt: skip
def test_one_request_is_one_clause(goal: str) -> None:
    """Conditions, lists of things and relative clauses belong to their request."""
    assert [c.text for c in split_goal(goal)] == [goal]


def test_a_noun_phrase_for_another_tool_is_a_clause() -> None:
    """The caller says which noun phrases behind "and" are of another tool."""
    goal = "weather in London and list of files"
    others = split_goal(goal, is_other=lambda clause, phrase: "files" in phrase)

    assert [c.text for c in split_goal(goal)] == [goal]
    assert [c.text for c in others] == ["weather in London", "list of files"]


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_nothing_that_says_something_is_lost(goal: str) -> None:
    """Clauses are disjoint parts of the goal in its order."""
    clauses = split_goal(goal)

    assert all(goal[c.start : c.end] == c.text for c in clauses)
    assert all(a.end <= b.start for a, b in pairwise(clauses))
