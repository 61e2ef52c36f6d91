"""The outcomes of goals, by category; see goals/README.md.

`fit`, `choose` and `judge` are driven on a whole installation, `plain` and `mutated` in process.
Each failure is shown with its reason; of the judge part only figures are shown, so that nobody
fixes by what judges. `make bench BENCH="goals --part plain"`.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console

from tests.benchmarks.figure import Figure, NothingToMeasure
from tests.benchmarks.goals import in_process, mutated
from tests.benchmarks.goals.models import MUTATED, PLAIN, THEIRS, Goal, load
from tests.benchmarks.goals.running import try_all
from tests.benchmarks.goals.verdict import OUTCOMES, Verdict

HIDDEN = "judge"
"""The part of which nothing but figures is shown."""


def run(*, part: str = HIDDEN, only: str = "", show: bool = False) -> list[Figure]:
    """Drive the goals of one part, of all categories or of those that `only` names.

    Args:
        part: fit, choose, judge, plain or mutated.
        only: a word of the category, the beginning of a goal's id, a document, or `theirs`.
        show: print goals that went right too.

    Raises:
        NothingToMeasure: no goal is like that.
    """
    if part == MUTATED:
        return asyncio.run(mutated.measure(only, show=show))
    goals = [goal for goal in load(part, datetime.now(UTC).date()) if _is_wanted(goal, only)]
    if not goals:
        raise NothingToMeasure(f"no goal of {part} has {only!r} in its category or id")
    if part == PLAIN:
        verdicts = asyncio.run(in_process.try_all(goals, in_process.rules))
    else:
        verdicts = asyncio.run(try_all(goals))
    if part != HIDDEN:
        _show(verdicts, everything=show)
    return figures(verdicts)


def figures(verdicts: Sequence[Verdict]) -> list[Figure]:
    """Count each outcome by category and in all, and the shares aimed at, ours and theirs apart."""
    categories = dict.fromkeys(verdict.goal.category for verdict in verdicts)
    rows = [(name, [v for v in verdicts if v.goal.category == name]) for name in categories]
    counted = [
        Figure(name=outcome, value=number, unit="goals", row=(name,))
        for name, found in [*rows, ("all", verdicts)]
        for outcome, number in _counts(found)
    ]
    ours = [verdict for verdict in verdicts if not verdict.goal.document]
    theirs = [verdict for verdict in verdicts if verdict.goal.document]
    parts = {"specs": ours, THEIRS: theirs} if ours and theirs else {"": verdicts}
    return counted + [
        Figure(name=name, value=100 * share, unit="% of goals", row=(part,) if part else ())
        for part, found in parts.items()
        for name, share in _shares(found).items()
    ]


def _shares(verdicts: Sequence[Verdict]) -> dict[str, float]:
    counted = Counter(verdict.outcome for verdict in verdicts)
    whole = len(verdicts)
    return {
        "right": counted["right"] / whole,
        "right or asked rightly": (counted["right"] + counted["asked rightly"]) / whole,
        "needless questions": counted["needless"] / whole,
        "wrong": counted["wrong"] / whole,
    }


def _is_wanted(goal: Goal, only: str) -> bool:
    theirs = only == THEIRS and bool(goal.document)
    return theirs or only in goal.category or goal.id.startswith(only) or only == goal.document


def _counts(verdicts: Sequence[Verdict]) -> list[tuple[str, int]]:
    counted = Counter(verdict.outcome for verdict in verdicts)
    return [(outcome, counted[outcome]) for outcome in OUTCOMES]


def _show(verdicts: Sequence[Verdict], *, everything: bool) -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    for verdict in verdicts:
        if verdict.outcome in ("right", "asked rightly") and not everything:
            continue
        console.print(f"\n{verdict.outcome.upper()}  {verdict.goal.id}: {verdict.goal.goal}")
        asked = [f"asked: {question}" for question in verdict.questions]
        for line in (verdict.why, *asked, f"{verdict.status}: {verdict.summary}"):
            if line:
                console.print(f"    {line}")
