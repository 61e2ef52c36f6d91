"""What tells that a tool fits: fitted to the training halves of folders.

    python -m tests.benchmarks.fit_fitness FOLDER FOLDER ...

prints the coefficients of `orchestrator.routing.scoring.fitness`, with the built-in vectors and
without, and for each folder and kind of unfit request the chance that a fit one scores higher: by
the evidence alone, by coefficients fitted to all folders, and by those fitted to the others.
Besides the folders' own requests that nothing fits there are those whose tools, and all that is
much like them, are taken away: from the whole catalog ("taken"), and from a few tools, 1 to 40,
beside fit requests for one of a few ("few"). Beside the folders stand the everyday requests that
rules may be made on. The evaluation halves are not read.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from orchestrator.adapters.embedding.built_in import BuiltInEmbedder
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.routing.cards.capability_card import make_cards
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.learning.evaluation import Query, open_folder
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import EmbeddedCards
from orchestrator.routing.scoring.fitness import SIGNS
from orchestrator.routing.scoring.word_evidence import FIELDS, EvidenceIndex
from tests.benchmarks.everyday_requests import catalogs, fresh, older

_ASKED = 250
"""So many fit requests of a folder are read."""
_QUERIES = 120
"""From so many requests of a folder the tools are taken away."""
_ALIKE = 0.45
"""Another tool is much like one for whose texts it has that share of the evidence."""
_FEW: Final = (1, 1, 2, 3, 5, 8, 14, 25, 40)
_BEST = 10
_EVERYDAY: Final = ("older, first three lists", "fit")
_PRIOR = 0.001
_ROUNDS = 6
_STEPS = 30
_EVIDENCE: Final = np.array([float(sign == "evidence") for sign in SIGNS])


class Requests(NamedTuple):
    """Of a folder, the signs of the tools that may fit each request; (n_tools, n_signs) each."""

    fit: Mapping[str, Sequence[Floats]]
    """Those that some tool of the whole catalog ("taken") or of a few tools ("few") fits."""
    unfit: Mapping[str, Sequence[Floats]]
    """The others, by kind."""

    def fit_beside(self, kind: str) -> Sequence[Floats]:
        """The fit requests that those of a kind are told from."""
        return self.fit.get(kind, self.fit["taken"])


def main(folders: Sequence[str]) -> None:
    """Fit, check and print."""
    for vectors in (True, False):
        found = {Path(folder).name: read_requests(folder, vectors=vectors) for folder in folders}
        found["everyday"] = read_everyday(vectors=vectors)
        _fit_and_print(found, "with vectors" if vectors else "by words")


def _fit_and_print(found: Mapping[str, Requests], title: str) -> None:
    fitted, level = fit(found.values())
    rounded = dict(zip(SIGNS, fitted.round(2).tolist(), strict=True))
    sys.stdout.write(f"{title}: {rounded}, level {level:.2f}\n")
    for name, own in found.items():
        others, _ = fit([requests for other, requests in found.items() if other != name])
        for kind in own.unfit:
            figures = [_auroc(own, kind, by) for by in (_EVIDENCE, fitted, others)]
            text = "evidence {:.3f}, fitted {:.3f}, by the others {:.3f}".format(*figures)
            sys.stdout.write(f"{name:16} {kind:12} {text}\n")


def read_requests(folder: str, *, vectors: bool) -> Requests:
    """The training requests of a folder; what is drawn is the same every time."""
    catalog, queries = open_folder(folder, split="train")
    router, like = _router(catalog, vectors=vectors), _Likeness(tuple(catalog.tools.values()))
    draw = random.Random(1)
    draw.shuffle(queries)
    fit: dict[str, list[Floats]] = defaultdict(list)
    unfit: dict[str, list[Floats]] = defaultdict(list)
    asked = [query for query in queries if query.groups][:_ASKED]
    for query in [*asked, *(query for query in queries if not query.groups)]:
        signs = router.fitness_signs(query.query, among=query.candidates)
        (fit["taken"] if query.groups else unfit[query.kind]).append(signs)
    for query in asked[:_QUERIES]:
        _take_away(query, router, like, draw, fit, unfit)
    return Requests(fit, unfit)


def read_everyday(*, vectors: bool) -> Requests:
    """The everyday requests that rules may be made on, without follow-ups."""
    routers = {name: _router(catalog, vectors=vectors) for name, catalog in catalogs().items()}
    fit: list[Floats] = []
    unfit: list[Floats] = []
    for request in (r for r in [*older(), *fresh()] if r.part in _EVERYDAY):
        if not (request.tools and request.context.earlier):
            signs = routers[request.catalog].fitness_signs(request.request)
            (fit if request.tools else unfit).append(signs)
    return Requests({"taken": fit}, {"nothing": unfit})


def _router(catalog: Catalog, *, vectors: bool) -> Router:
    return Router(
        catalog, similarity=EmbeddedCards(catalog, BuiltInEmbedder()) if vectors else None
    )


def _take_away(
    query: Query,
    router: Router,
    like: "_Likeness",
    draw: random.Random,
    fit: Mapping[str, list[Floats]],
    unfit: Mapping[str, list[Floats]],
) -> None:
    """Add a request without its tools, and with one of them among a few: of the best, and any."""
    text, needed = query.query, [draw.choice(sorted(group)) for group in query.groups]
    left = sorted(like.others(name for group in query.groups for name in group))
    unfit["taken"].append(router.fitness_signs(text, among=left))
    size = draw.choice(_FEW)
    best = [name for name in router.rank(text) if name in left][:_BEST]
    close = draw.sample(best, min(len(best), (size + 1) // 2))
    few = [*dict.fromkeys([*close, *draw.sample(left, min(size, len(left)))])][:size]
    fit["few"].append(router.fitness_signs(text, among={*needed, *few[len(needed) :]}))
    unfit["few"].append(router.fitness_signs(text, among=few))


class _Likeness:
    """Which tools do about the same, by the words of their names and descriptions."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        cards = make_cards(tools)
        self._names = [card.name for card in cards]
        self._words = {card.name: (*card.name_stems, *card.text_stems) for card in cards}
        self._index = EvidenceIndex(cards, RoutingProfile())

    def others(self, names: Iterable[str]) -> frozenset[str]:
        """The tools that are neither one of these nor much like one."""
        left = set(self._names)
        for name in names:
            evidence = self._index.find(self._words[name]).fields[FIELDS.index("text")]
            alike = evidence >= _ALIKE * evidence[self._names.index(name)]
            left -= {self._names[row] for row in np.flatnonzero(alike)} | {name}
        return frozenset(left)


