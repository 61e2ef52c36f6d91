"""Limits of senders, by a clock of the test."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from starlette.requests import Request
from starlette.types import Message

from orchestrator.web.problem_details import ProblemError
from orchestrator.web.request_limits import TokenBuckets, body_problem, read_body


class Clock:
    """A clock that moves when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("headers", "pause_s", "status"),
    [([], 0.0, 413), ([(b"content-length", b"9" * 30)], 60.0, 413), ([], 60.0, 408)],
)
async def test_a_body_is_bounded_in_size_and_time(
    headers: list[tuple[bytes, bytes]], pause_s: float, status: int
) -> None:
    """A stated size is refused before anything is read."""

    async def receive() -> Message:
        await asyncio.sleep(pause_s)
        return {"type": "http.request", "body": b"x" * 60, "more_body": True}

    request = Request({"type": "http", "headers": headers}, receive)
    with pytest.raises(ProblemError) as refused:
        await read_body(request, most=100, within_s=0.05)
    assert refused.value.problem.status == status


def test_a_burst_is_taken_and_then_one_token_after_the_other() -> None:
    clock = Clock()
    buckets = TokenBuckets(rate=2, burst=3, clock=clock)

    assert [buckets.take("ann") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("bo") == 0
    clock.now += 0.5
    assert buckets.take("ann") == 0
    assert buckets.take("ann") == 0.5
    clock.now += 1_000  # a full bucket holds no more than its burst
    assert [buckets.take("ann") for _ in range(4)] == [0, 0, 0, 0.5]


def test_senders_are_remembered_in_bounded_number() -> None:
    """The one that was idle longest is forgotten, so that many addresses fill no memory."""
    buckets = TokenBuckets(rate=0.001, burst=1, clock=Clock(), most_keys=100)
    buckets.take("ann")
    for number in range(99):
        buckets.take(str(number))
    assert buckets.take("ann") > 0
    for number in range(1_000):
        buckets.take(f"other {number}")
    assert len(buckets) == 100
    assert buckets.take("ann") == 0


@given(st.lists(st.floats(min_value=0, max_value=10), max_size=100))
def test_no_more_is_taken_than_burst_and_rate_allow(pauses: list[float]) -> None:
    clock = Clock()
    buckets = TokenBuckets(rate=2, burst=5, clock=clock)
    taken = 0
    for pause in pauses:
        clock.now += pause
        taken += buckets.take("ann") == 0

    assert taken <= 5 + 2 * clock.now + 1e-6


def nested(levels: int) -> JsonValue:
    value: JsonValue = 1
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "is_refused"),
    [
        (nested(7), False),
        (nested(8), True),
        (nested(100_000), True),
        ({"a": [1, "x", None, 2.5]}, False),
        ({"a": [float("inf")]}, True),
        ({"a": {"b": float("nan")}}, True),
    ],
    ids=["shallow", "deep", "very deep", "plain", "infinite", "not a number"],
)
def test_what_a_body_may_be(value: JsonValue, is_refused: bool) -> None:
    assert bool(body_problem(value, depth=8)) is is_refused
