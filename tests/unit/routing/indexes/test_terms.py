"""Sums over sparse terms."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.routing.indexes.terms import TermIndex

ROWS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5).map(float), max_size=4), min_size=1
)
QUERY = st.dictionaries(st.sampled_from("abcx"), st.sampled_from([0.5, 1.0, 2.0]))


@given(ROWS, QUERY)
def test_sums_are_those_of_the_rows(rows: list[dict[str, float]], query: dict[str, float]) -> None:
    """Each row adds up what it holds of the query's terms; unknown terms add nothing."""
    expected = [sum(w * row.get(term, 0.0) for term, w in query.items()) for row in rows]

    assert TermIndex.of(rows).sums(query).tolist() == expected


@given(ROWS, QUERY)
def test_a_stack_answers_for_all_its_indexes(
    rows: list[dict[str, float]], query: dict[str, float]
) -> None:
    """One after the other."""
    first, second = TermIndex.of(rows), TermIndex.of(rows[::-1])

    both = TermIndex.stacked([first, second]).sums(query).tolist()

    assert both == [*first.sums(query), *second.sums(query)]


def test_rows_without_terms_have_sums() -> None:
    """Of nothing: 0."""
    assert TermIndex.of([{}, {}]).sums({"a": 1.0}).tolist() == [0.0, 0.0]