def fit(folders: Iterable[Requests]) -> tuple[Floats, float]:
    """The coefficients, and the mean level of the folders.

    A logistic regression on the best tool of each request, which is chosen anew in each round;
    folders weigh alike, and so do fit and unfit requests, and the kinds of each. Every folder has a
    level of its own, since fit requests are told from unfit ones of the same catalog.
    """
    parts = list(folders)
    coefficients, levels = _EVIDENCE, np.zeros(len(parts))
    for _ in range(_ROUNDS):
        signs, target, weight = (
            np.concatenate(x) for x in zip(*_examples(parts, coefficients), strict=True)
        )
        found = _regression(signs, target, weight)
        coefficients, levels = found[: len(SIGNS)], found[len(SIGNS) :]
    return coefficients, float(levels.mean())


def _examples(
    parts: Sequence[Requests], coefficients: Floats
) -> Iterable[tuple[Floats, Floats, Floats]]:
    """The best tool's signs and the folder's level, whether it fits, and what that weighs."""
    for place, part in enumerate(parts):
        level = np.eye(len(parts))[place]
        for target, kinds in ((1.0, part.fit), (0.0, part.unfit)):
            for requests in kinds.values():
                best = [signs[(signs @ coefficients).argmax()] for signs in requests if len(signs)]
                rows = np.hstack([np.array(best), np.tile(level, (len(best), 1))])
                share = 1 / len(best) / len(kinds) / len(parts)
                yield rows, np.full(len(best), target), np.full(len(best), share)


def _regression(signs: Floats, target: Floats, weight: Floats) -> Floats:
    """By Newton's method; levels are free, coefficients held to 0 by a weak prior."""
    held = np.where(np.arange(signs.shape[1]) < len(SIGNS), _PRIOR, _PRIOR * 1e-3)
    found = np.zeros(signs.shape[1])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(signs @ found, -30, 30)))
        slope = signs.T @ (weight * (target - chances)) - held * found
        curve = (signs * (weight * chances * (1 - chances))[:, None]).T @ signs + np.diag(held)
        found = found + np.linalg.solve(curve, slope)
    return found


def _auroc(requests: Requests, kind: str, coefficients: Floats) -> float:
    """The chance that a fit request scores above an unfit one of that kind."""
    fit, unfit = (
        np.array([(signs @ coefficients).max(initial=-np.inf) for signs in some])
        for some in (requests.fit_beside(kind), requests.unfit[kind])
    )
    above = fit[:, None] > unfit[None, :]
    equal = fit[:, None] == unfit[None, :]
    return float((above + equal / 2).mean())


if __name__ == "__main__":
    main(sys.argv[1:])
