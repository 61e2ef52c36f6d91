"""How many tools to forward: what follows from the chance that the best few suffice."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.selection import Band

SIDE_EFFECT_FLOOR = 3
CEILING = 4
LONG_CEILING = 12
"""Of a request that holds more than two: of each one its own candidates."""
_MODERATE_CEILING = 3
_TWO = 2


class Bounds(NamedTuple):
    """What the words of a request themselves say of how sure the router can be of one tool."""

    least: float = 0.0
    most: float = 1.0


STATED: Final = Bounds(least=0.85)
"""Of a request that says the whole name of one tool, or one of its examples: enough for a tool that
reads, and not for a side effect without alternatives, as words are said by chance too."""
IN_PART: Final = Bounds(most=0.5)
"""Of one that little speaks for but a word of a tool's name: not enough for that tool alone."""
NOTHING: Final = Bounds(most=0.0)


def bounded(chances: Sequence[float], certainty: float, bounds: Bounds) -> tuple[float, ...]:
    """The chances that the best few suffice, the first of them, the confidence, held in bounds.

    Args:
        chances: for each width from 1; never falling.
        certainty: what the confidence is worth, 0 to 1.
        bounds: of the confidence; 0 where nothing speaks for any tool.
    """
    confidence = max(min(chances[0] * certainty, bounds.most), bounds.least)
    return (confidence, *(max(chance, confidence) for chance in chances[1:]))


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
        chances: that the best 1, 2, 3, ... tools are all that is needed, each 0 to 1; never
            falling. The first is the confidence.
        clauses: requests in the text that different tools answer best.
        is_retry: the last tool call failed.
        is_side_effect: a side effect is asked for, or the best tool has one.
        profile: the thresholds; the default profile's when None.

    Returns:
        crisp: 1; moderate: 2 or 3; multi_step (several requests, or a failed retry): up to 4, and
        for more than two requests up to 12; side_effect: 3, or 4 where a fourth is worth it, unless
        confidence is very high.
        The band is the one that decided.
    """
    profile = profile or RoutingProfile()
    confidence = chances[0]
    width = _single(chances, profile)
    if is_retry:
        k = max(width.k + 1, worth(chances, CEILING, profile))
        width = Width(min(CEILING, k), "multi_step", "the last call failed")
    elif clauses > 1:
        ceiling = CEILING if clauses == _TWO else LONG_CEILING
        k = max(min(clauses, _MODERATE_CEILING), worth(chances, ceiling, profile))
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
    floor = 2 if confidence >= profile.unsure else _MODERATE_CEILING
    k = max(floor, worth(chances, _MODERATE_CEILING, profile))
    return Width(k, "moderate", f"confidence {confidence:.2f}, {chances[k - 1]:.2f} with {k} tools")


def worth(chances: Sequence[float], ceiling: int, profile: RoutingProfile) -> int:
    """From 2 tools up, as many as are worth it: until those that follow add too little each.

    What they add is counted in the root of the chance: where there is little hope to have all, it
    is still worth something to have more of it.
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
