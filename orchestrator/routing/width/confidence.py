"""How sure the router is: the chance that its best one to four tools are all it takes."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.scorer import ScoreTable
from orchestrator.routing.width.adaptive_k import CEILING

SIGNS: Final = (
    *(f"width {k}" for k in range(1, CEILING + 1)),
    "left out",
    "drop",
    "strength",
    "coverage",
    "near",
    "length",
    "beyond",
    "several",
)
"""What a width's chance is read from; see `signs_of`."""

# A logistic regression on the training halves of public routing data, each set weighted alike:
# tests/benchmarks/fit_chances.py.
_COEFFICIENTS: Final = np.array(
    [0.43, 0.8, 1.16, 1.32, -2.56, 0.86, 0.68, 0.48, 0.15, -0.15, -1.28, 0.38]
)
_STRONG, _NEAR, _MANY = 4.0, 2.0, 3


def signs_of(
    scores: Sequence[float], tables: Sequence[ScoreTable], *, requests: int, words: int
) -> Floats:
    """The signs of each width from 1 to 4; shape (4, len(SIGNS)).

    A width's own level; the score of the best tool that it leaves out and the drop to it, relative
    to the best tool's; the evidence for the best tool of the least sure clause: its strength, how
    much of the clause that tool's words cover, and how many of them meet there as in the clause;
    the length of the request; by how many requests it exceeds the width, and whether it holds
    several.

    Args:
        scores: of the candidates, best first.
        tables: one per clause.
        requests: how many different tools the clauses' best ones are.
        words: how many words of the request say something.
    """
    best = max(scores[0], 1e-9) if scores else 1.0
    relative = [max(0.0, s) / best for s in scores[: CEILING + 1]]
    relative += [0.0] * (CEILING + 1 - len(relative))
    evidence = [
        min((min(table.strength, _STRONG) for table in tables), default=0.0),
        min((_of_best(table, "coverage") for table in tables), default=0.0),
        min((min(_of_best(table, "near"), _NEAR) for table in tables), default=0.0),
        float(np.log1p(words)),
    ]
    rows = []
    for k in range(1, CEILING + 1):
        level = [float(k == width) for width in range(1, CEILING + 1)]
        beyond = min(_MANY, max(0, requests - k))
        gap = [relative[k], relative[k - 1] - relative[k]]
        rows.append([*level, *gap, *evidence, beyond, float(requests > 1)])
    return np.array(rows)


def chances_of(signs: Floats, tables: Sequence[ScoreTable], *, fits: float) -> tuple[float, ...]:
    """The chance for each width from 1 to 4 that its tools, and what feeds them, suffice.

    Never falling with the width. The first is the router's confidence; it is 0 where nothing fits.

    Args:
        signs: see `signs_of`.
        tables: one per clause.
        fits: the strength of evidence below which no tool fits: there is nothing to be sure of.
    """
    chances = np.maximum.accumulate(1 / (1 + np.exp(-(signs @ _COEFFICIENTS)))).tolist()
    if not tables or any(_is_weak(table, fits) for table in tables):
        chances[0] = 0.0
    return tuple(chances)


def _is_weak(table: ScoreTable, fits: float) -> bool:
    return table.strength < fits or not len(table.fused) or table.fused[0] <= 0


def _of_best(table: ScoreTable, feature: str) -> float:
    return float(table.features[feature][0]) if len(table.fused) else 0.0
