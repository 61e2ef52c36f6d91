"""How likely each candidate is needed, and that nothing which is needed is left out.

Each candidate's chance is read from what its scores look like. What is left out must not be
needed, so the chance that the best few are all holds the product of the others' not to be.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.scoring.request_scoring import ScoredRequest, relative
from orchestrator.routing.scoring.scorer import ScoreTable

CONSIDERED: Final = 16
"""So many of the best candidates may be needed."""
FEWEST: Final = 4
"""Widths that there is a chance for, however few candidates there are."""
SIGNS: Final = (
    "one",
    "level",
    "level squared",
    "rank",
    "first",
    "lead",
    "whole",
    "clause",
    "strength",
    "near",
    "margin",
    "several",
    "length",
)
"""What a candidate's chance is read from; see `need_signs`."""

_TOLD: Final = SIGNS.index("several") - SIGNS.index("whole")

# A logistic regression on the training halves of public routing data, each set weighted alike:
# tests/benchmarks/fit_chances.py.
_COEFFICIENTS: Final = np.array(
    [-3.31, 0.65, 0.59, -0.81, -0.5, 1.2, 1.34, -0.28, 0.29, 1.13, 1.42, 0.55, 0.22]
)
_STRONG, _NEAR = 4.0, 2.0
_FEW: Final = 3
"""Requests in one of which each gets its best tool first; most clauses of a long text ask less."""


class Needs(NamedTuple):
    """Candidates, the likeliest first; `chances` that each is needed, shape (n_candidates,)."""

    names: tuple[str, ...]
    chances: Floats

    def covered(self) -> tuple[float, ...]:
        """The chance for each width from 1 that its tools are all that is needed; never falling.

        That is: one of them is, and no other; of a request that some tool fits.
        """
        if not self.names:
            return (0.0,) * FEWEST
        idle = 1 - self.chances
        others_idle = np.append(np.cumprod(idle[::-1])[::-1][1:], 1.0)
        some = 1 - np.cumprod(idle)
        chances: Floats = others_idle * some / some[-1]
        return (*chances.tolist(), *[1.0] * (FEWEST - len(chances)))


def needs_of(request: ScoredRequest, scores: Mapping[str, float]) -> Needs:
    """What a request needs of its candidates; `scores` are their fused ones, best first."""
    chances = 1 / (1 + np.exp(-(need_signs(request, scores) @ _COEFFICIENTS)))
    names = [*scores][:CONSIDERED]
    best = frozenset(request.winners) if len(request.winners) <= _FEW else frozenset()
    order = sorted(range(len(names)), key=lambda i: (names[i] not in best, -chances[i]))
    return Needs(tuple(names[i] for i in order), chances[order])


def certainty(request: ScoredRequest) -> float:
    """Half of it for what the words of each clause say, half for how many its best tool has.

    Words that it lacks may ask for something else.
    """
    shares = [float(table.features["coverage"][0]) for table in request.tables if table.names]
    return (1 + min(shares, default=0.0)) / 2


def need_signs(request: ScoredRequest, scores: Mapping[str, float]) -> Floats:
    """The signs of each of the first candidates; shape (n_candidates, len(SIGNS)).

    Its fused score, relative to the best one's, and the square of that; its rank, whether it is the
    first, and its lead over the next; its score for the whole text and the best for any clause,
    each relative to the best tool there; of the clause that it is the best of, how strong the
    evidence is, how many of the words meet in the tool as in the clause, and how far the second
    lies behind; how many clauses there are, for the more of them, the more is needed; the length of
    the request.
    """
    names = [*scores][:CONSIDERED]
    top = max(next(iter(scores.values())), 1e-9) if scores else 1.0
    found = np.array([score / top for score in [*scores.values()][: CONSIDERED + 1]])
    levels, following = found[: len(names)], np.append(found[1:], 0.0)[: len(names)]
    ranks = np.arange(len(names), dtype=float)
    whole = relative(request.whole) if request.whole else {}
    clauses = [(table, relative(table)) for table in request.tables if table.names]
    several = float(np.log(max(1, len(clauses))))
    told = np.array([_told_of(name, whole, clauses) for name in names]).reshape(-1, _TOLD)
    return np.column_stack(
        [
            np.ones(len(names)),
            levels,
            levels**2,
            np.log1p(ranks),
            ranks == 0,
            levels - following,
            told,
            several * levels,
            np.full(len(names), np.log1p(request.words)),
        ]
    )


def _told_of(
    name: str,
    whole: Mapping[str, float],
    clauses: Sequence[tuple[ScoreTable, Mapping[str, float]]],
) -> tuple[float, float, float, float, float]:
    """What the whole text and its clauses say of one candidate: `whole` to `margin` of SIGNS."""
    won = [(t, r) for t, r in clauses if t.names[0] == name]
    return (
        whole.get(name, 0.0),
        max((r.get(name, 0.0) for _, r in clauses), default=0.0),
        max((min(t.strength, _STRONG) for t, _ in won), default=0.0),
        max((min(float(t.features["near"][0]), _NEAR) for t, _ in won), default=0.0),
        max((1 - _second(r) for _, r in won), default=0.0),
    )


def _second(relatives: Mapping[str, float]) -> float:
    """The relative score of the second best; 0 where there is none."""
    scores = [*relatives.values()][1:2]
    return max(0.0, *scores, 0.0)
