"""How many everyday requests have their tool forwarded, and who tells that none fits.

For each part of the requests (see `everyday_requests`): the router with the built-in embedder and
without, beside rank-bm25 and that embedder alone, which forward three tools and tell nothing.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
from rank_bm25 import BM25Okapi

from orchestrator.adapters.embedding.built_in import BuiltInEmbedder
from orchestrator.catalog.catalog import Catalog
from orchestrator.language.words import tokens
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import EmbeddedCards, card_text
from tests.benchmarks.everyday_requests import Everyday, catalogs, fresh, older
from tests.benchmarks.figure import Figure

_NOW: Final = datetime(2026, 11, 21, 21)
_FIXED: Final = 3


class Answer(NamedTuple):
    """What one way of choosing made of a request."""

    tools: Sequence[str]
    """Those forwarded, best first."""
    score: float
    """How well the best of them fits."""
    fits: bool | None = None
    """Whether any does; None where the way does not say."""


Way = Callable[[Everyday], Answer]


def run() -> list[Figure]:
    """What became of each part's requests, each way."""
    known = catalogs()
    requests = [*older(), *fresh()]
    ways = {
        name: {catalog: make(tools) for catalog, tools in known.items()}
        for name, make in _WAYS.items()
    }
    figures = []
    for part in dict.fromkeys(request.part for request in requests):
        for name, way in ways.items():
            own = [request for request in requests if request.part == part]
            answered = [(request, way[request.catalog](request)) for request in own]
            figures += _figures(f"{part}, {name}", answered)
    return figures


def _figures(name: str, answered: Sequence[tuple[Everyday, Answer]]) -> list[Figure]:
    doable = [(request, answer) for request, answer in answered if request.tools]
    others = [answer for request, answer in answered if not request.tools]
    figures = [
        _share(f"{name}: tool forwarded", [_has_all(r, a.tools) for r, a in doable]),
        _share(f"{name}: tool first", [_is_first(r, a.tools) for r, a in doable]),
        Figure(
            name=f"{name}: forwarded",
            value=float(np.mean([len(answer.tools) for _, answer in doable])),
            unit="tools",
        ),
        Figure(
            name=f"{name}: fit above unfit",
            value=_auroc([a.score for _, a in doable], [a.score for a in others]),
            unit="AUROC",
        ),
    ]
    if others[0].fits is None:
        return figures
    told = _share(f"{name}: nothing fits, told", [not a.fits for a in others])
    refused = _share(f"{name}: wrongly told", [not a.fits for _, a in doable])
    return [*figures, told, refused]


def _has_all(request: Everyday, tools: Sequence[str]) -> bool:
    return all(not set(tools).isdisjoint(part) for part in request.tools)


def _is_first(request: Everyday, tools: Sequence[str]) -> bool:
    return bool(tools) and tools[0] in request.tools[0]


def _share(name: str, right: Sequence[bool]) -> Figure:
    value = round(100 * float(np.mean(right)), 1)
    return Figure(name=name, value=value, unit="%", note=f"of {len(right)}")


def _auroc(fit: Sequence[float], unfit: Sequence[float]) -> float:
    """The chance that a request that some tool fits scores above one that none does."""
    high, low = np.array(fit)[:, None], np.array(unfit)[None, :]
    return float(((high > low) + (high == low) / 2).mean())


def _routed(catalog: Catalog) -> Way:
    return _answers(Router(catalog, similarity=EmbeddedCards(catalog, BuiltInEmbedder())))


def _routed_by_words(catalog: Catalog) -> Way:
    return _answers(Router(catalog))


def _answers(router: Router) -> Way:
    def answer(request: Everyday) -> Answer:
        chosen = router.route(request.request, request.context, now=_NOW)
        return Answer(chosen.tools, chosen.fitness or 0.0, chosen.fits)

    return answer


def _bm25(catalog: Catalog) -> Way:
    names = [*catalog.tools]
    index = BM25Okapi([tokens(card_text(tool)) for tool in catalog.tools.values()])
    return lambda request: _best(names, index.get_scores(tokens(request.request)))


def _vectors(catalog: Catalog) -> Way:
    names, cards = [*catalog.tools], EmbeddedCards(catalog, BuiltInEmbedder())
    return lambda request: _best(names, cards.of([request.request])[0])


def _best(names: Sequence[str], scores: Sequence[float]) -> Answer:
    order = np.argsort(-np.asarray(scores), kind="stable")[:_FIXED]
    return Answer([names[row] for row in order], float(np.max(scores)))


_WAYS: Final[dict[str, Callable[[Catalog], Way]]] = {
    "router": _routed,
    "no vectors": _routed_by_words,
    "rank-bm25": _bm25,
    "vectors alone": _vectors,
}
