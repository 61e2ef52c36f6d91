"""The routing profile's weights: fitted to training halves, checked on folders left out.

    python -m tests.benchmarks.fit_routing FOLDER FOLDER ...

prints, without and with the built-in embedder, the fitted weights, and recall and nDCG@5 on each
folder's training half with the weights as they are, with those fitted to all folders, and with
those fitted to all the others: what a catalog gains that the weights have never seen. A folder
holds `tools.jsonl` and `queries.jsonl`; the evaluation halves are not read.
"""

import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from orchestrator.adapters.embedding.built_in import BuiltInEmbedder
from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.learning.evaluation import Query, open_folder
from orchestrator.routing.profile import FeatureWeights, RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import EmbeddedCards
from orchestrator.routing.scoring.request_scoring import MEAN_COUNTS
from orchestrator.routing.scoring.scorer import FEATURES, ScoreTable

NOT_FITTED: Final = ("agent", "negated", "own", "learned", "coverage")
"""They weigh nothing, or say nothing here: no agent, nothing booked before or forbidden."""
VECTORS: Final = ("embedding", "alike")
"""What only an embedder tells."""
FITTED: Final = tuple(f for f in FEATURES if f not in NOT_FITTED)

_QUERIES = 250
_SHARPNESS = 4.0
_PRIOR = 0.002
_ROUNDS = 3
_STEPS = 60
_RATE = 0.1


@dataclass(frozen=True, slots=True)
class Case:
    """A query's candidates: one table of features for the whole and one for each clause.

    `tables` are of shape (n_candidates, n_features), all 0 for what a clause does not speak of;
    `groups` are positions of the tools of which one each is needed, `needed` how many groups.
    """

    tables: tuple[Floats, ...]
    groups: tuple[tuple[int, ...], ...]
    needed: int

    def merged(self, weights: Floats) -> Floats:
        """One row of features per candidate, whose weighted sum is its score; see `merged`."""
        if len(self.tables) == 1:
            return self.tables[0]
        scaled = [t / max(float((t @ weights).max()), 1e-9) for t in self.tables]
        parts = np.stack(scaled[1:])
        best = (parts @ weights).argmax(axis=0)
        sums = scaled[0] + parts[best, np.arange(len(best))] + MEAN_COUNTS * parts.mean(axis=0)
        merged: Floats = sums * max(float((self.tables[0] @ weights).max()), 1e-9)
        return merged / (2 + MEAN_COUNTS)


Cases = Mapping[str, Sequence[Case]]
"""Of each folder, by its name."""


def main(folders: Sequence[str]) -> None:
    """Fit, check and print, without and with vectors."""
    for vectors in (False, True):
        sys.stdout.write("with the built-in embedder\n" if vectors else "without an embedder\n")
        cases = {Path(folder).name: read_cases(folder, vectors=vectors) for folder in folders}
        columns = [f for f in FITTED if vectors or f not in VECTORS]
        start = weights_now(columns)
        fitted = fit(cases.values(), start)
        found = {name: round(float(fitted[FITTED.index(name)]), 2) for name in columns}
        sys.stdout.write(f"weights {found}\n")
        rows = {
            "now": {name: figures(own, start) for name, own in cases.items()},
            "fitted": {name: figures(own, fitted) for name, own in cases.items()},
            "left out": left_out(cases, start),
        }
        for row, by_folder in rows.items():
            for name, values in by_folder.items():
                _print(f"{name}, {row}", values)
            _print(f"mean, {row}", np.mean([*by_folder.values()], axis=0))


def weights_now(columns: Iterable[str] = FITTED) -> Floats:
    """The profile's weights of these features, 0 for the others; shape (len(FITTED),)."""
    wanted, now = frozenset(columns), FeatureWeights()
    return np.array([getattr(now, name) if name in wanted else 0.0 for name in FITTED])


def left_out(cases: Cases, start: Floats) -> dict[str, Floats]:
    """The figures of each folder with weights fitted to the others; what starts at 0 stays 0."""
    return {
        name: figures(own, fit([c for other, c in cases.items() if other != name], start))
        for name, own in cases.items()
    }


def read_cases(folder: str, *, vectors: bool, profile: RoutingProfile | None = None) -> list[Case]:
    """The training queries that some tool fits, at most 250 of them, drawn once and for all."""
    catalog, queries = open_folder(folder, split="train")
    asked = [query for query in queries if query.groups]
    random.Random(0).shuffle(asked)
    return cases_of(catalog, asked[:_QUERIES], vectors=vectors, profile=profile)


def cases_of(
    catalog: Catalog,
    queries: Iterable[Query],
    *,
    vectors: bool,
    profile: RoutingProfile | None = None,
) -> list[Case]:
    """The cases of queries over a catalog, those for which nothing is found left out."""
    near = EmbeddedCards(catalog, BuiltInEmbedder()) if vectors else None
    router = Router(catalog, similarity=near, profile=profile)
    cases = (_case(_tables(router, query.query), query) for query in queries)
    return [case for case in cases if case is not None]


