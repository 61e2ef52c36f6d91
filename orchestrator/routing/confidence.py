"""How sure the router is that its best tools are the right ones."""

import math
from collections.abc import Sequence

from orchestrator.routing.scorer import ScoreTable

_BIAS, _MARGIN, _STRENGTH, _NAME = -3.2, 3.9, 1.0, 1.0


def confidence_of(tables: Sequence[ScoreTable], *, fits: float) -> float:
    """The chance that every clause's best tool is all that it needs, 0 to 1.

    Grows with the lead over the runner-up, with the strength of the evidence and with the share of
    the best tool's name that was said; the least sure clause decides. The coefficients are a
    logistic regression on the training halves of public routing data, each set weighted alike.

    Args:
        tables: one per clause.
        fits: the strength of evidence below which no tool fits: there is nothing to be sure of.
    """
    return min((_of_one(table, fits) for table in tables), default=0.0)


def _of_one(table: ScoreTable, fits: float) -> float:
    if table.strength < fits or not len(table.fused) or table.fused[0] <= 0:
        return 0.0
    best = float(table.fused[0])
    runner_up = max(0.0, float(table.fused[1])) if len(table.fused) > 1 else 0.0
    logit = _BIAS + _MARGIN * (best - runner_up) / best + _STRENGTH * table.strength
    logit += _NAME * float(table.features["name"][0])
    return 1 / (1 + math.exp(-logit))
