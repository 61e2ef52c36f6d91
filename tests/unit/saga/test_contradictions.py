"""Answers that contradict their status or their call: a state as before, another day."""

from typing import Any

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.saga.agreed_days import agreed_days, other_days
from orchestrator.saga.contradictions import still_as_made


@pytest.mark.parametrize(
    ("made", "answer", "names", "says"),
    [
        ({"status": "open"}, {"status": "open"}, {"id": "b1"}, "as before"),
        ({"status": "open"}, {"id": "b1", "status": "open"}, {"id": "b1"}, "as before"),
        ({"status": "open"}, {"id": "r9", "status": "open"}, {"id": "b1"}, ""),
        ({"status": "open"}, {"status": "cancelled"}, {"id": "b1"}, ""),
        ({"status": "ended"}, {"status": "ended"}, {"id": "b1", "status": "ended"}, ""),
        ({}, {"status": "open"}, {"id": "b1"}, ""),
        ({"status": "open"}, {"id": "b1", "status": "pending"}, {"id": "b1"}, "not say"),
        ({}, {"id": "r9", "status": "pending"}, {"id": "b1"}, ""),
        ({}, {"status": "ended", "refund": {"status": "pending"}}, {"id": "b1"}, ""),
    ],
    ids=[
        "same",
        "same thing",
        "another thing",
        "changed",
        "the state that was sent",
        "none before",
        "unfinished",
        "an unfinished refund",
        "of a part",
    ],
)
def test_what_shows_as_before_is_doubted(made: Any, answer: Any, names: Any, says: str) -> None:
    """A state that the cancel itself sets shows nothing."""
    found = still_as_made(made, answer, names)

    assert (found is not None) is bool(says)
    assert says in (found or "")


SEARCH: JsonObject = {"town": "Delft", "date": "2027-03-01"}
OFFER: JsonObject = {"slot_id": "s1", "date": "2027-03-01", "expires_at": "2026-12-01T10:00:00Z"}


def test_what_was_asked_for_is_agreed() -> None:
    """By the search, the offer and the call itself, which may move it; not when it expires."""
    assert agreed_days({"slot_id": "s1"}, [(OFFER, SEARCH)]) == {"date": "2027-03-01"}
    assert agreed_days({"day": "2027-03-02", "note": "2027"}, []) == {"day": "2027-03-02"}
    assert other_days({"date": "2027-03-01"}, {"to": "2027-03-05"}, {"date": "2027-03-05"}) == ()


@pytest.mark.parametrize(
    ("agreed", "answered", "is_other"),
    [
        ("2027-03-01", "2027-03-01", False),
        ("2027-03-01", "2027-03-02", True),
        ("2027-03-01", "2027-03-01T20:00:00", False),
        ("2027-03-01T20:00", "2027-03-02T20:00", True),
        # One moment, in two zones.
        ("2027-03-01T23:30:00-05:00", "2027-03-02T04:30:00Z", False),
        ("2027-03-01T23:30:00-05:00", "2027-03-02T23:30:00-05:00", True),
        # Whose zone is meant, nobody says.
        ("2027-03-01", "2027-02-28T23:00:00Z", False),
        ("2027-03-01", "2027-09-09T23:00:00Z", True),
        ("2027-03-01", "2027-02-30", False),
        ("2027-03-01", "soon", False),
        ("2027-03-01", None, False),
    ],
)
@pytest.mark.parametrize("wrapped", [True, False])
def test_another_day_is_told(agreed: str, answered: Any, is_other: bool, wrapped: bool) -> None:
    """Whatever may be the same is taken for the same."""
    said: JsonObject = {"id": "r1", "date": answered}
    body: JsonObject = {"reservation": said} if wrapped else said
    told = other_days({"date": agreed}, {}, body)

    assert told == ((f"date is {answered}, not {agreed}",) if is_other else ())
