"""How long a compensation is tried: outages of minutes, requests to wait, and an end to both."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.compensation_limits import LONGEST_DEFERRAL, LONGEST_DEFERRAL_PAUSE, SPREAD
from orchestrator.saga.outcome import CompensationFailure
from orchestrator.saga.retry_policy import CompensationRetries, pause_after

DOWN = CompensationFailure(reason="HTTP 500")
PUT = CompensationFailure(reason="HTTP 429", counts=False)
failures = st.builds(
    CompensationFailure,
    reason=st.just("no"),
    counts=st.booleans(),
    retry_after_s=st.none() | st.floats(0, 1e12),
)


def pauses(retries: CompensationRetries, failure: CompensationFailure) -> list[timedelta]:
    """The pauses that it makes until it is spent."""
    made = []
    while not (retries := retries.after(failure)).exhausted:
        made.append(retries.pause)
    return made


@pytest.mark.parametrize("most", [2, 3, 4, 5, 8, 10, 60, 5000])
def test_an_outage_of_minutes_does_not_use_up_the_attempts(most: int) -> None:
    """However few they are, the last comes minutes after the first, and each pause is longer."""
    made = pauses(CompensationRetries(max_attempts=most), DOWN)

    assert made == [pause_after(attempt, most) for attempt in range(1, most)]
    assert len(made) == most - 1
    assert sum(made, timedelta()) >= SPREAD - timedelta(seconds=1)
    assert all(earlier <= later for earlier, later in pairwise(made))
    assert made[0] <= timedelta(seconds=1) or most == 2


@pytest.mark.parametrize(("most", "made"), [(1, 0), (2, 1), (10, 2), (60, 2)])
def test_an_answer_that_says_no_is_asked_for_again_only_a_few_times(most: int, made: int) -> None:
    """And soon: under one key a provider may repeat it for ever, and a person can help."""
    doubted = DOWN.model_copy(update={"doubted": True})
    found = pauses(CompensationRetries(max_attempts=most), doubted)

    assert len(found) == made
    assert sum(found, timedelta()) <= timedelta(seconds=10)


def test_what_was_put_off_uses_up_no_attempt() -> None:
    """A provider that asks to wait is waited for; then all attempts are still there."""
    retries = CompensationRetries(max_attempts=2)
    for _ in range(5):
        retries = retries.after(PUT)

    assert retries.attempts == 0
    assert not retries.after(DOWN).exhausted


def test_a_provider_that_puts_off_for_ever_is_not_waited_for_for_ever() -> None:
    """It is asked every minute, and after a quarter of an hour it is an operator's."""
    made = pauses(CompensationRetries(max_attempts=3), PUT)

    assert LONGEST_DEFERRAL / 2 < sum(made, timedelta()) <= LONGEST_DEFERRAL
    assert max(made) == LONGEST_DEFERRAL_PAUSE


@pytest.mark.parametrize("failure", [DOWN, PUT], ids=["an error", "a request to wait"])
def test_the_provider_says_how_long(failure: CompensationFailure) -> None:
    """Retry-After is kept to, and what is longer than the retries ends it at once."""
    retries = CompensationRetries(max_attempts=5)
    asked = failure.model_copy(update={"retry_after_s": 90})
    too_long = failure.model_copy(update={"retry_after_s": 86_400})

    assert retries.after(asked).pause == timedelta(seconds=90)
    assert "asks for 86400 s" in retries.after(too_long).exhausted


def test_what_cannot_end_otherwise_is_not_repeated() -> None:
    """A final failure says why in its own words; a contract of one attempt gets one."""
    final = CompensationFailure(reason="no such contract", final=True)

    assert CompensationRetries(max_attempts=10).after(final).exhausted == "no such contract"
    assert pauses(CompensationRetries(max_attempts=1), DOWN) == []


@given(st.integers(1, 100), st.lists(failures, min_size=1, max_size=40))
def test_it_is_always_bounded(most: int, met: list[CompensationFailure]) -> None:
    """Whatever fails in whatever order, attempts and waiting stay within their limits."""
    retries = CompensationRetries(max_attempts=most)
    for failure in met:
        retries = retries.after(failure)
        if retries.exhausted:
            break
        assert timedelta(0) < retries.pause <= LONGEST_DEFERRAL
        assert retries.attempts < most
        assert retries.waited <= LONGEST_DEFERRAL
