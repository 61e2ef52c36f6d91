"""The number of tools to forward: the chance that each candidate is needed, and adaptive K.

No needed tool may be left out, so the chance that the best few suffice is the product of the
chances that the others are not needed.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scoring.request_scoring import ScoredRequest, relative
from orchestrator.routing.selection import Band
from orchestrator.routing.sparse_index import Floats

SIDE_EFFECT_FLOOR = 3
CEILING = 4
LONG_CEILING = 12
"""Ceiling for more than two requests in one text, as each has candidates of its own."""
_MODERATE_CEILING = 3
CONSIDERED: Final = 16
"""The number of best candidates that may be needed."""
FEWEST: Final = 4
"""The number of widths that get a chance, however few candidates there are."""
# A logistic regression on the training halves of public routing data, each set weighted alike.
_COEFFICIENTS: Final = np.array(
    [-3.31, 0.65, 0.59, -0.81, -0.5, 1.2, 1.34, -0.28, 0.29, 1.13, 1.42, 0.55, 0.22]
)
# --- chances --------------------------------------------------------------------------------


class Needs(NamedTuple):
    """Candidates, likeliest first, with the `chances` that each is needed; (n_candidates,)."""

    names: tuple[str, ...]
    chances: Floats

    def covered(self) -> tuple[float, ...]:
        """Return the chance that the first k tools are all that is needed, for each k from 1.

        The chances never fall. They assume that some tool fits, so that at least one is needed.
        """
        if not self.names:
            return (0.0,) * FEWEST
        idle = 1 - self.chances
        others_idle = np.append(np.cumprod(idle[::-1])[::-1][1:], 1.0)
        some = 1 - np.cumprod(idle)
        chances: Floats = others_idle * some / some[-1]
        return (*chances.tolist(), *[1.0] * (FEWEST - len(chances)))


def needs_of(request: ScoredRequest, scores: Mapping[str, float]) -> Needs:
    """Return how likely a request needs each candidate; `scores` are fused scores, best first."""
    chances = 1 / (1 + np.exp(-(need_signs(request, scores) @ _COEFFICIENTS)))
    names = [*scores][:CONSIDERED]
    # Up to three clauses each get their best tool first; long texts ask less per clause.
    best = frozenset(request.winners) if len(request.winners) <= 3 else frozenset()
    order = sorted(range(len(names)), key=lambda i: (names[i] not in best, -chances[i]))
    return Needs(tuple(names[i] for i in order), chances[order])


def need_signs(request: ScoredRequest, scores: Mapping[str, float]) -> Floats:
    """Return the signs of each of the first candidates; shape (n_candidates, n_signs).

    In the order of the coefficients, after a constant:

    - level: the fused score relative to the best one's; rank, first, lead over the next
    - whole, clause: the score for the whole text and the best for any clause, each relative to the
      best tool there
    - strength, near, margin: for the clause that the candidate wins, the strength of the evidence,
      the number of word pairs that are near each other in tool and clause, and the distance of the
      second
    - several, length: the number of clauses and of words; the more of them, the more is needed
    """
    top = max(next(iter(scores.values()), 0.0), 1e-9)
    levels = [score / top for score in islice(scores.values(), CONSIDERED + 1)]
    whole = relative(request.whole) if request.whole else {}
    clauses = [(table, relative(table)) for table in request.tables if table.names]
    several, length = math.log(max(1, len(clauses))), math.log1p(request.words)
    signs = []
    for rank, name in enumerate(islice(scores, CONSIDERED)):
        level, following = (*levels[rank : rank + 2], 0.0)[:2]
        won = [(t, r) for t, r in clauses if t.names[0] == name]
        signs.append(
            (
                *(1.0, level, level**2, math.log1p(rank), float(rank == 0), level - following),
                whole.get(name, 0.0),
                max((r.get(name, 0.0) for _, r in clauses), default=0.0),
                max((min(t.strength, 4.0) for t, _ in won), default=0.0),
                max((min(float(t.features["near"][0]), 2.0) for t, _ in won), default=0.0),
                max((1 - max(0.0, *[*r.values()][1:2], 0.0) for _, r in won), default=0.0),
                *(several * level, length),
            )
        )
    return np.array(signs).reshape(-1, len(_COEFFICIENTS))


# --- widths ---------------------------------------------------------------------------------


class Width(NamedTuple):
    """A number of tools, the band that requires it, and the reason in words."""

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
    """Return the width for a request.

    Args:
        chances: the chances that the best 1, 2, 3, ... tools are all that is needed, each 0 to 1;
            never falling. The first is the confidence.
        clauses: requests in the text that different tools answer best.
        is_retry: the last tool call failed.
        is_side_effect: a side effect is requested, or the best tool has one.
        profile: the thresholds; the default profile's when None.

    Returns:
        crisp: 1; moderate: 2 or 3; multi_step (several requests, or a failed retry): up to 4, and
        for more than two requests up to 12; side_effect: 3, or 4 where a fourth is worth it, unless
        confidence is very high. The band is the one that decided.
    """
    profile = profile or RoutingProfile()
    confidence = chances[0]
    if confidence >= profile.crisp:
        width = Width(1, "crisp", f"one intent, confidence {confidence:.2f}")
    else:
        floor = 2 if confidence >= profile.unsure else _MODERATE_CEILING
        k = max(floor, worth(chances, _MODERATE_CEILING, profile))
        why = f"confidence {confidence:.2f}, {chances[k - 1]:.2f} with {k} tools"
        width = Width(k, "moderate", why)
    if is_retry:
        k = max(width.k + 1, worth(chances, CEILING, profile))
        width = Width(min(CEILING, k), "multi_step", "the last call failed")
    elif clauses > 1:
        ceiling = CEILING if clauses == 2 else LONG_CEILING
        k = max(min(clauses, _MODERATE_CEILING), worth(chances, ceiling, profile))
        width = Width(k, "multi_step", f"{clauses} requests in one")
    if not is_side_effect or confidence >= profile.side_effect_sure:
        return width
    if width.band == "multi_step":
        return width._replace(k=max(width.k, SIDE_EFFECT_FLOOR))
    k = max(SIDE_EFFECT_FLOOR, worth(chances, CEILING, profile))
    return Width(k, "side_effect", f"a side effect, confidence {confidence:.2f}")


def of_nothing(width: Width) -> Width:
    """Return the width if no tool seems to fit: the widest, since the caller may know better.

    A requested side effect keeps its band.
    """
    if width.band == "side_effect":
        return width._replace(k=CEILING)
    return Width(CEILING, "nothing_fits", "no tool seems to fit; these are the nearest")


def worth(chances: Sequence[float], ceiling: int, profile: RoutingProfile) -> int:
    """Return the number of tools, at least 2, up to which each further one adds enough.

    The gain is measured in the root of the chance: even when the chance of full coverage is small,
    raising it is worth something.
    """
    roots = [math.sqrt(chance) for chance in chances[:ceiling]]
    best = min(2, len(roots))
    while best < len(roots) and chances[best - 1] < profile.sure:
        gains = [(root - roots[best - 1]) / n for n, root in enumerate(roots[best:], start=1)]
        most = max(gains)
        if most < profile.gain:
            break
        best += gains.index(most) + 1
    return best
