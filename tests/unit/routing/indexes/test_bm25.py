"""The sparse index against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from orchestrator.routing.indexes.bm25 import SparseBm25, joint_index

WORDS = st.sampled_from(["book", "flight", "hotel", "car", "the", "of", "pay"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=12).filter(any)


@given(DOCUMENTS, st.lists(WORDS | st.just("unknown"), max_size=8))
def test_scores_are_those_of_rank_bm25(corpus: list[list[str]], query: list[str]) -> None:
    """For any corpus and query, to 1e-9, terms that most documents hold included."""
    expected = BM25Okapi(corpus).get_scores(query)

    np.testing.assert_allclose(SparseBm25(corpus).scores(query), expected, rtol=0, atol=1e-9)


@given(DOCUMENTS, st.floats(0.1, 3), st.floats(0, 1), st.floats(0, 1))
def test_parameters_mean_what_they_mean_there(
    corpus: list[list[str]], k1: float, b: float, epsilon: float
) -> None:
    """k1, b and epsilon are rank_bm25's own."""
    query = ["flight", "the", "flight"]
    with np.errstate(all="ignore"):  # with b of 1 it divides by 0 for an empty document
        expected = BM25Okapi(corpus, k1=k1, b=b, epsilon=epsilon).get_scores(query)

    ours = SparseBm25(corpus, k1=k1, b=b, epsilon=epsilon).scores(query)

    np.testing.assert_allclose(ours, np.nan_to_num(expected), rtol=0, atol=1e-9)


@pytest.mark.parametrize("corpus", [[], [[]], [[], []]])
def test_empty_catalogs_score_nothing(corpus: list[list[str]]) -> None:
    """Where the definition divides by zero, there is simply nothing to find."""
    assert SparseBm25(corpus).scores(["book"]).tolist() == [0.0] * len(corpus)


def test_a_term_may_count_for_a_part() -> None:
    """A weight of two is a term asked twice; a weight of a half, half of it."""
    index = SparseBm25([["book", "flight"], ["hotel"], ["car"]])

    np.testing.assert_allclose(index.index.sums({"book": 2.0}), index.scores(["book"] * 2))
    np.testing.assert_allclose(index.index.sums({"book": 0.5}), index.scores(["book"]) / 2)


def test_unknown_terms_are_the_most_telling() -> None:
    """A word that no document holds has the highest idf."""
    index = SparseBm25([["book", "flight"], ["book", "hotel"], ["car"], ["taxi"]])

    assert index.idf("unknown") > index.idf("car") > index.idf("book")


def test_one_field_alone_is_bm25() -> None:
    """Taken as one with nothing else, a field scores as for itself, on another scale."""
    field = SparseBm25([["book", "flight", "book"], ["hotel"], ["car"], ["taxi"], ["boat"]])
    query = {"book": 1.0, "hotel": 0.5, "unknown": 1.0}

    joint = joint_index([field], [1.0]).sums(query) * (field.k1 + 1)

    np.testing.assert_allclose(joint, field.index.sums(query))


def test_a_word_of_several_fields_counts_little_more_than_of_one() -> None:
    """What a second field adds saturates: two words say more than one that is said twice."""
    names = SparseBm25([["ferry"], ["ferry"], ["spa"], ["taxi"], ["vet"], ["car"]])
    texts = SparseBm25([["ferry"], ["harbour"], ["bath"], ["ride"], ["animal"], ["hire"]])

    twice, two, *others = joint_index([names, texts], [1.0, 1.0]).sums(
        {"ferry": 1.0, "harbour": 1.0}
    )

    assert 0 < twice < two
    assert not any(others)


@pytest.mark.parametrize("share", [0.0, -1.0])
def test_a_field_without_a_share_adds_nothing(share: float) -> None:
    """Whatever weight a profile gives it."""
    names = SparseBm25([["ferry"], ["spa"], ["taxi"]])
    texts = SparseBm25([["boat"], ["bath"], ["ride"]])

    assert not joint_index([names, texts], [1.0, share]).sums({"boat": 1.0}).any()
