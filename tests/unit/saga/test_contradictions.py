"""The closed rule for answers that contradict their status, where a cancel is concerned."""

from typing import Any

import pytest

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
    ],
    ids=["same", "same thing", "another thing", "changed", "the state sent", "none before"],
)
def test_what_shows_as_before_is_doubted(made: Any, answer: Any, names: Any, says: str) -> None:
    """A state that the cancel itself sets shows nothing."""
    found = still_as_made(made, answer, names)

    assert (found is not None) is bool(says)
    assert says in (found or "")
