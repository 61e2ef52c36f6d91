"""Records of selections, without any words of requests, and usage statistics of a proxy."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, quantiles

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.language.intent import Action, SlotKind
from orchestrator.language.words import is_verb
from orchestrator.routing.selection import Band, Selection

SHADOW_WIDTHS: Mapping[str, int] = {"fixed_1": 1, "fixed_3": 3, "fixed_5": 5, "fixed_10": 10}


class FrameTrace(Record):
    """An intent frame without its words: kinds of values, counts of objects."""

    domain: str | None = None
    action: Action = Action.UNKNOWN
    verb: str = Field(default="", description="only if it is one of the router's own verbs")
    slot_kinds: tuple[SlotKind, ...] = ()
    objects: int = 0
    references: int = 0
    clauses: int = 0
    side_effect_allowed: bool = False
    previous_tool_error: bool = False
    confidence: float = 0.0


class RouteRecord(Record):
    """A selection; its strings are only ids, tool names and constants of the router."""

    mission_id: str = ""
    leg_id: str = ""
    step: int = 0
    catalog_digest: str = ""
    frame: FrameTrace
    band: Band
    reason: str
    k: int
    tools: tuple[str, ...] = Field(description="forwarded; empty when all of the catalog were")
    prerequisites: tuple[str, ...] = ()
    catalog_size: int
    embedder: str = Field(default="", description="as in the selection")
    scores: dict[str, float] = Field(description="fused score of the best candidates, best first")
    chances: tuple[float, ...] = Field(
        default=(), description="probability that the best 1, 2, 3 and 4 tools suffice"
    )
    fits: bool = Field(default=True, description="as in the selection, as is the next")
    fitness: float | None = None
    shadows: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="tools that other ways to choose would have forwarded"
    )
    called: tuple[tuple[str, ...], ...] = Field(
        default=(), description="the tools called in the end; one of each group was enough"
    )
    mode: str = Field(default="", description="of the proxy; empty where none was in between")
    offered: int = Field(default=0, description="tools of a proxied request; 0 without a proxy")
    forwarded: int = Field(default=0, description="those of them that the model saw")
    stayed: tuple[str, ...] = Field(
        default=(), description="forwarded without being chosen: called before, named or marked"
    )
    tokens_saved: int = Field(
        default=0, description="of the tools left out, a quarter of their characters"
    )
    overhead_ms: float | None = Field(default=None, description="added to the call by the proxy")

    def covered_by(self, tools: tuple[str, ...]) -> bool:
        """Return True if these tools, or all of them after a fail-open, include the called ones."""
        if self.band == "fail_open":
            return True
        return all(not set(group).isdisjoint(tools) for group in self.called)


def record_of(
    selection: Selection,
    *,
    mission_id: str = "",
    leg_id: str = "",
    step: int = 0,
    catalog_digest: str = "",
    called: tuple[tuple[str, ...], ...] = (),
) -> RouteRecord:
    """Return the record of a selection."""
    is_open = selection.band == "fail_open"
    return RouteRecord(
        mission_id=mission_id,
        leg_id=leg_id,
        step=step,
        catalog_digest=catalog_digest,
        frame=FrameTrace(
            domain=selection.frame.domain,
            action=selection.frame.action,
            verb=selection.frame.verb if is_verb(selection.frame.verb) else "",
            slot_kinds=tuple(slot.kind for slot in selection.frame.slots),
            objects=len(selection.frame.objects),
            references=len(selection.frame.references),
            clauses=len(selection.frame.clauses),
            side_effect_allowed=selection.frame.side_effect_allowed,
            previous_tool_error=selection.frame.previous_tool_error,
            confidence=selection.frame.confidence,
        ),
        band=selection.band,
        reason=selection.reason,
        k=selection.k,
        tools=() if is_open else selection.tools,
        prerequisites=selection.prerequisites,
        catalog_size=selection.catalog_size,
        embedder=selection.embedder,
        scores=selection.scores,
        chances=selection.chances,
        fits=selection.fits,
        fitness=selection.fitness,
        shadows=shadows_of(selection),
        called=called,
    )


def shadows_of(selection: Selection) -> dict[str, tuple[str, ...]]:
    """Return the tools that fixed numbers, and one tool less or more, would have forwarded.

    Prerequisites are excluded, as no fixed number accounts for them; empty after a fail-open.
    """
    if selection.band == "fail_open":
        return {}
    ranked = tuple(selection.scores)
    widths = {**SHADOW_WIDTHS, "narrower": max(1, selection.k - 1), "wider": selection.k + 1}
    return {name: ranked[:width] for name, width in widths.items()}


# --- usage of a proxy -----------------------------------------------------------------------


class ProxyUsage(Record):
    """Statistics over the records of a proxy."""

    requests: int = 0
    unread: int = Field(default=0, description="compressed ones that could not be read")
    calls: int = Field(default=0, description="tools that models called")
    recall: float | None = Field(
        default=None,
        description="share of the calls whose tool was forwarded, or would have been in a shadow; "
        "None before the first call",
    )
    mean_offered: float = 0
    mean_forwarded: float = Field(default=0, description="in a shadow: that would have been")
    tokens_saved: int = Field(default=0, description="about; in a shadow: that would have been")
    fail_open: float = Field(default=0, description="share of the requests with all their tools")
    overhead_p50_ms: float | None = None
    overhead_p99_ms: float | None = None
    bands: dict[str, int] = Field(default_factory=dict, description="requests by band")
    modes: dict[str, int] = Field(default_factory=dict, description="requests by mode")
    widths: dict[int, int] = Field(
        default_factory=dict, description="requests by how many tools were forwarded"
    )


def usage_of(records: Sequence[RouteRecord]) -> ProxyUsage:
    """Return the statistics of a proxy's records; records of missions are ignored."""
    own = [record for record in records if record.offered]
    unread = sum(bool(record.mode) and not record.offered for record in records)
    if not own:
        return ProxyUsage(unread=unread)
    called = [(name, record) for record in own for group in record.called for name in group]
    overheads = sorted(r.overhead_ms for r in own if r.overhead_ms is not None)
    widths = Counter(record.forwarded for record in own)
    return ProxyUsage(
        requests=len(own),
        unread=unread,
        calls=len(called),
        recall=_share([r.band == "fail_open" or n in (*r.tools, *r.stayed) for n, r in called]),
        mean_offered=fmean(record.offered for record in own),
        mean_forwarded=fmean(record.forwarded for record in own),
        tokens_saved=sum(record.tokens_saved for record in own),
        fail_open=_share([record.band == "fail_open" for record in own]) or 0,
        overhead_p50_ms=_percentile(overheads, 50),
        overhead_p99_ms=_percentile(overheads, 99),
        bands=dict(Counter(record.band for record in own).most_common()),
        modes=dict(Counter(record.mode for record in own).most_common()),
        widths=dict(sorted(widths.items())),
    )


def _share(facts: Sequence[bool]) -> float | None:
    return fmean(facts) if facts else None


def _percentile(values: Sequence[float], percent: int) -> float | None:
    if not values:
        return None
    return quantiles([*values, *values], n=100, method="inclusive")[percent - 1]
