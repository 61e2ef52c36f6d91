"""The bands and their widths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.routing.adaptive_k import CEILING, SIDE_EFFECT_FLOOR, adaptive_k
from orchestrator.routing.profile import RoutingProfile

CONFIDENCE = st.floats(0, 1)


def test_a_crisp_single_intent_gets_one_tool() -> None:
    """Sure, one request, nothing at stake."""
    assert adaptive_k(0.9)[:2] == (1, "crisp")


@pytest.mark.parametrize(("confidence", "k"), [(0.5, 2), (0.2, 3), (0.0, 3)])
def test_moderate_confidence_gets_two_or_three(confidence: float, k: int) -> None:
    """Room for close alternatives."""
    assert adaptive_k(confidence)[:2] == (k, "moderate")


@pytest.mark.parametrize(("clauses", "k"), [(2, 3), (3, 4), (7, 4)])
def test_several_requests_get_up_to_four(clauses: int, k: int) -> None:
    """One for each and one more, never above four."""
    assert adaptive_k(0.9, clauses=clauses)[:2] == (k, "multi_step")


def test_a_failed_call_widens() -> None:
    """Recall is protected while the agent recovers."""
    assert adaptive_k(0.2, is_retry=True)[:2] == (4, "multi_step")
    assert adaptive_k(0.9, is_retry=True).k > adaptive_k(0.9).k


def test_side_effects_get_three_unless_very_sure() -> None:
    """What leaves a trace is widened."""
    assert adaptive_k(0.9, is_side_effect=True)[:2] == (3, "side_effect")
    assert adaptive_k(0.99, is_side_effect=True)[:2] == (1, "crisp")


@given(CONFIDENCE, st.integers(1, 9), st.booleans(), st.booleans())
def test_widths_keep_their_bounds(
    confidence: float, clauses: int, is_retry: bool, is_side_effect: bool
) -> None:
    """1 to 4; side effects at least 3 below the threshold; a reason always."""
    width = adaptive_k(
        confidence, clauses=clauses, is_retry=is_retry, is_side_effect=is_side_effect
    )

    assert 1 <= width.k <= CEILING
    assert width.reason
    if is_side_effect and confidence < RoutingProfile().side_effect_sure:
        assert width.k >= SIDE_EFFECT_FLOOR


@given(CONFIDENCE, CONFIDENCE)
def test_more_confidence_never_widens(a: float, b: float) -> None:
    """K falls as confidence grows."""
    assert adaptive_k(max(a, b)).k <= adaptive_k(min(a, b)).k


def test_thresholds_are_the_profiles() -> None:
    """A calibrated profile moves the bands."""
    assert adaptive_k(0.5, profile=RoutingProfile(crisp=0.4)).band == "crisp"
