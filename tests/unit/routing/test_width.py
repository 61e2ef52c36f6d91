"""How many tools are forwarded: chances, bands and their widths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scoring.request_scoring import ScoredRequest, merged
from orchestrator.routing.scoring.scorer import ScoreTable
from orchestrator.routing.width import (
    CEILING,
    CONSIDERED,
    FEWEST,
    SIDE_EFFECT_FLOOR,
    Needs,
    adaptive_k,
    need_signs,
    needs_of,
)


def table(*scores: float, strength: float = 3.0, near: float = 1.0, first: int = 0) -> ScoreTable:
    """Candidates with those scores, named by number from `first` on."""
    names = tuple(f"tool_{number}" for number in range(first, first + len(scores)))
    return ScoreTable(
        names=names,
        features={"near": np.full(len(scores), near)},
        fused=np.array(scores),
        strength=strength,
    )


def request(whole: ScoreTable, *parts: ScoreTable) -> ScoredRequest:
    """A request of these clauses."""
    return ScoredRequest((), (), whole, parts)


def confidence(scored: ScoredRequest) -> float:
    """The chance that the first tool is all that is needed."""
    return needs_of(scored, merged(scored)).covered()[0]


def test_a_clear_lead_and_strong_evidence_are_surer() -> None:
    """What is left out counts, and so does how much the words speak of a tool."""
    lead, tie = request(table(2, 0.5, 0.4)), request(table(2, 2, 0.4))
    weak = request(table(2, 1, strength=0.5))

    assert confidence(lead) > confidence(tie)
    assert confidence(request(table(2, 1))) > confidence(weak)


def test_the_best_of_each_clause_comes_first() -> None:
    """Whatever else the whole speaks for."""
    whole = table(2, 1.6, 1.5, 1.4, 1.0)
    scored = request(whole, table(2, 0.3), table(2, 0.3, first=4))

    assert set(needs_of(scored, merged(scored)).names[:2]) == {"tool_0", "tool_4"}


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=CONSIDERED))
def test_more_tools_are_never_less_likely_to_suffice(chances: list[float]) -> None:
    """From the first to the last, which leaves out nothing."""
    names = tuple(f"tool_{number}" for number in range(len(chances)))
    covered = Needs(names, np.array(sorted(chances, reverse=True))).covered()

    assert len(covered) == max(FEWEST, len(chances))
    assert list(covered) == sorted(covered)
    assert covered[-1] == pytest.approx(1)


def test_without_candidates_nothing_is_sure() -> None:
    """And nothing fails."""
    nothing = ScoredRequest((), (), None, ())

    assert len(need_signs(nothing, {})) == 0
    assert needs_of(nothing, {}).covered() == (0.0,) * FEWEST


CHANCES = st.lists(st.floats(0, 1), min_size=CEILING, max_size=CEILING).map(sorted)
SURE = (0.8, 0.85, 0.9, 0.9)
UNSURE = (0.2, 0.4, 0.6, 0.7)


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
    """Recall is protected while the agent recovers; a sure single intent gets one tool."""
    assert adaptive_k(SURE)[:2] == (1, "crisp")
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
