"""How many tools to forward: the band of a request, and the K that goes with it."""

from typing import NamedTuple

from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.selection import Band

SIDE_EFFECT_FLOOR = 3
CEILING = 4


class Width(NamedTuple):
    """A number of tools, the band that asks for it, and the reason in words."""

    k: int
    band: Band
    reason: str


def adaptive_k(
    confidence: float,
    *,
    clauses: int = 1,
    is_retry: bool = False,
    is_side_effect: bool = False,
    profile: RoutingProfile | None = None,
) -> Width:
    """The width for a request.

    Args:
        confidence: that the best tool is the right one, 0 to 1.
        clauses: requests in the text that different tools answer best.
        is_retry: the last tool call failed.
        is_side_effect: a side effect is asked for, or the best tool has one.
        profile: the thresholds; the default profile's when None.

    Returns:
        crisp: 1; moderate: 2 or 3; multi_step (several requests, or a failed retry): up to 4;
        side_effect: at least 3 unless confidence is very high. The band is the one that decided.
    """
    profile = profile or RoutingProfile()
    width = _by_confidence(confidence, profile)
    if clauses > 1 or is_retry:
        reason = "the last call failed" if is_retry else f"{clauses} requests in one"
        width = Width(min(CEILING, max(width.k + 1, clauses + 1)), "multi_step", reason)
    if not is_side_effect or confidence >= profile.side_effect_sure:
        return width
    if width.band == "multi_step" and width.k >= SIDE_EFFECT_FLOOR:
        return width
    return Width(SIDE_EFFECT_FLOOR, "side_effect", f"a side effect, confidence {confidence:.2f}")


def _by_confidence(confidence: float, profile: RoutingProfile) -> Width:
    if confidence >= profile.crisp:
        return Width(1, "crisp", f"one intent, confidence {confidence:.2f}")
    if confidence >= profile.sure:
        return Width(2, "moderate", f"moderate confidence {confidence:.2f}")
    return Width(3, "moderate", f"low confidence {confidence:.2f}")
