"""How likely candidates are needed, and how sure the router is that nothing is left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.intent import IntentFrame
from orchestrator.routing.needs import CONSIDERED, FEWEST, SIGNS, Needs, need_signs, needs_of
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scoring.request_scoring import ScoredRequest, merged
from orchestrator.routing.scoring.scorer import ScoreTable
from orchestrator.routing.width import IN_PART, NOTHING, STATED, Bounds, bounded


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
    return ScoredRequest(IntentFrame(), (), (), whole, parts)


def confidence(scored: ScoredRequest) -> float:
    """The chance that the first tool is all that is needed."""
    return needs_of(scored, merged(scored)).covered()[0]


def test_a_clear_lead_is_surer_than_a_tie() -> None:
    """What is left out counts."""
    lead, tie = request(table(2, 0.5, 0.4)), request(table(2, 2, 0.4))

    assert confidence(lead) > confidence(tie)


def test_stronger_evidence_is_surer() -> None:
    """A tool of which the words hardly speak is hardly needed."""
    assert confidence(request(table(2, 1))) > confidence(request(table(2, 1, strength=0.5)))


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
    nothing = ScoredRequest(IntentFrame(), (), (), None, ())

    assert need_signs(nothing, {}).shape == (0, len(SIGNS))
    assert needs_of(nothing, {}).covered() == (0.0,) * FEWEST


def test_what_the_words_say_bounds_the_confidence() -> None:
    """A name that is said whole is enough for it; a word of one is not; nothing is nothing."""
    sure, unsure, profile = (0.95, 0.97), (0.2, 0.9), RoutingProfile()

    assert profile.crisp <= bounded(unsure, 1.0, STATED)[0] < profile.side_effect_sure
    assert 0 < bounded(sure, 1.0, IN_PART)[0] < profile.crisp <= bounded(sure, 1.0, Bounds())[0]
    assert bounded(sure, 1.0, NOTHING) == (0.0, 0.97)
    assert bounded((0.9, 0.95), 0.5, STATED) == (0.85, 0.95)
