"""The routing profile's weights: fitted to training halves, checked on folders left out.

    python -m tests.benchmarks.fit_routing FOLDER FOLDER ...

prints the fitted weights, and recall and nDCG@5 on each folder's training half with the weights as
they are, with those fitted to all folders, and with those fitted to all the others: what a catalog
gains that the weights have never seen. A folder holds `tools.jsonl` and `queries.jsonl`; the
evaluation halves are not read.
"""

import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.learning.evaluation import Query, open_folder
from orchestrator.routing.profile import FeatureWeights
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.request_scoring import MEAN_COUNTS
from orchestrator.routing.scoring.scorer import FEATURES, ScoreTable

FITTED: Final = tuple(f for f in FEATURES if f not in ("agent", "negated", "learned", "tags"))
"""The others say nothing here: no agent, no history, and next to nothing forbidden."""

_QUERIES = 250
_SHARPNESS = 4.0
_PRIOR = 0.002
_STEPS = 250
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

    def scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """Every candidate's score, and the features that it came from; see `merged`."""
        whole = self.tables[0]
        if len(self.tables) > 1:
            parts = np.stack(self.tables[1:])
            best = (parts @ weights).argmax(axis=0)
            whole = whole + parts[best, np.arange(len(best))] + MEAN_COUNTS * parts.mean(axis=0)
            whole = whole / (2 + MEAN_COUNTS)
        return whole @ weights, whole


def main(folders: Sequence[str]) -> None:
    """Fit, check and print."""
    cases = {Path(folder).name: read_cases(folder) for folder in folders}
    start = np.array([getattr(FeatureWeights(), name) for name in FITTED])
    fitted = fit(cases.values(), start)
    rounded = {name: round(float(w), 2) for name, w in zip(FITTED, fitted, strict=True)}
    sys.stdout.write(f"weights {rounded}\n")
    rows: dict[str, list[tuple[float, ...]]] = {"now": [], "fitted": [], "left out": []}
    for name, own in cases.items():
        others = fit([found for other, found in cases.items() if other != name], start)
        for row, weights in zip(rows, (start, fitted, others), strict=True):
            rows[row].append(figures(own, weights))
            _print(f"{name}, {row}", rows[row][-1])
    for row, found in rows.items():
        _print(f"mean, {row}", tuple(np.mean(found, axis=0).tolist()))


def read_cases(folder: str) -> list[Case]:
    """The training queries that some tool fits, at most 250 of them, drawn once and for all."""
    catalog, queries = open_folder(folder, split="train")
    router = Router(catalog)
    asked = [query for query in queries if query.groups]
    random.Random(0).shuffle(asked)
    cases = [_case(_tables(router, query.query), query) for query in asked[:_QUERIES]]
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
    where it starts by a weak quadratic prior; by gradient ascent with momentum (Adam).
    """
    weighted = [(case, 1 / len(cases)) for cases in folders for case in cases if case.groups]
    scale = 1 / sum(weight for _, weight in weighted)
    origin = start * _SHARPNESS
    weights, first, second = origin.copy(), np.zeros_like(origin), np.zeros_like(origin)
    for step in range(1, _STEPS + 1):
        slope = -_PRIOR * (weights - origin)
        for case, weight in weighted:
            slope += scale * weight * _slope(case, weights)
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        root = np.sqrt(second / (1 - 0.99**step)) + 1e-8
        weights = weights + _RATE * (first / (1 - 0.9**step)) / root * min(1, 60 / step)
    text: Floats = weights / weights[FITTED.index("text")]
    return text


def _slope(case: Case, weights: Floats) -> Floats:
    """The gradient of the mean log-likelihood of a case's groups."""
    scores, features = case.scores(weights)
    chances = np.exp(scores - scores.max())
    wrong = np.ones(len(scores), dtype=bool)
    wrong[[place for group in case.groups for place in group]] = False
    mass, pull = chances[wrong].sum(), chances[wrong] @ features[wrong]
    slope = np.zeros_like(weights)
    for group in case.groups:
        own = chances[list(group)]
        drawn = own @ features[list(group)]
        slope += drawn / own.sum() - (drawn + pull) / (own.sum() + mass)
    mean: Floats = slope / len(case.groups)
    return mean


def figures(cases: Sequence[Case], weights: Floats) -> tuple[float, ...]:
    """Recall at 1, 3 and 5 and nDCG@5, before anything that feeds a tool is put in."""
    found = np.array([_figures(case, weights) for case in cases])
    return tuple(found.mean(axis=0).tolist())


def _figures(case: Case, weights: Floats) -> tuple[float, ...]:
    order = np.argsort(-case.scores(weights)[0], kind="stable")[:5].tolist()
    ranks = sorted(min(map(order.index, held)) for g in case.groups if (held := set(g) & {*order}))
    gain = sum(1 / np.log2(rank + 2) for rank in ranks)
    best = sum(1 / np.log2(rank + 2) for rank in range(min(5, case.needed)))
    return (*(sum(r < k for r in ranks) / case.needed for k in (1, 3, 5)), gain / best)


def _print(name: str, values: Sequence[float]) -> None:
    names = ("R@1", "R@3", "R@5", "nDCG@5")
    text = "  ".join(f"{n} {v:.4f}" for n, v in zip(names, values, strict=True))
    sys.stdout.write(f"{name:32} {text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
