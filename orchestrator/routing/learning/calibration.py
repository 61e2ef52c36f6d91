"""Learning from records: what each tool's score lacks, and from which confidence few tools do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, product
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from orchestrator.core.record import Record
from orchestrator.routing.indexes.terms import Floats
from orchestrator.routing.learning.trace import RouteRecord
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.width import CEILING, adaptive_k

_TEMPERATURES: Final = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
_PRIORS: Final = (1.0, 3.0, 10.0, 30.0)
_FOLDS = 5
_ROUNDS = 150
_GRID: Final = tuple(step / 20 for step in range(2, 20))
_NARROW = 3


class Calibration(Record):
    """A fitted profile, and what it would have changed for the records it was fitted to."""

    profile: RoutingProfile
    records: int = 0
    first_right_before: float = 0
    first_right_after: float = 0
    covered_before: float = 0
    covered_after: float = 0
    mean_k_before: float = 0
    mean_k_after: float = 0


@dataclass(frozen=True, slots=True)
class _Choices:
    """Candidates of records as arrays of shape (n_records, n_candidates), padded."""

    tools: NDArray[np.intp]
    scores: Floats
    wanted: NDArray[np.bool_]
    names: tuple[str, ...]

    def part(self, rows: NDArray[np.intp]) -> "_Choices":
        return _Choices(self.tools[rows], self.scores[rows], self.wanted[rows], self.names)

    def chances(self, signal: Floats, temperature: float) -> Floats:
        """The chance of each candidate to be the one that is called; rows sum to 1."""
        logits = (self.scores + signal[self.tools]) / temperature
        weights: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances: Floats = weights / weights.sum(axis=1, keepdims=True)
        return chances

    def loss(self, signal: Floats, temperature: float) -> float:
        """Mean surprise at what was called."""
        chances = (self.chances(signal, temperature) * self.wanted).sum(axis=1)
        return float(-np.log(np.maximum(chances, 1e-9)).mean())


def calibrate(
    records: Iterable[RouteRecord], *, profile: RoutingProfile | None = None
) -> Calibration:
    """Fit a profile to records of which the called tools are known.

    The learned signal is added to a tool's score: how much more or less often it was called than
    its scores said, held back by a prior whose strength is chosen by cross-validation; none helps,
    none is kept. The thresholds are those that would have covered most of the calls without
    forwarding more tools on average.

    Args:
        records: those without a call, or without scores, teach nothing.
        profile: what the records were routed with, and what the rest is taken from.
    """
    profile = profile or RoutingProfile()
    usable = [r for r in records if r.called and r.scores and r.band != "fail_open"]
    if not usable:
        return Calibration(profile=profile)
    learned = _learned(usable, profile)
    rankings = [_reranked(record, learned) for record in usable]
    crisp, sure = _thresholds(usable, _unseen_rankings(usable, profile), profile)
    fitted = profile.model_copy(
        update={
            "learned": {n: v + profile.learned.get(n, 0.0) for n, v in learned.items()},
            "crisp": crisp,
            "sure": sure,
        }
    )
    plain = [tuple(record.scores) for record in usable]
    return Calibration(
        profile=fitted,
        records=len(usable),
        first_right_before=_first_right(usable, plain),
        first_right_after=_first_right(usable, rankings),
        covered_before=fmean(_is_covered(r, p, r.k) for r, p in zip(usable, plain, strict=True)),
        covered_after=fmean(
            _is_covered(r, p, _width(r, fitted)) for r, p in zip(usable, rankings, strict=True)
        ),
        mean_k_before=fmean(r.k for r in usable),
        mean_k_after=fmean(_width(r, fitted) for r in usable),
    )


def _learned(records: Sequence[RouteRecord], profile: RoutingProfile) -> dict[str, float]:
    """What to add to the score of each tool; nothing where that does not help unseen records."""
    choices = _choices(records)
    if len(choices.tools) < _FOLDS or not profile.weights.learned:
        return {}
    nothing = np.zeros(len(choices.names))
    temperature = min(_TEMPERATURES, key=lambda t: choices.loss(nothing, t))
    folds = np.arange(len(choices.tools)) % _FOLDS
    losses: dict[float | None, float] = {None: choices.loss(nothing, temperature)}
    for prior in _PRIORS:
        losses[prior] = fmean(
            choices.part(np.flatnonzero(folds == fold)).loss(
                _signal(choices.part(np.flatnonzero(folds != fold)), temperature, prior),
                temperature,
            )
            for fold in range(_FOLDS)
        )
    best = min(losses, key=lambda prior: losses[prior])
    if best is None:
        return {}
    signal = _signal(choices, temperature, best) / profile.weights.learned
    return {n: round(float(v), 4) for n, v in zip(choices.names, signal, strict=True) if v}


def _choices(records: Iterable[RouteRecord]) -> _Choices:
    """Records whose candidates hold a called tool; the others cannot teach an order."""
    called = [({*chain(*record.called)}, record.scores) for record in records]
    taught = [(names, scores) for names, scores in called if not names.isdisjoint(scores)]
    numbers: dict[str, int] = {}
    shape = (len(taught), max((len(scores) for _, scores in taught), default=0))
    tools, wanted = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=bool)
    padded = np.full(shape, -1e9)
    for i, (names, scores) in enumerate(taught):
        own = slice(len(scores))
        tools[i, own] = [numbers.setdefault(name, len(numbers)) for name in scores]
        padded[i, own] = [*scores.values()]
        wanted[i, own] = [name in names for name in scores]
    return _Choices(tools, padded, wanted, tuple(numbers))


def _signal(choices: _Choices, temperature: float, prior: float) -> Floats:
    """The signal under which the calls were likeliest, each tool's drawn towards 0.

    `prior` counts like that many records that speak for no change.
    """
    signal = np.zeros(len(choices.names))
    seen = np.bincount(choices.tools.ravel(), minlength=len(signal)).astype(np.float64)
    step = temperature / (np.sqrt(seen) + prior)
    for _ in range(_ROUNDS):
        chances = choices.chances(signal, temperature)
        among = chances * choices.wanted
        expected = among / np.maximum(among.sum(axis=1, keepdims=True), 1e-9)
        pull = np.bincount(
            choices.tools.ravel(), (expected - chances).ravel(), minlength=len(signal)
        )
        signal = signal + step * (pull - prior * signal / temperature)
    return signal


def _reranked(record: RouteRecord, learned: dict[str, float]) -> tuple[str, ...]:
    scores = {name: score + learned.get(name, 0.0) for name, score in record.scores.items()}
    return tuple(sorted(scores, key=lambda name: -scores[name]))


def _unseen_rankings(
    records: Sequence[RouteRecord], profile: RoutingProfile
) -> list[tuple[str, ...]]:
    """Each record's candidates in the order that the other records' lessons give them."""
    rankings: list[tuple[str, ...]] = [()] * len(records)
    for fold in range(_FOLDS):
        learned = _learned([r for i, r in enumerate(records) if i % _FOLDS != fold], profile)
        for i in range(fold, len(records), _FOLDS):
            rankings[i] = _reranked(records[i], learned)
    return rankings


def _thresholds(
    records: Sequence[RouteRecord],
    rankings: Sequence[tuple[str, ...]],
    profile: RoutingProfile,
) -> tuple[float, float]:
    """The thresholds (crisp, sure) that cover most at no more tools than the present ones."""
    free = [i for i, record in enumerate(records) if record.band in ("crisp", "moderate")]
    if not free:
        return profile.crisp, profile.sure
    chances = [_chances(records[i]) for i in free]
    covered = np.array(
        [[_is_covered(records[i], rankings[i], k) for k in range(1, _NARROW + 1)] for i in free]
    )
    rows = np.arange(len(free))

    def outcome(crisp: float, sure: float) -> tuple[float, float]:
        shifted = profile.model_copy(update={"crisp": crisp, "sure": sure})
        widths = np.array([adaptive_k(chance, profile=shifted).k for chance in chances])
        return float(covered[rows, widths - 1].mean()), float(widths.mean())

    now = (profile.crisp, profile.sure)
    limit = outcome(*now)[1]
    pairs = [(c, s) for c, s in product(_GRID, _GRID) if outcome(c, s)[1] <= limit]
    return max([now, *pairs], key=lambda pair: (outcome(*pair)[0], -outcome(*pair)[1]))


def _width(record: RouteRecord, profile: RoutingProfile) -> int:
    """How many tools the thresholds would have forwarded."""
    if record.band not in ("crisp", "moderate"):
        return record.k
    return adaptive_k(_chances(record), profile=profile).k


def _chances(record: RouteRecord) -> tuple[float, ...]:
    """The chances of each width; of a record that has none, its confidence for all of them."""
    return record.chances or (record.frame.confidence,) * CEILING


def _is_covered(record: RouteRecord, ranking: Sequence[str], k: int) -> bool:
    return record.covered_by((*ranking[:k], *record.prerequisites))


def _first_right(records: Sequence[RouteRecord], rankings: Sequence[Sequence[str]]) -> float:
    return fmean(
        any(ranking[0] in group for group in record.called)
        for record, ranking in zip(records, rankings, strict=True)
    )
