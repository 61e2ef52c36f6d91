"""How sure the router is."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.routing.confidence import confidence_of
from orchestrator.routing.scorer import ScoreTable

FITS = 0.85


def table(best: float, runner_up: float, *, strength: float = 3.0, name: float = 0.5) -> ScoreTable:
    """Two candidates."""
    return ScoreTable(
        names=("a", "b"),
        features={"name": np.array([name, 0.0])},
        fused=np.array([best, runner_up]),
        strength=strength,
    )


def test_a_clear_lead_is_surer_than_a_tie() -> None:
    """The margin counts."""
    assert confidence_of([table(2, 0.5)], fits=FITS) > confidence_of([table(2, 2)], fits=FITS)


def test_strong_evidence_is_surer() -> None:
    """So do the words, and a name that was said."""
    weak = confidence_of([table(2, 1, strength=1)], fits=FITS)
    strong = confidence_of([table(2, 1, strength=4)], fits=FITS)
    named = confidence_of([table(2, 1, strength=4, name=1)], fits=FITS)

    assert weak < strong < named


def test_the_least_sure_clause_decides() -> None:
    """A chain is as sure as its weakest part."""
    sure, unsure = table(2, 0.5), table(2, 2, strength=1)

    assert confidence_of([sure, unsure], fits=FITS) == confidence_of([unsure], fits=FITS)


def test_where_nothing_fits_there_is_no_confidence() -> None:
    """No table, or only evidence too weak to mean anything."""
    assert confidence_of([], fits=FITS) == 0
    assert confidence_of([table(2, 0, strength=0.5)], fits=FITS) == 0


@given(st.floats(0.01, 3), st.floats(-1, 3), st.floats(0, 50), st.floats(0, 1))
def test_it_is_a_probability(best: float, other: float, strength: float, name: float) -> None:
    """In [0, 1] for any scores."""
    scored = table(best, min(best, other), strength=strength, name=name)

    assert 0 <= confidence_of([scored], fits=FITS) <= 1
