"""The bands and their widths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.width import CEILING, SIDE_EFFECT_FLOOR, adaptive_k

CHANCES = st.lists(st.floats(0, 1), min_size=CEILING, max_size=CEILING).map(sorted)
SURE = (0.8, 0.85, 0.9, 0.9)
UNSURE = (0.2, 0.4, 0.6, 0.7)


def test_a_crisp_single_intent_gets_one_tool() -> None:
    """Sure, one request, nothing at stake."""
    assert adaptive_k(SURE)[:2] == (1, "crisp")


@pytest.mark.parametrize(
    ("chances", "k"),
    [
        ((0.6, 0.85, 0.9, 1), 2),
        ((0.6, 0.62, 0.63, 0.64), 2),
        ((0.6, 0.7, 0.85, 0.9), 3),
        ((0.3, 0.9, 0.9, 0.9), 3),
        ((0, 0.2, 0.4, 0.9), 3),
    ],
    ids=["two suffice", "a third would add nothing", "a third helps", "unsure", "never a fourth"],
)
def test_moderate_confidence_gets_two_or_three(chances: tuple[float, ...], k: int) -> None:
    """Room for close alternatives, where there are any."""
    assert adaptive_k(chances)[:2] == (k, "moderate")


@pytest.mark.parametrize(
    ("clauses", "chances", "k"),
    [
        (2, (0.1, 0.9, 0.92, 0.95), 2),
        (2, (0.1, 0.5, 0.6, 0.63), 3),
        (2, (0.1, 0.4, 0.55, 0.7, 0.8, 0.9), 4),
        (3, (0.1, 0.4, 0.55, 0.7, 0.8, 0.9), 6),
        (7, (0, 0.01, 0.01, 0.01), 3),
        (7, tuple((number / 16) ** 2 for number in range(1, 17)), 12),
    ],
)
def test_several_requests_get_up_to_four(clauses: int, chances: tuple[float, ...], k: int) -> None:
    """One for each up to three, and more while they help: above four where there are more."""
    assert adaptive_k(chances, clauses=clauses)[:2] == (k, "multi_step")


def test_a_failed_call_widens() -> None:
    """Recall is protected while the agent recovers."""
    assert adaptive_k(UNSURE, is_retry=True)[:2] == (4, "multi_step")
    assert adaptive_k(SURE, is_retry=True).k > adaptive_k(SURE).k


def test_side_effects_get_three_unless_very_sure() -> None:
    """What leaves a trace is widened, and most where a fourth tool helps."""
    assert adaptive_k(SURE, is_side_effect=True)[:2] == (3, "side_effect")
    assert adaptive_k(UNSURE, is_side_effect=True)[:2] == (4, "side_effect")
    assert adaptive_k((0.1, 0.2, 0.3, 0.31), is_side_effect=True)[:2] == (3, "side_effect")
    assert adaptive_k((0.95, 1, 1, 1), is_side_effect=True)[:2] == (1, "crisp")


@given(CHANCES, st.integers(1, 9), st.booleans(), st.booleans())
def test_widths_keep_their_bounds(
    chances: list[float], clauses: int, is_retry: bool, is_side_effect: bool
) -> None:
    """1 to 4; side effects at least 3 below the threshold; a reason always."""
    width = adaptive_k(chances, clauses=clauses, is_retry=is_retry, is_side_effect=is_side_effect)

    assert 1 <= width.k <= CEILING  # of no more chances
    assert width.reason
    if width.band == "moderate":
        assert 2 <= width.k <= 3
    if is_side_effect and chances[0] < RoutingProfile().side_effect_sure:
        assert width.k >= SIDE_EFFECT_FLOOR


@given(CHANCES)
def test_only_confidence_makes_a_request_crisp(chances: list[float]) -> None:
    """However little more tools would help."""
    assert (adaptive_k(chances).band == "crisp") == (chances[0] >= RoutingProfile().crisp)


def test_thresholds_are_the_profiles() -> None:
    """A calibrated profile moves the bands."""
    assert adaptive_k(UNSURE, profile=RoutingProfile(crisp=0.2)).band == "crisp"
    assert adaptive_k(UNSURE, profile=RoutingProfile(unsure=0.1, sure=0.4)).k == 2
    assert adaptive_k(UNSURE, profile=RoutingProfile(unsure=0.1, gain=0.3)).k == 2
