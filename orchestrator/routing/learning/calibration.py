"""Calibration: learns thresholds and a signal for each tool from records of called tools."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from statistics import fmean
from typing import Final

from orchestrator.core.record import Record
from orchestrator.routing.learning.trace import RouteRecord
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.width import CEILING, adaptive_k

_TEMPERATURES: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
_PRIORS: Final = (1.0, 3.0, 10.0, 30.0)
_FOLDS = 5
_GRID: Final = tuple(step / 20 for step in range(2, 20))
_Signal = Mapping[str, float]


class Calibration(Record):
    """A fitted profile, and its effect on the records that it was fitted to."""

    profile: RoutingProfile
    records: int = 0
    first_right_before: float = 0
    first_right_after: float = 0
    covered_before: float = 0
    covered_after: float = 0
    mean_k_before: float = 0
    mean_k_after: float = 0


def calibrate(
    records: Iterable[RouteRecord], *, profile: RoutingProfile | None = None
) -> Calibration:
    """Fit a profile to records whose called tools are known.

    The learned signal is added to a tool's score: how much more or less often the tool was called
    than its scores predict, damped by a prior whose strength is chosen by cross-validation. If no
    prior helps, there is no signal. The thresholds are those that would have covered most of the
    calls without forwarding more tools on average.

    Args:
        records: those without a call, or without scores, are skipped.
        profile: the profile of the records, and the base of the fitted one.
    """
    profile = profile or RoutingProfile()
    usable = [r for r in records if r.called and r.scores and r.band != "fail_open"]
    if not usable:
        return Calibration(profile=profile)
    learned = _learned(usable)
    unit = profile.weights.learned or 1.0
    kept = {n: round(v / unit + profile.learned.get(n, 0.0), 4) for n, v in learned.items()}
    lessons = [_learned(_others(usable, fold)) for fold in range(_FOLDS)]
    unseen = [_reranked(record, lessons[i % _FOLDS]) for i, record in enumerate(usable)]
    crisp, sure = _thresholds(usable, unseen, profile)
    fitted = profile.model_copy(
        update={"learned": {**profile.learned, **kept}, "crisp": crisp, "sure": sure}
    )

    def first_right(rankings: Sequence[tuple[str, ...]]) -> float:
        firsts = zip(usable, rankings, strict=True)
        return fmean(any(ranking[0] in group for group in r.called) for r, ranking in firsts)

    rankings = [_reranked(record, learned) for record in usable]
    after = [_width(r, fitted) for r in usable]
    plain = [tuple(record.scores) for record in usable]
    return Calibration(
        profile=fitted,
        records=len(usable),
        first_right_before=first_right(plain),
        first_right_after=first_right(rankings),
        covered_before=_covered(usable, plain, [r.k for r in usable]),
        covered_after=_covered(usable, rankings, after),
        mean_k_before=fmean(r.k for r in usable),
        mean_k_after=fmean(after),
    )


def _others(records: Sequence[RouteRecord], fold: int) -> list[RouteRecord]:
    return [record for i, record in enumerate(records) if i % _FOLDS != fold]


def _width(record: RouteRecord, profile: RoutingProfile) -> int:
    if record.band not in ("crisp", "moderate"):
        return record.k
    chances = record.chances or (record.frame.confidence,) * CEILING
    return adaptive_k(chances, profile=profile).k


def _learned(records: Sequence[RouteRecord]) -> dict[str, float]:
    """Return the addition to each tool's score; empty if it does not help unseen records."""
    taught = [record for record in records if _wanted(record)]
    if len(taught) < _FOLDS:
        return {}
    temperature = min(_TEMPERATURES, key=lambda t: _surprise(taught, {}, t))
    losses = {
        prior: fmean(
            _surprise(
                taught[fold::_FOLDS],
                _signal(_others(taught, fold), temperature, prior),
                temperature,
            )
            for fold in range(_FOLDS)
        )
        for prior in _PRIORS
    }
    best = min(losses, key=lambda prior: losses[prior])
    if losses[best] >= _surprise(taught, {}, temperature):
        return {}
    return _signal(taught, temperature, best)


def _signal(records: Iterable[RouteRecord], temperature: float, prior: float) -> dict[str, float]:
    """Return how much more often each tool was called than predicted, in units of the score.

    `prior` counts as that many expected calls.
    """
    called: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    for record in records:
        chances, wanted = _chances(record, {}, temperature), _wanted(record)
        expected.update(chances)
        share = sum(chances[name] for name in wanted) or 1.0
        called.update({name: chances[name] / share for name in wanted})
    return {
        name: temperature * math.log((called[name] + prior) / (count + prior))
        for name, count in expected.items()
    }


def _chances(record: RouteRecord, signal: _Signal, temperature: float) -> dict[str, float]:
    logits = {n: (s + signal.get(n, 0.0)) / temperature for n, s in record.scores.items()}
    top = max(logits.values())
    weights = {name: math.exp(logit - top) for name, logit in logits.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def _wanted(record: RouteRecord) -> list[str]:
    return [name for name in {*chain(*record.called)} if name in record.scores]


def _surprise(records: Sequence[RouteRecord], signal: _Signal, temperature: float) -> float:
    chances = [(_chances(record, signal, temperature), _wanted(record)) for record in records]
    return -fmean(math.log(max(sum(c[n] for n in wanted), 1e-9)) for c, wanted in chances)


def _reranked(record: RouteRecord, learned: _Signal) -> tuple[str, ...]:
    scores = {name: score + learned.get(name, 0.0) for name, score in record.scores.items()}
    return tuple(sorted(scores, key=lambda name: -scores[name]))


def _thresholds(
    records: Sequence[RouteRecord],
    rankings: Sequence[tuple[str, ...]],
    profile: RoutingProfile,
) -> tuple[float, float]:
    """Return the thresholds (crisp, sure) that cover most calls without forwarding more tools."""
    free = [i for i, record in enumerate(records) if record.band in ("crisp", "moderate")]
    now = (profile.crisp, profile.sure)
    if not free:
        return now
    own = [records[i] for i in free]
    covers = [
        [_covered([records[i]], [rankings[i]], [k]) for k in range(1, CEILING + 1)] for i in free
    ]

    def outcome(pair: tuple[float, float]) -> tuple[float, float]:
        shifted = profile.model_copy(update={"crisp": pair[0], "sure": pair[1]})
        widths = [_width(record, shifted) for record in own]
        covered = fmean(row[k - 1] for row, k in zip(covers, widths, strict=True))
        return covered, -fmean(widths)

    outcomes = {pair: outcome(pair) for pair in (now, *product(_GRID, _GRID))}
    narrow = (pair for pair in outcomes if outcomes[pair][1] >= outcomes[now][1])
    return max(narrow, key=lambda pair: outcomes[pair])


def _covered(
    records: Sequence[RouteRecord], rankings: Sequence[Sequence[str]], widths: Sequence[int]
) -> float:
    return fmean(
        record.covered_by((*ranking[:k], *record.prerequisites))
        for record, ranking, k in zip(records, rankings, widths, strict=True)
    )
