"""How many tools to forward: the band of a request, and the K that goes with it."""

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.selection import Band

SIDE_EFFECT_FLOOR = 3
CEILING = 4
_MODERATE_CEILING = 3


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


def _single(chances: Sequence[float], profile: RoutingProfile) -> Width:
    confidence = chances[0]
    if confidence >= profile.crisp:
        return Width(1, "crisp", f"one intent, confidence {confidence:.2f}")
    k = worth(chances, _MODERATE_CEILING, profile)
    return Width(k, "moderate", f"confidence {confidence:.2f}, {chances[k - 1]:.2f} with {k} tools")


def worth(chances: Sequence[float], ceiling: int, profile: RoutingProfile) -> int:
    """From 2 tools up, as many as are worth it: until they suffice, or the next adds too little."""
    k = 2
    while k < ceiling and chances[k - 1] < profile.sure and _gain(chances, k) >= profile.gain:
        k += 1
    return k


def _gain(chances: Sequence[float], k: int) -> float:
    return chances[k] - chances[k - 1]
