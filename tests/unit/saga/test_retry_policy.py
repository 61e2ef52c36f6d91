"""How long an undo is tried: outages of minutes, requests to wait, and an end to both."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.saga.retry_policy import PUT_OFF, SPREAD, Patience, UndoFailure, pause_after

DOWN = UndoFailure(reason="HTTP 500")
PUT = UndoFailure(reason="HTTP 429", counts=False)
failures = st.builds(
    UndoFailure,
    reason=st.just("no"),
    counts=st.booleans(),
    retry_after_s=st.none() | st.floats(0, 1e12),
)


def pauses(patience: Patience, failure: UndoFailure) -> list[timedelta]:
    """The pauses that it makes until it is spent."""
    made = []
    while not (patience := patience.after(failure)).spent:
        made.append(patience.pause)
    return made


@pytest.mark.parametrize("most", [2, 3, 4, 5, 8, 10, 60, 5000])
def test_an_outage_of_minutes_does_not_use_up_the_attempts(most: int) -> None:
    """However few they are, the last comes minutes after the first, and each pause is longer."""
    made = pauses(Patience(most=most), DOWN)

    assert len(made) == most - 1
    assert sum(made, timedelta()) >= SPREAD - timedelta(seconds=1)
    assert all(earlier <= later for earlier, later in pairwise(made))
    assert made[0] <= timedelta(seconds=1) or most == 2


def test_a_contract_that_gives_one_attempt_gets_one() -> None:
    """Its provider may not bear a second."""
    assert pauses(Patience(most=1), DOWN) == []


def test_what_was_put_off_uses_up_no_attempt() -> None:
    """A provider that asks to wait is waited for; then all attempts are still there."""
    patience = Patience(most=2)
    for _ in range(5):
        patience = patience.after(PUT)

    assert patience.attempts == 0
    assert not patience.after(DOWN).spent


def test_a_provider_that_puts_off_for_ever_is_not_waited_for_for_ever() -> None:
    """Others wait behind it: after a quarter of an hour it is an operator's."""
    made = pauses(Patience(most=3), PUT)

    assert PUT_OFF / 2 < sum(made, timedelta()) <= PUT_OFF


@pytest.mark.parametrize("failure", [DOWN, PUT], ids=["an error", "a request to wait"])
def test_the_provider_says_how_long(failure: UndoFailure) -> None:
    """Retry-After is kept to, and what is longer than the patience ends it at once."""
    patience = Patience(most=5)
    asked = failure.model_copy(update={"retry_after_s": 90})
    too_long = failure.model_copy(update={"retry_after_s": 86_400})

    assert patience.after(asked).pause == timedelta(seconds=90)
    assert "asks for 86400 s" in patience.after(too_long).spent


def test_what_cannot_end_otherwise_is_not_repeated() -> None:
    """A final failure says why in its own words."""
    final = UndoFailure(reason="no such contract", final=True)

    assert Patience(most=10).after(final).spent == "no such contract"


@given(st.integers(1, 100), st.lists(failures, min_size=1, max_size=40))
def test_it_is_always_bounded(most: int, met: list[UndoFailure]) -> None:
    """Whatever fails in whatever order, attempts and waiting stay within their limits."""
    patience = Patience(most=most)
    for failure in met:
        patience = patience.after(failure)
        if patience.spent:
            break
        assert timedelta(0) < patience.pause <= PUT_OFF
        assert patience.attempts < most
        assert patience.waited <= PUT_OFF


@given(st.integers(2, 10_000), st.data())
def test_a_pause_is_the_same_for_ever(most: int, data: st.DataObject) -> None:
    """Workflows replay it: it follows from its arguments alone, and is a real time."""
    attempt = data.draw(st.integers(1, most - 1))

    assert pause_after(attempt, most) == pause_after(attempt, most) > timedelta(0)
