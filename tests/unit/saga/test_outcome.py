"""The table of outcomes: what a status says about whether a call happened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.saga.outcome import classify


@given(st.integers(200, 299))
def test_a_2xx_happened(status: int) -> None:
    """Whatever its body holds."""
    assert classify(status) == "succeeded"


@given(st.integers(500, 599))
def test_a_5xx_may_have_happened(status: int) -> None:
    """The provider failed at some point; which one, it does not say."""
    assert classify(status) == "unknown"


@given(st.integers(300, 499).filter(lambda status: status not in (408, 425, 429)))
def test_a_refusal_did_not_happen(status: int) -> None:
    """A client error, or a redirect that nobody follows, is the provider's clear no."""
    assert classify(status) == "rejected"


@pytest.mark.parametrize("status", [408, 425, 429])
def test_come_back_later_is_no_refusal(status: int) -> None:
    """A timeout of the request, too early, too many: the same call may be sent again."""
    assert classify(status) == "unknown"


def test_a_conflict_with_itself_is_no_refusal() -> None:
    """A 409 because the first attempt is still running says nothing yet; any other one does."""
    assert classify(409, in_progress=True) == "unknown"
    assert classify(409) == "rejected"
    assert classify(404, in_progress=True) == "rejected"
