"""Evaluation: routing metrics for a folder of tools and queries with known answers."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import DocumentUnreadable, UsageError
from orchestrator.core.record import Record
from orchestrator.core.wall import Wall
from orchestrator.routing.learning.trace import RouteRecord, record_of
from orchestrator.routing.profile import RoutingProfile
from orchestrator.routing.router import Router
from orchestrator.routing.scoring.embedding import CardSimilarity
from orchestrator.routing.selection import USED, Band, RouteContext, Selection

CUTOFFS = (1, 3, 5)


class Query(Record):
    """A request and the tools that it needs; an empty `gold`: no tool should be called."""

    id: str = ""
    query: str
    gold: tuple[str, ...] = ()
    gold_groups: tuple[tuple[str, ...], ...] = Field(
        default=(), description="where tools are equivalent: one of each group suffices"
    )
    candidates: tuple[str, ...] | None = Field(default=None, description="None: the whole catalog")
    split: str = ""
    kind: str = Field(default="", description="category of the request, if the folder has one")

    @property
    def groups(self) -> tuple[frozenset[str], ...]:
        """The groups of tools, of each of which one tool is needed."""
        if self.gold_groups:
            return tuple(frozenset(group) for group in self.gold_groups)
        return tuple(frozenset({name}) for name in self.gold)

    def is_covered(self, names: Collection[str]) -> bool:
        """Return True if these tools include all that are needed."""
        return all(not group.isdisjoint(names) for group in self.groups)


class Evaluation(Record):
    """The metrics of one folder; shares lie in [0, 1], None without an applicable query."""

    tools: int = Field(description="in the catalog")
    queries: int = Field(description="requests that were routed")
    recall_at: dict[int, float | None] = Field(
        description="share of the gold tools in so many first ones, at a fixed K"
    )
    forwarded_recall_at: dict[int, float | None] = Field(
        description="the same of those that were forwarded"
    )
    coverage_at_5: float | None = Field(
        description="requests for several tools with all of them in the first five"
    )
    ndcg_at_5: float | None = Field(description="discounted gain over the best possible")
    forwarded_recall: float | None = Field(description="share of the gold tools forwarded")
    forwarded_coverage: float | None = Field(description="requests with all gold tools forwarded")
    fixed_coverage: float | None = Field(
        description="the same at a fixed number of first tools equal to the mean forwarded"
    )
    mean_k: float | None = Field(description="tools forwarded, prerequisites not counted")
    mean_forwarded: float | None = Field(description="prerequisites counted")
    bands: dict[Band, int] = Field(description="requests in each band")
    fail_open: int = Field(description="requests for which every tool was forwarded")
    embedder_used: int | None = Field(description="requests with vectors; None without an embedder")
    nothing_fits_auroc: float | None = Field(
        description="chance that a request some tool fits scores above one that none fits"
    )
    nothing_fits_by_kind: dict[str, float] = Field(
        default_factory=dict, description="the same for each kind of request that no tool fits"
    )
    latency_p50_ms: float | None = Field(description="of one routing, each request once")
    latency_p99_ms: float | None = Field(description="the same, all but one in a hundred")


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """The answer of a router, or of a baseline, to one query."""

    query: Query
    ranking: Sequence[str]
    selection: Selection
    score: float
    seconds: float | None

    def found(self, names: Iterable[str]) -> float:
        """Return the share of the needed tools among these."""
        held = set(names)
        groups = self.query.groups
        return sum(not held.isdisjoint(group) for group in groups) / len(groups)


def evaluate(
    folder: str | Path,
    *,
    split: str | None = "eval",
    profile: RoutingProfile | None = None,
    clock: Callable[[], float] | None = None,
    traces: Callable[[RouteRecord], object] | None = None,
    similarity: Callable[[Catalog], CardSimilarity] | None = None,
    progress: Callable[[int, int], object] = lambda done, of: None,
) -> Evaluation:
    """Route every query of a folder and compare the selections with its gold tools.

    Args:
        folder: contains tools.jsonl (function schemas) and queries.jsonl (see `Query`).
        split: only queries of that split; None, or a split that no query names, selects all.
        profile: the routing profile; the defaults when None.
        clock: seconds from any origin, e.g. time.perf_counter; None leaves latencies out.
        traces: called with the record of each query that some tool fits, with its gold tools as the
            called ones.
        similarity: an embedder's view of a catalog's cards; None: no vectors.
        progress: called after each query with the number done and the total.

    Raises:
        DocumentUnreadable: a file is missing or a line is malformed.
        UsageError: there are no queries.
    """
    catalog, queries = open_folder(folder, split=split)
    router = Router(
        catalog, profile=profile, similarity=similarity(catalog) if similarity else None
    )
    answers = []
    for query in queries:
        start = clock() if clock else 0.0
        selection = router.route(query.query, _context(query))
        seconds = clock() - start if clock else None
        ranking = router.rank(query.query)
        if query.candidates is not None:
            ranking = [name for name in ranking if name in query.candidates]
        score = router.best_score(query.query, among=query.candidates)
        answers.append(JudgedAnswer(query, ranking, selection, score, seconds))
        progress(len(answers), len(queries))
    for answer in answers:
        if traces and answer.query.groups:
            called = tuple(tuple(sorted(group)) for group in answer.query.groups)
            traces(record_of(answer.selection, catalog_digest=catalog.digest, called=called))
    return summarise(answers, len(catalog))


def open_folder(folder: str | Path, *, split: str | None) -> tuple[Catalog, list[Query]]:
    """Return the tools of a folder, and its queries of one split; see `evaluate`."""
    root = Path(folder)
    catalog = Catalog.from_functions(_read_lines(root / "tools.jsonl"))
    path = root / "queries.jsonl"
    try:
        queries = [Query.model_validate(line) for line in _read_lines(path)]
    except ValidationError as error:
        raise DocumentUnreadable(str(path), "a line is not a query with its gold tools") from error
    if not queries:
        raise UsageError(f"{path} holds no queries")
    return catalog, ([query for query in queries if query.split == split] or queries)


def summarise(answers: Sequence[JudgedAnswer], tools: int) -> Evaluation:
    """Return the metrics of the answers to the queries of one folder."""
    asked = [a for a in answers if a.query.groups]
    several = [a for a in asked if len(a.query.groups) > 1]
    seconds = [a.seconds * 1000 for a in answers if a.seconds is not None]
    forwarded = _mean(len(a.selection.tools) for a in asked)
    embedders = [a.selection.embedder for a in answers]
    fitting = [answer.score for answer in answers if answer.query.groups]
    scores: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        if not answer.query.groups:
            scores[answer.query.kind].append(answer.score)
    found = {kind: _auroc(fitting, negatives) for kind, negatives in sorted(scores.items())}
    return Evaluation(
        tools=tools,
        queries=len(answers),
        recall_at={k: _mean(a.found(a.ranking[:k]) for a in asked) for k in CUTOFFS},
        forwarded_recall_at={
            k: _mean(a.found(a.selection.tools[:k]) for a in asked) for k in CUTOFFS
        },
        coverage_at_5=_mean(a.found(a.ranking[:5]) == 1 for a in several),
        ndcg_at_5=_mean(_ndcg(a.ranking[:5], a.query) for a in asked),
        forwarded_recall=_mean(a.found(a.selection.tools) for a in asked),
        forwarded_coverage=_mean(a.found(a.selection.tools) == 1 for a in asked),
        fixed_coverage=coverage_at(asked, forwarded) if forwarded is not None else None,
        mean_k=_mean(a.selection.k for a in asked),
        mean_forwarded=forwarded,
        bands=dict(Counter(a.selection.band for a in answers)),
        fail_open=sum(a.selection.band == "fail_open" for a in answers),
        embedder_used=sum(how == USED for how in embedders) if any(embedders) else None,
        nothing_fits_auroc=_auroc(
            [a.score for a in asked], [a.score for a in answers if not a.query.groups]
        ),
        nothing_fits_by_kind={kind: auroc for kind, auroc in found.items() if auroc is not None},
        latency_p50_ms=_percentile(seconds, 50),
        latency_p99_ms=_percentile(seconds, 99),
    )


def _context(query: Query) -> RouteContext:
    if not query.candidates:
        return RouteContext()
    return RouteContext(walls=(Wall(agent=query.id, tools=query.candidates),))


def _read_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DocumentUnreadable(str(path), error.strerror or "no such file") from error
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            value = json.loads(line) if line.strip() else None
        except ValueError as error:
            raise DocumentUnreadable(str(path), f"line {number} is not JSON") from error
        if isinstance(value, dict):
            yield value
        elif line.strip():
            raise DocumentUnreadable(str(path), f"line {number} is not a JSON object")


def _ndcg(ranking: Sequence[str], query: Query) -> float:
    left = list(query.groups)
    gain = 0.0
    for position, name in enumerate(ranking):
        hit = next((group for group in left if name in group), None)
        if hit is not None:
            left.remove(hit)
            gain += 1 / math.log2(position + 2)
    best = min(5, len(query.groups))
    return gain / sum(1 / math.log2(position + 2) for position in range(best))


def coverage_at(answers: Collection[JudgedAnswer], size: float) -> float | None:
    """Return the share of requests that a fixed number of tools covers, interpolated."""
    low = math.floor(size)
    at_low = _mean(a.found(a.ranking[:low]) == 1 for a in answers)
    at_high = _mean(a.found(a.ranking[: low + 1]) == 1 for a in answers)
    if at_low is None or at_high is None:
        return None
    return at_low + (size - low) * (at_high - at_low)


def _auroc(positives: Sequence[float], negatives: Sequence[float]) -> float | None:
    if not positives or not negatives:
        return None
    ordered = np.sort(negatives)
    below, not_above = (np.searchsorted(ordered, positives, side) for side in ("left", "right"))
    return float((below + not_above).sum()) / (2 * len(positives) * len(negatives))


def _mean(values: Iterable[float]) -> float | None:
    collected = list(values)
    return fmean(collected) if collected else None


def _percentile(values: Sequence[float], percent: int) -> float | None:
    return float(np.percentile(values, percent)) if values else None
