"""What a person's goals come to on a whole installation, by category; see goals/README.md.

`make bench BENCH="goals --part fit"` also shows each failure, with what happened and why. Of the
judge part only figures are shown: whoever mends by it has nothing left to judge with.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console

from tests.benchmarks.figure import Figure, NothingToMeasure
from tests.benchmarks.goals.models import Goal, load
from tests.benchmarks.goals.running import try_all
from tests.benchmarks.goals.verdict import OUTCOMES, Verdict

HIDDEN = "judge"
"""The part of which nothing but figures is shown."""


def run(*, part: str = HIDDEN, only: str = "") -> list[Figure]:
    """Drive the goals of one part, of all categories or of those that `only` names.

    Args:
        part: fit, choose or judge.
        only: a word of the category, or the beginning of a goal's id.

    Raises:
        NothingToMeasure: no goal is like that.
    """
    goals = [goal for goal in load(part, datetime.now(UTC).date()) if _is_wanted(goal, only)]
    if not goals:
        raise NothingToMeasure(f"no goal of {part} has {only!r} in its category or id")
    verdicts = asyncio.run(try_all(goals))
    if part != HIDDEN:
        _show(verdicts)
    return figures(verdicts)


def figures(verdicts: Sequence[Verdict]) -> list[Figure]:
    """How often each outcome was reached, by category and in all; and the shares aimed at."""
    categories = dict.fromkeys(verdict.goal.category for verdict in verdicts)
    rows = [(name, [v for v in verdicts if v.goal.category == name]) for name in categories]
    counted = [
        Figure(name=outcome, value=number, unit="goals", row=(name,))
        for name, found in [*rows, ("all", verdicts)]
        for outcome, number in _counts(found)
    ]
    good = sum(verdict.outcome in ("right", "asked rightly") for verdict in verdicts)
    needless = sum(verdict.outcome == "needless" for verdict in verdicts)
    shares = {"right or asked rightly": good, "needless questions": needless}
    return counted + [
        Figure(name=name, value=100 * number / len(verdicts), unit="% of goals")
        for name, number in shares.items()
    ]


def _is_wanted(goal: Goal, only: str) -> bool:
    return only in goal.category or goal.id.startswith(only)


def _counts(verdicts: Sequence[Verdict]) -> list[tuple[str, int]]:
    counted = Counter(verdict.outcome for verdict in verdicts)
    return [(outcome, counted[outcome]) for outcome in OUTCOMES]


def _show(verdicts: Sequence[Verdict]) -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    for verdict in verdicts:
        if verdict.outcome == "right":
            continue
        console.print(f"\n{verdict.outcome.upper()}  {verdict.goal.id}: {verdict.goal.goal}")
        asked = [f"asked: {question}" for question in verdict.questions]
        for line in (verdict.why, *asked, f"{verdict.status}: {verdict.summary}"):
            if line:
                console.print(f"    {line}")
