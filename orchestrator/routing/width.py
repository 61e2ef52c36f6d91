"""How many tools to forward: the chance that the best one to four suffice, and what follows."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scoring.scorer import ScoreTable
from orchestrator.routing.selection import Band

SIDE_EFFECT_FLOOR = 3
CEILING = 4
_MODERATE_CEILING = 3
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
"""What a width's chance is read from; see `width_signs`."""

# A logistic regression on the training halves of public routing data, each set weighted alike:
# tests/benchmarks/fit_chances.py.
_COEFFICIENTS: Final = np.array(
    [0.43, 0.8, 1.16, 1.32, -2.56, 0.86, 0.68, 0.48, 0.15, -0.15, -1.28, 0.38]
)
_STRONG, _NEAR, _MANY = 4.0, 2.0, 3


def width_signs(
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


class Bounds(NamedTuple):
    """What the words of a request themselves say of how sure the router can be of one tool."""

    least: float = 0.0
    most: float = 1.0


STATED: Final = Bounds(least=0.85)
"""Of a request that says the whole name of one tool: enough for a tool that reads, and not for a
side effect without alternatives, as the words of a name are said by chance too."""
IN_PART: Final = Bounds(most=0.5)
"""Of one that little speaks for but a word of a tool's name: not enough for that tool alone."""
NOTHING: Final = Bounds(most=0.0)
_OPEN: Final = Bounds()


def chances_of(
    signs: Floats, tables: Sequence[ScoreTable], bounds: Bounds = _OPEN
) -> tuple[float, ...]:
    """The chance for each width from 1 to 4 that its tools, and what feeds them, suffice.

    Never falling with the width. The first is the router's confidence; it is 0 where nothing speaks
    for any tool.

    Args:
        signs: see `width_signs`.
        tables: one per clause.
        bounds: of the confidence.
    """
    chances = 1 / (1 + np.exp(-(signs @ _COEFFICIENTS)))
    is_told = tables and all(len(table.fused) and table.fused[0] > 0 for table in tables)
    chances[0] = min(chances[0], bounds.most) if is_told else 0.0
    return tuple(np.maximum.accumulate(np.maximum(chances, bounds.least)).tolist())


def _of_best(table: ScoreTable, feature: str) -> float:
    return float(table.features[feature][0]) if len(table.fused) else 0.0


class Width(NamedTuple):
    """A number of tools, the band that asks for it, and the reason in words."""

    k: int
    band: Band
    reason: str


def adaptive_k(
    chances: Sequence[float],
    *,
    clauses: int = 1,
    is_retry: bool = False,
    is_side_effect: bool = False,
    profile: RoutingProfile | None = None,
) -> Width:
    """The width for a request.

    Args:
        chances: that the best 1, 2, 3 and 4 tools are all that is needed, each 0 to 1; never
            falling. The first is the confidence.
        clauses: requests in the text that different tools answer best.
        is_retry: the last tool call failed.
        is_side_effect: a side effect is asked for, or the best tool has one.
        profile: the thresholds; the default profile's when None.

    Returns:
        crisp: 1; moderate: 2 or 3; multi_step (several requests, or a failed retry): up to 4;
        side_effect: 3, or 4 where a fourth is worth it, unless confidence is very high.
        The band is the one that decided.
    """
    profile = profile or RoutingProfile()
    confidence = chances[0]
    width = _single(chances, profile)
    if is_retry:
        k = max(width.k + 1, worth(chances, CEILING, profile))
        width = Width(min(CEILING, k), "multi_step", "the last call failed")
    elif clauses > 1:
        k = max(min(clauses, _MODERATE_CEILING), worth(chances, CEILING, profile))
        width = Width(k, "multi_step", f"{clauses} requests in one")
    if not is_side_effect or confidence >= profile.side_effect_sure:
        return width
    if width.band == "multi_step":
        return width._replace(k=max(width.k, SIDE_EFFECT_FLOOR))
    k = max(SIDE_EFFECT_FLOOR, worth(chances, CEILING, profile))
    return Width(k, "side_effect", f"a side effect, confidence {confidence:.2f}")


def of_nothing(width: Width, *, empty: bool) -> Width:
    """The width where no tool seems to fit: the widest, since whoever asked may know better.

    Args:
        width: for the same request if one fitted; an ordered side effect stays one.
        empty: no tool at all is wanted then.
    """
    if empty:
        return Width(0, "nothing_fits", "no tool seems to fit, and none was wanted then")
    if width.band == "side_effect":
        return width._replace(k=CEILING)
    return Width(CEILING, "nothing_fits", "no tool seems to fit; these are the nearest")


def _single(chances: Sequence[float], profile: RoutingProfile) -> Width:
    confidence = chances[0]
    if confidence >= profile.crisp:
        return Width(1, "crisp", f"one intent, confidence {confidence:.2f}")
    k = worth(chances, _MODERATE_CEILING, profile)
    return Width(k, "moderate", f"confidence {confidence:.2f}, {chances[k - 1]:.2f} with {k} tools")


def worth(chances: Sequence[float], ceiling: int, profile: RoutingProfile) -> int:
    """From 2 tools up, as many as are worth it: until they suffice, or the next adds too little."""
    for k in range(2, ceiling):
        have, more = chances[k - 1 : k + 1]
        if have >= profile.sure or more - have < profile.gain:
            return k
    return ceiling
