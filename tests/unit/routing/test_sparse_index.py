"""The sparse index against rank-bm25, the definition of BM25."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from orchestrator.routing.sparse_index import K1, Bm25Field, TermIndex, joint_field

WORDS = st.sampled_from(["book", "flight", "hotel", "car", "the", "of", "pay"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=12).filter(any)


@given(DOCUMENTS, st.lists(WORDS | st.just("unknown"), max_size=8, unique=True))
def test_scores_are_those_of_rank_bm25(corpus: list[list[str]], query: list[str]) -> None:
    """For any corpus and query, to 1e-9, terms that most documents hold included."""
    expected = BM25Okapi(corpus, k1=1.5, b=0.75).get_scores(query)

    scores = TermIndex(Bm25Field(corpus).weights).sums(dict.fromkeys(query, 1.0))

    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("corpus", [[], [[]], [[], []]])
def test_empty_catalogs_score_nothing(corpus: list[list[str]]) -> None:
    """Where the definition divides by zero, there is simply nothing to find."""
    scores = TermIndex(Bm25Field(corpus).weights).sums({"book": 1.0})

    assert scores.tolist() == [0.0] * len(corpus)


def test_unknown_terms_are_the_most_telling() -> None:
    """A word that no document holds has the highest idf."""
    field = Bm25Field([["book", "flight"], ["book", "hotel"], ["car"], ["taxi"]])

    assert field.idf("unknown") > field.idf("car") > field.idf("book")


def test_one_field_alone_is_bm25() -> None:
    """Taken as one with nothing else, a field scores as for itself, on another scale."""
    field = Bm25Field([["book", "flight", "book"], ["hotel"], ["car"], ["taxi"], ["boat"]])
    query = {"book": 1.0, "hotel": 0.5, "unknown": 1.0}

    joint = TermIndex(joint_field([field], [1.0])).sums(query) * (K1 + 1)

    np.testing.assert_allclose(joint, TermIndex(field.weights).sums(query))


def test_a_word_of_several_fields_counts_little_more_than_of_one() -> None:
    """What a second field adds saturates: two words say more than one that is said twice."""
    names = Bm25Field([["ferry"], ["ferry"], ["spa"], ["taxi"], ["vet"], ["car"]])
    texts = Bm25Field([["ferry"], ["harbour"], ["bath"], ["ride"], ["animal"], ["hire"]])

    twice, two, *others = TermIndex(joint_field([names, texts], [1.0, 1.0])).sums(
        {"ferry": 1.0, "harbour": 1.0}
    )

    assert 0 < twice < two
    assert not any(others)


ROWS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5).map(float), max_size=4), min_size=1
)
QUERY = st.dictionaries(st.sampled_from("abcx"), st.sampled_from([0.5, 1.0, 2.0]))


@given(ROWS, QUERY)
def test_sums_are_those_of_the_rows(rows: list[dict[str, float]], query: dict[str, float]) -> None:
    """Each row adds up what it holds of the query's terms; unknown terms add nothing."""
    expected = [sum(w * row.get(term, 0.0) for term, w in query.items()) for row in rows]

    assert TermIndex(rows).sums(query).tolist() == expected
