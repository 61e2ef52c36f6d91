"""The candidates of a request, from those of its clauses."""

import numpy as np

from orchestrator.routing.scoring.request_scoring import ScoredRequest, merged
from orchestrator.routing.scoring.scorer import ScoreTable


def table(**scores: float) -> ScoreTable:
    """Candidates with their fused scores, best first."""
    return ScoreTable(tuple(scores), {}, np.array([*scores.values()]), strength=1.0)


def ranking(whole: ScoreTable, *parts: ScoreTable) -> list[str]:
    """The names of the merged candidates."""
    request = ScoredRequest((), (), whole, parts)
    return [*merged(request)]


def test_one_request_is_ranked_by_its_own_scores() -> None:
    """There is nothing to merge."""
    scored = ScoredRequest((), (), table(book=2.0, find=1.5), ())

    assert [*merged(scored).items()] == [("book", 2.0), ("find", 1.5)]


def test_every_clause_gets_its_tool_near_the_top() -> None:
    """What only one clause asks for stands before the second best of another."""
    whole = table(book=2.0, find=1.5, send=0.9)

    assert ranking(whole, table(book=2.0, find=1.2), table(send=0.5))[:2] == ["book", "send"]


def test_a_tool_of_all_clauses_stands_before_one_of_a_remark() -> None:
    """Both are the best of a clause; one is good for the other clause too."""
    whole = table(blog=1.0, joke=1.0)

    assert ranking(whole, table(blog=1.0, joke=0.6), table(joke=1.0, blog=0.1))[0] == "joke"


def test_a_request_without_words_has_no_candidates() -> None:
    """No table, no tools."""
    assert merged(ScoredRequest((), (), None, ())) == {}
