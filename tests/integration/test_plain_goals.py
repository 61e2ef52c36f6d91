"""Plain goals in every test run: what they leave behind, and what is never dropped from them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.benchmarks.goals import in_process, mutated
from tests.benchmarks.goals.in_process import Place
from tests.benchmarks.goals.models import PLAIN, load

EVERY = 3
"""One plain goal of three; `make bench BENCH="goals --part plain"` drives them all."""
CHANGED = ("unless", "for Ben", "currency", "German condition")
"""Additions that are tried here, of twenty."""


async def test_plain_goals_are_carried_out_or_asked_about() -> None:
    """None does what was not wanted or reports a part as the whole, and nine of ten end well."""
    goals = load(PLAIN, Place.today())[::EVERY]

    verdicts = await in_process.try_all(goals, in_process.rules)

    outcomes = Counter(verdict.outcome for verdict in verdicts)
    assert not [v for v in verdicts if v.outcome in ("wrong", "part as whole")]
    assert outcomes["right"] + outcomes["asked rightly"] >= 0.9 * len(goals)
    assert outcomes["needless"] <= 0.06 * len(goals)


@pytest.mark.parametrize("name", CHANGED)
async def test_what_changes_a_goal_is_never_dropped_next_to_a_consequence(name: str) -> None:
    """It is in a call, a person is asked about it, or nothing is done."""
    verdicts = await mutated.try_all(name, every=10)

    assert verdicts
    assert not [verdict for verdict in verdicts if verdict.outcome == "dropped"]
