"""How many tools are forwarded against how often they are all that is needed, for a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from pydantic import Field

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import Record
from orchestrator.routing.learning.evaluation import JudgedAnswer, coverage_at, open_folder
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.router import Explanation, Router
from orchestrator.routing.scoring.embedding import CardSimilarity
from orchestrator.routing.selection import RouteContext

GAINS: Final = (0.2, 0.14, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02)
"""What a tool must be worth at each point of the curve; see `RoutingProfile.gain`."""


class CurvePoint(Record):
    """One point: what a `gain` in the profile leads to."""

    gain: float = Field(description="of the routing profile")
    mean_forwarded: float = Field(description="tools forwarded, prerequisites counted")
    forwarded_coverage: float = Field(description="requests with all that they need forwarded")
    fixed_coverage: float = Field(description="the same at that number of first tools")


def width_curve(
    folder: str | Path,
    *,
    split: str | None = "eval",
    profile: RoutingProfile | None = None,
    similarity: Callable[[Catalog], CardSimilarity] | None = None,
    progress: Callable[[int, int], object] = lambda done, of: None,
) -> tuple[CurvePoint, ...]:
    """The points of a folder's curve, from few tools to many; arguments as for `evaluate`.

    Raises:
        DocumentUnreadable: a file is missing or a line is not what it should be.
        UsageError: there are no queries.
    """
    catalog, queries = open_folder(folder, split=split)
    router = Router(
        catalog, profile=profile, similarity=similarity(catalog) if similarity else None
    )
    asked = [query for query in queries if query.groups]
    answers: list[JudgedAnswer] = []
    forwarded: list[list[frozenset[str]]] = []
    for query in asked:
        explanation = router.explain(query.query)
        answers.append(
            JudgedAnswer(
                query, router.rank(query.query), explanation.selection, score=0.0, seconds=None
            )
        )
        forwarded.append([_forwarded(router, explanation, gain) for gain in GAINS])
        progress(len(answers), len(asked))
    return tuple(_point(i, answers, forwarded) for i in range(len(GAINS) if asked else 0))


def _forwarded(router: Router, explanation: Explanation, gain: float) -> frozenset[str]:
    if explanation.request is None:
        return frozenset(explanation.selection.tools)
    selection = router.selection_of(explanation.request, RouteContext(), gain=gain)
    return frozenset(selection.tools)


def _point(
    at: int, answers: Sequence[JudgedAnswer], forwarded: Sequence[Sequence[frozenset[str]]]
) -> CurvePoint:
    size = fmean(len(chosen[at]) for chosen in forwarded)
    pairs = zip(answers, forwarded, strict=True)
    return CurvePoint(
        gain=GAINS[at],
        mean_forwarded=size,
        forwarded_coverage=fmean(a.query.is_covered(chosen[at]) for a, chosen in pairs),
        fixed_coverage=coverage_at(answers, size) or 0.0,
    )
