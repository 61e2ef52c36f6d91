"""The chances that tools are needed: fitted to the training halves of folders.

    python -m tests.benchmarks.fit_chances [--embedder none] FOLDER FOLDER ...

prints the coefficients of `orchestrator.routing.needs`, and for each folder how many tools are
needed, beside how many are expected by coefficients that were fitted to the other folders. The
evaluation halves are not read.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.learning.evaluation import open_folder
from orchestrator.routing.needs import CONSIDERED, SIGNS, need_signs
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity
from orchestrator.routing.scoring.request_scoring import merged

_PRIOR: Final = 0.0005
_ROUNDS: Final = 30
_MOST: Final = 250
"""So many queries of a folder, the first ones."""


class Candidates(NamedTuple):
    """Of a folder's candidates, signs (n, n_signs) and whether each is needed (n,)."""

    signs: Floats
    needed: Floats


def main(folders: Sequence[str]) -> None:
    """Fit, check and print."""
    found = {Path(folder).name: read_candidates(folder) for folder in folders}
    fitted = dict(zip(SIGNS, fit(found.values()).round(2).tolist(), strict=True))
    sys.stdout.write(f"{fitted}\n")
    for name, own in found.items():
        others = fit([candidates for other, candidates in found.items() if other != name])
        expected = _chances(own.signs, others).mean() * CONSIDERED
        needed = own.needed.mean() * CONSIDERED
        sys.stdout.write(f"{name:20} needed {needed:.2f}, expected by the others {expected:.2f}\n")


def read_candidates(folder: str, similarity: CardSimilarity | None = None) -> Candidates:
    """The candidates of the training queries of a folder that some tool fits."""
    catalog, queries = open_folder(folder, split="train")
    router = Router(catalog, similarity=similarity)
    signs, needed = [], []
    for query in [query for query in queries if query.groups][:_MOST]:
        request = router.explain(query.query).request
        if request is not None:
            scores, gold = merged(request), frozenset[str]().union(*query.groups)
            signs.append(need_signs(request, scores))
            needed += [name in gold for name in [*scores][:CONSIDERED]]
    return Candidates(np.concatenate(signs), np.array(needed, dtype=np.float64))


def fit(folders: Iterable[Candidates]) -> Floats:
    """A logistic regression by Newton's method; each folder weighs alike."""
    parts = list(folders)
    signs = np.concatenate([part.signs for part in parts])
    target = np.concatenate([part.needed for part in parts])
    sizes = [len(part.needed) for part in parts]
    weight = np.repeat([1 / size / len(parts) for size in sizes], sizes)
    held = _PRIOR * np.array([1e-3, *[1.0] * (len(SIGNS) - 1)])
    coefficients = np.zeros(len(SIGNS))
    for _ in range(_ROUNDS):
        chances = _chances(signs, coefficients)
        slope = signs.T @ (weight * (target - chances)) - held * coefficients
        curve = (signs * (weight * chances * (1 - chances))[:, None]).T @ signs + np.diag(held)
        coefficients = coefficients + np.linalg.solve(curve, slope)
    return coefficients


def _chances(signs: Floats, coefficients: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(-(signs @ coefficients)))
    return chances


if __name__ == "__main__":
    main(sys.argv[1:])
