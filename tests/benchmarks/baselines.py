"""What the router is compared with: rank-bm25, an embedder alone, and both fused by rank."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import numpy as np
from rank_bm25 import BM25Okapi

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.language.intent import IntentFrame
from orchestrator.routing.learning.evaluation import JudgedAnswer, Query
from orchestrator.routing.scoring.embedding import CardSimilarity
from orchestrator.routing.selection import Selection
from orchestrator.routing.sparse_index import Floats

Scores = Callable[[str], Floats]
"""A score for each tool of a catalog, in its order; shape (n_tools,)."""

_RANK_CONSTANT: Final = 60
"""That of Cormack, Clarke and Buettcher (2009), who proposed the fusion."""


def rank_bm25(catalog: Catalog) -> Scores:
    """BM25Okapi with its own parameters, over name, description and parameter names."""
    index = BM25Okapi([_words(_text(tool)) for tool in catalog.tools.values()])
    return lambda text: np.asarray(index.get_scores(_words(text)), dtype=np.float64)


def embedder_alone(similarity: CardSimilarity) -> Scores:
    """The cosine of the whole request and the whole tool."""
    return lambda text: similarity.of([text])[0]


def fused(*all_scores: Scores) -> Scores:
    """Reciprocal rank fusion: the sum of 1 / (60 + rank) of each."""

    def scores(text: str) -> Floats:
        total: Floats = sum(
            (1 / (_RANK_CONSTANT + _ranks(own(text))) for own in all_scores),
            start=np.zeros(1),
        )
        return total

    return scores


def answers(catalog: Catalog, queries: Iterable[Query], scores: Scores) -> list[JudgedAnswer]:
    """A ranking for each query; the selection that goes with it holds no tool."""
    names = np.array([*catalog.tools])
    return [_answer(names.tolist(), query, scores(query.query)) for query in queries]


def _answer(names: Sequence[str], query: Query, scores: Floats) -> JudgedAnswer:
    order = np.argsort(-scores, kind="stable").tolist()
    allowed: Collection[str] = names if query.candidates is None else query.candidates
    ranked = [(names[at], float(scores[at])) for at in order if names[at] in {*allowed}]
    best = ranked[0][1] if ranked else 0.0
    nothing = Selection(
        tools=(),
        k=0,
        band="moderate",
        reason="a ranking alone",
        frame=IntentFrame(),
        catalog_size=len(names),
    )
    return JudgedAnswer(query, [name for name, _ in ranked], nothing, best, None)


def _ranks(scores: Floats) -> Floats:
    """1 for the best; shape (n_tools,)."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def _text(tool: Tool) -> str:
    inputs = dict(tool.input_schema).get("properties")
    named = inputs if isinstance(inputs, dict) else {}
    return " ".join([tool.name, tool.summary, tool.description, *named])


def _words(text: str) -> list[str]:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.findall(r"[a-z0-9]+", apart.lower())
