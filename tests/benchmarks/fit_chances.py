"""The chances that a width suffices: fitted to the training halves of folders.

    python -m tests.benchmarks.fit_chances FOLDER FOLDER ...

prints the coefficients of `orchestrator.routing.width`, and for each folder and width
how often the width's tools hold all that a query needs, beside the mean chance by coefficients that
were fitted to the other folders. The evaluation halves are not read.
"""

import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from orchestrator.routing.cards.capability_card import make_cards
from orchestrator.routing.cards.prerequisites import Producers
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.learning.evaluation import open_folder
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.request_scoring import merged
from orchestrator.routing.width import CEILING, SIGNS, width_signs

_PRIOR = 0.003
_ROUNDS = 30
_LEVELS: Final = np.array([sign.startswith("width") for sign in SIGNS])


class Widths(NamedTuple):
    """Of a folder's queries, signs (n, 4, n_signs), and whether each width sufficed (n, 4)."""

    signs: Floats
    sufficed: Floats


def main(folders: Sequence[str]) -> None:
    """Fit, check and print."""
    found = {Path(folder).name: read_widths(folder) for folder in folders}
    fitted = dict(zip(SIGNS, fit(found.values()).round(2).tolist(), strict=True))
    sys.stdout.write(f"{fitted}\n")
    for name, own in found.items():
        others = fit([widths for other, widths in found.items() if other != name])
        chances = _chances(own.signs, others).mean(axis=0).round(2).tolist()
        shares = own.sufficed.mean(axis=0).round(2).tolist()
        sys.stdout.write(f"{name:20} sufficed {shares}, expected by the others {chances}\n")


def read_widths(folder: str) -> Widths:
    """The training queries of a folder that some tool fits."""
    catalog, queries = open_folder(folder, split="train")
    router, producers = Router(catalog), Producers(make_cards(tuple(catalog.tools.values())))
    signs, sufficed = [], []
    for query in queries:
        request = router.explain(query.query).request if query.groups else None
        if request is not None:
            scores = merged(request)
            fed = partial(producers.prerequisites, slots=request.slots, scores=scores)
            signs.append(
                width_signs(
                    [*scores.values()],
                    request.tables,
                    requests=len(request.winners),
                    words=request.words,
                )
            )
            best = [[*scores][:k] for k in range(1, CEILING + 1)]
            forwarded = [{*names, *fed(names)} for names in best]
            sufficed.append([all(g & tools for g in query.groups) for tools in forwarded])
    return Widths(np.array(signs), np.array(sufficed, dtype=np.float64))


def fit(folders: Iterable[Widths]) -> Floats:
    """A logistic regression by Newton's method; each folder weighs alike."""
    parts = list(folders)
    signs = np.concatenate([part.signs.reshape(-1, len(SIGNS)) for part in parts])
    target = np.concatenate([part.sufficed.ravel() for part in parts])
    sizes = [len(part.sufficed) for part in parts]
    weight = np.repeat([1 / size / len(parts) for size in sizes], [4 * size for size in sizes])
    held = _PRIOR * np.where(_LEVELS, 1e-3, 1.0)
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