def _tables(router: Router, text: str) -> tuple[ScoreTable, ...]:
    """One table for the whole text, one for each clause."""
    request = router.explain(text).request
    return (request.whole, *request.parts) if request and request.whole else ()


def _case(tables: Sequence[ScoreTable], query: Query) -> Case | None:
    names = sorted({name for table in tables for name in table.names})
    if not names:
        return None
    place = {name: number for number, name in enumerate(names)}
    arrays = []
    for table in tables:
        array = np.zeros((len(names), len(FITTED)))
        rows = [place[name] for name in table.names]
        array[rows] = np.stack([table.features[feature] for feature in FITTED], axis=1)
        arrays.append(array)
    groups = [tuple(place[name] for name in group if name in place) for group in query.groups]
    return Case(tuple(arrays), tuple(g for g in groups if g), len(query.groups))


def fit(folders: Iterable[Sequence[Case]], start: Floats) -> Floats:
    """Weights under which the needed tools would be the likeliest choices, each folder alike.

    Maximises the mean log-likelihood of each needed tool against all that is not needed, held to
    where it starts by a weak quadratic prior; by gradient ascent with momentum (Adam). What starts
    at 0 stays there. Which clause speaks best for a candidate is settled anew in each round.
    """
    weighted = [(case, 1 / len(cases)) for cases in folders for case in cases if case.groups]
    origin = start * _SHARPNESS
    weights, free = origin.copy(), start != 0
    for _ in range(_ROUNDS):
        choices = _Choices(weighted, weights)
        first, second = np.zeros_like(origin), np.zeros_like(origin)
        for step in range(1, _STEPS + 1):
            slope = (choices.slope(weights) - _PRIOR * (weights - origin)) * free
            first = 0.9 * first + 0.1 * slope
            second = 0.99 * second + 0.01 * slope**2
            root = np.sqrt(second / (1 - 0.99**step)) + 1e-8
            weights = weights + _RATE * (first / (1 - 0.9**step)) / root * min(1, 30 / step)
    # As large as before in all, beside the weights that are not fitted.
    found: Floats = weights * (np.abs(start).sum() / np.abs(weights).sum())
    return found


class _Choices:
    """Cases as one array of candidates, so that a slope is a few calls of numpy."""

    def __init__(self, weighted: Sequence[tuple[Case, float]], weights: Floats) -> None:
        """Merge the clauses as these weights do."""
        tables = [case.merged(weights) for case, _ in weighted]
        self._rows = np.concatenate(tables)
        starts = np.cumsum([0, *map(len, tables[:-1])])
        self._starts = starts
        self._case = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        self._wrong = np.ones(len(self._rows))
        own: list[int] = []
        group: list[int] = []
        case_of: list[int] = []
        worth: list[float] = []
        total = sum(weight for _, weight in weighted)
        for number, (case, weight) in enumerate(weighted):
            for places in case.groups:
                own += [starts[number] + place for place in places]
                group += [len(case_of)] * len(places)
                case_of.append(number)
                worth.append(weight / len(case.groups) / total)
        self._wrong[own] = 0.0
        self._own, self._group = np.array(own), np.array(group)
        self._case_of, self._worth = np.array(case_of), np.array(worth)

    def slope(self, weights: Floats) -> Floats:
        """The gradient of the weighted mean log-likelihood."""
        scores = self._rows @ weights
        chances = np.exp(scores - np.maximum.reduceat(scores, self._starts)[self._case])
        wrong = np.add.reduceat(chances * self._wrong, self._starts)[self._case_of]
        own = np.bincount(self._group, chances[self._own], len(self._worth))
        own = np.maximum(own, 1e-300)
        pull = np.bincount(self._case_of, self._worth / (own + wrong), len(self._starts))
        slope = -chances * self._wrong * pull[self._case]
        gain = self._worth * (1 / own - 1 / (own + wrong))
        np.add.at(slope, self._own, chances[self._own] * gain[self._group])
        found: Floats = slope @ self._rows
        return found


def figures(cases: Sequence[Case], weights: Floats) -> Floats:
    """Recall at 1, 3 and 5 and nDCG@5, before anything that feeds a tool is put in."""
    mean: Floats = np.array([_figures(case, weights) for case in cases]).mean(axis=0)
    return mean


def _figures(case: Case, weights: Floats) -> tuple[float, ...]:
    order = np.argsort(-(case.merged(weights) @ weights), kind="stable")[:5].tolist()
    ranks = sorted(min(map(order.index, held)) for g in case.groups if (held := set(g) & {*order}))
    gain = sum(1 / np.log2(rank + 2) for rank in ranks)
    best = sum(1 / np.log2(rank + 2) for rank in range(min(5, case.needed)))
    return (*(sum(r < k for r in ranks) / case.needed for k in (1, 3, 5)), gain / best)


def _print(name: str, values: Iterable[float]) -> None:
    names = ("R@1", "R@3", "R@5", "nDCG@5")
    text = "  ".join(f"{n} {v:.4f}" for n, v in zip(names, values, strict=True))
    sys.stdout.write(f"{name:32} {text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
