"""How sure the router is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.scoring.scorer import ScoreTable
from orchestrator.routing.width import (
    IN_PART,
    NOTHING,
    SIGNS,
    STATED,
    Bounds,
    chances_of,
    width_signs,
)


def table(
    *scores: float, strength: float = 3.0, coverage: float = 1.0, near: float = 1.0
) -> ScoreTable:
    """Candidates with those scores; the features are those of all of them."""
    return ScoreTable(
        names=tuple(f"tool_{number}" for number in range(len(scores))),
        features={
            "coverage": np.full(len(scores), coverage),
            "near": np.full(len(scores), near),
        },
        fused=np.array(scores),
        strength=strength,
    )


def chances(*tables: ScoreTable, requests: int = 1) -> tuple[float, ...]:
    """Of clauses, the first of which is the whole as well."""
    scores = tables[0].fused.tolist() if tables else []
    signs = width_signs(scores, tables, requests=requests, words=5)
    return chances_of(signs, tables)


def test_a_clear_lead_is_surer_than_a_tie() -> None:
    """What is left out counts, and at each width what that one leaves out."""
    lead, tie = chances(table(2, 0.5, 0.4)), chances(table(2, 2, 0.4))

    assert lead[0] > tie[0]
    assert tie[1] - tie[0] > lead[1] - lead[0]


@pytest.mark.parametrize(
    "better",
    [{"strength": 4.0}, {"coverage": 1.0}, {"near": 2.0}],
    ids=["strength", "coverage", "near"],
)
def test_stronger_evidence_is_surer(better: dict[str, float]) -> None:
    """So do the words, how many are known to the best tool, and those that meet."""
    plain = {"strength": 2.0, "coverage": 0.5, "near": 0.5}

    assert chances(table(2, 1, **{**plain, **better}))[0] > chances(table(2, 1, **plain))[0]


def test_the_least_sure_clause_decides() -> None:
    """A chain is as sure as its weakest part."""
    sure, unsure = table(2, 0.5), table(2, 0.5, strength=1)

    assert chances(sure, unsure) == chances(unsure, unsure)
    assert chances(sure, unsure)[0] < chances(sure, sure)[0]


def test_more_requests_than_tools_are_unlikely_to_be_served() -> None:
    """Two requests need two tools."""
    one, two = chances(table(2, 1.8, 0.1)), chances(table(2, 1.8, 0.1), requests=2)

    assert two[0] < one[0]
    assert two[1] - two[0] > one[1] - one[0]


def test_where_nothing_fits_there_is_no_confidence() -> None:
    """No table, no candidate, or nothing said of any."""
    told = table(2, 0.5)
    signs = width_signs(told.fused.tolist(), [told], requests=1, words=5)

    assert chances()[0] == 0
    assert chances(table())[0] == 0
    assert chances_of(signs, [told], NOTHING)[0] == 0


def test_what_the_words_say_bounds_the_confidence() -> None:
    """A name that is said whole is enough for it; a word of one is not."""
    sure, unsure = table(2, 0.1), table(2, 1.9, strength=0.5)

    def confidence(told: ScoreTable, bounds: Bounds) -> float:
        signs = width_signs(told.fused.tolist(), [told], requests=1, words=5)
        return chances_of(signs, [told], bounds)[0]

    profile = RoutingProfile()
    assert profile.crisp <= confidence(unsure, STATED) < profile.side_effect_sure
    assert 0 < confidence(sure, IN_PART) < profile.crisp < confidence(sure, Bounds())


@given(
    st.lists(st.floats(-1, 3), max_size=6).map(lambda s: sorted(s, reverse=True)),
    st.floats(0, 50),
    st.floats(0, 1),
    st.integers(1, 9),
)
def test_they_are_probabilities_that_never_fall(
    scores: list[float], strength: float, coverage: float, requests: int
) -> None:
    """In [0, 1] for any scores; one sign of each kind for each width."""
    scored = table(*scores, strength=strength, coverage=coverage)
    signs = width_signs(scores, [scored], requests=requests, words=3)
    found = chances_of(signs, [scored])

    assert signs.shape == (4, len(SIGNS))
    assert list(found) == sorted(found)
    assert all(0 <= chance <= 1 for chance in found)
