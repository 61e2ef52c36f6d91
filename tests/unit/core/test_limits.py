"""Limits: what is reached, what is left, and how it is told."""

from datetime import timedelta
from decimal import Decimal

import pytest
from pydantic import ValidationError

from orchestrator.core.budget import Usage
from orchestrator.core.limits import Allowance, Limits, Used, left_of_limits, out_of_time, reached

ASKED = Usage(requests=3, input_tokens=41_200, output_tokens=900, cost_usd=Decimal("0.125"))
USED = Used(usage=ASKED, tool_calls=4, steps=5)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(input_tokens=40_000), "used 41,200 of 40,000 input tokens"),
        (Limits(output_tokens=900), "used 900 of 900 output tokens"),
        (Limits(total_tokens=42_000), "used 42,100 of 42,000 tokens"),
        (Limits(requests=3), "used 3 of 3 requests to models"),
        (Limits(cost_usd=Decimal("0.10")), "used 0.125 of 0.1 USD for models"),
        (Limits(tool_calls=4), "used 4 of 4 tool calls"),
        (Limits(steps=5), "used 5 of 5 steps"),
    ],
)
def test_a_limit_that_is_reached_is_told_with_its_figure(limits: Limits, told: str) -> None:
    found = reached(limits, USED, of="the agent scout", calls=limits.tool_calls is not None)

    assert str(found) == f"the limit of the agent scout is reached: {told}"


def test_below_every_limit_all_may_go_on() -> None:
    """And without one; who has made all calls may still end."""
    wide = Limits(requests=4, input_tokens=41_201, cost_usd=Decimal("0.126"), steps=6)

    for limits in (wide, Limits(), Limits(tool_calls=4)):
        assert reached(limits, USED, of="the mission") is None
    assert reached(Limits(steps=5), USED, of="the mission", calls=True) is None


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (timedelta(minutes=61), "used 1 h 1 min of 1 h wall clock time"),
        (timedelta(hours=1), "used 1 h of 1 h wall clock time"),
        (timedelta(days=2, hours=3, minutes=4), "used 2 d 3 h of 1 h wall clock time"),
        (timedelta(minutes=59), None),
    ],
)
def test_time_runs_out(passed: timedelta, told: str | None) -> None:
    found = out_of_time(timedelta(hours=1), passed, of="each leg")

    assert (str(found) if found else None) == (
        f"the limit of each leg is reached: {told}" if told else None
    )


def test_where_two_hold_the_tighter_does() -> None:
    """Of each figure by itself; what one leaves out the other says."""
    one = Limits(requests=5, wall_clock=timedelta(hours=2), steps=7)
    other = Limits(requests=9, wall_clock=timedelta(hours=1), tool_calls=3)

    assert one.intersect(other) == other.intersect(one)
    assert one.intersect(other) == Limits(
        requests=5, wall_clock=timedelta(hours=1), tool_calls=3, steps=7
    )
    assert one.intersect(Limits()) == one


def test_what_is_left_says_whether_a_model_may_be_asked_again() -> None:
    """By what was used since, of the figures that are limited."""
    left = left_of_limits(Limits(requests=5, total_tokens=50_000, steps=5), USED)

    assert left.left == {"requests": 2, "total_tokens": 7_900, "steps": 0}
    assert not left.of_models().is_spent_by(Usage(requests=1, input_tokens=7_899))
    assert left.of_models().is_spent_by(Usage(requests=1, input_tokens=7_000, output_tokens=900))
    assert left.of_models().is_spent_by(Usage(requests=2))
    assert not Allowance().is_spent_by(ASKED)


@pytest.mark.parametrize(
    "wrong",
    [{"requests": 0}, {"cost_usd": "0"}, {"cost_usd": "NaN"}, {"wall_clock": 0}, {"steps": -1}],
)
def test_a_limit_of_nothing_is_none(wrong: dict[str, object]) -> None:
    """What may not begin needs no limit, and a figure that means nothing limits nothing."""
    with pytest.raises(ValidationError):
        Limits.model_validate(wrong)
