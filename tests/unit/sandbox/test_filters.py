"""Narrowing a list by the names of arguments."""

from typing import Any

import pytest

from orchestrator.sandbox.answer_composer import keep, match

ITEMS: list[dict[str, Any]] = [
    {"id": "a", "price": {"amount": 10.0, "currency": "EUR"}, "stars": 3, "severity": "minor"},
    {"id": "b", "price": {"amount": 20.0, "currency": "EUR"}, "stars": 4, "severity": "severe"},
    {"id": "c", "price": {"amount": 30.0, "currency": "EUR"}, "stars": 5, "severity": "extreme"},
]
EVENTS: list[dict[str, Any]] = [
    {"id": "a", "start_date": "2026-12-01", "end_date": "2026-12-03", "status": "confirmed"},
    {"id": "b", "start_date": "2026-12-05", "status": "cancelled"},
    {"id": "c", "start_date": "2026-12-09", "title": "Trip to Lisbon", "status": "confirmed"},
]
RANKS = {"severity": ["minor", "moderate", "severe", "extreme"]}


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ({}, "abc"),
        ({"max_price": 20}, "ab"),
        ({"max_price": 19.99}, "a"),
        ({"min_price": 20}, "bc"),
        ({"min_stars": 4}, "bc"),
        ({"max_stars": 3, "max_price": 5}, ""),
        ({"min_severity": "severe"}, "bc"),
        ({"limit": 2}, "ab"),
        ({"max_results": 1, "min_stars": 4}, "b"),
        ({"max_speed": 1}, "abc"),
    ],
)
def test_bounds(arguments: dict[str, Any], kept: str) -> None:
    """A bound compares what it names; one that names nothing narrows nothing."""
    assert "".join(item["id"] for item in keep(ITEMS, arguments, ranks=RANKS)) == kept


@pytest.mark.parametrize(
    ("arguments", "is_span", "kept"),
    [
        ({"start_date": "2026-12-05"}, False, "b"),
        ({"start_date": "2026-12-02"}, True, "abc"),
        ({"start_date": "2026-12-04", "end_date": "2026-12-06"}, True, "b"),
        ({"end_date": "2026-12-01"}, True, "a"),
        ({"event_status": "CONFIRMED"}, False, "ac"),
        ({"query": "lisbon, my trip"}, False, "c"),
        ({"query": "bon"}, False, ""),
        ({"colour": "red"}, False, "abc"),
    ],
)
def test_matches(arguments: dict[str, Any], is_span: bool, kept: str) -> None:
    """Values are compared without case, words as wholes, spans by what they touch."""
    found = match(EVENTS, arguments, is_span=is_span)

    assert "".join(item["id"] for item in found) == kept
