"""The candidates of a request, from those of its clauses."""

import numpy as np

from orchestrator.routing.scoring.request_scoring import ScoredRequest, merged
from orchestrator.routing.scoring.scorer import ScoreTable


def table(**scores: float) -> ScoreTable:
    """Candidates with their fused scores, best first."""
    return ScoreTable(tuple(scores), {}, np.array([*scores.values()]), strength=1.0)


def test_every_clause_gets_its_tool_near_the_top() -> None:
    """A tool of all clauses stands before one of a remark; one request has its own scores."""
    whole = table(book=2.0, find=1.5, send=0.9)
    clauses = (table(book=2.0, find=1.2), table(send=0.5))
    remark = (table(blog=1.0, joke=0.6), table(joke=1.0, blog=0.1))

    assert [*merged(ScoredRequest((), (), whole, clauses))][:2] == ["book", "send"]
    of_both = merged(ScoredRequest((), (), table(blog=1.0, joke=1.0), remark))
    assert next(iter(of_both)) == "joke"
    assert merged(ScoredRequest((), (), whole, ())) == {"book": 2.0, "find": 1.5, "send": 0.9}
    assert merged(ScoredRequest((), (), None, ())) == {}
