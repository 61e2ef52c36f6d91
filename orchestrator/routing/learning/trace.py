"""What is kept of a selection: enough to learn from, and nothing that the request said."""

from collections.abc import Mapping

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.language.intent import Action, IntentFrame, SlotKind
from orchestrator.language.words import is_verb
from orchestrator.routing.selection import Band, Selection

SHADOW_WIDTHS: Mapping[str, int] = {"fixed_1": 1, "fixed_3": 3, "fixed_5": 5, "fixed_10": 10}


class FrameTrace(Record):
    """An intent frame without its words: of values only the kinds, of objects only how many."""

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
    """One selection; every string in it is an id, a tool's name or one of the router's own."""

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
        default=(), description="that the best 1, 2, 3 and 4 tools are all that is needed"
    )
    fits: bool = Field(default=True, description="as in the selection, as is the next")
    fitness: float | None = None
    shadows: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="what other ways to choose would have forwarded"
    )
    called: tuple[tuple[str, ...], ...] = Field(
        default=(), description="the tools called in the end; one of each group was enough"
    )
    mode: str = Field(default="", description="of the proxy; empty where none was in between")
    offered: int = Field(default=0, description="tools of a proxied request; 0 without a proxy")
    forwarded: int = Field(default=0, description="those of them that the model was told of")
    stayed: tuple[str, ...] = Field(
        default=(), description="forwarded, though not chosen: called before, named or marked"
    )
    tokens_saved: int = Field(
        default=0, description="of what was left out, a quarter of its characters"
    )
    overhead_ms: float | None = Field(default=None, description="what the proxy added to a call")

    def covered_by(self, tools: tuple[str, ...]) -> bool:
        """Whether these tools, or all of them after a fail-open, hold what was called."""
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
    """The record of a selection."""
    is_open = selection.band == "fail_open"
    return RouteRecord(
        mission_id=mission_id,
        leg_id=leg_id,
        step=step,
        catalog_digest=catalog_digest,
        frame=_frame_trace(selection.frame),
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
    """What fixed numbers of tools, and one tool less or more, would have forwarded.

    Prerequisites, which no fixed number knows of, are left out; nothing after a fail-open.
    """
    if selection.band == "fail_open":
        return {}
    ranked = tuple(selection.scores)
    widths = {**SHADOW_WIDTHS, "narrower": max(1, selection.k - 1), "wider": selection.k + 1}
    return {name: ranked[:width] for name, width in widths.items()}


def _frame_trace(frame: IntentFrame) -> FrameTrace:
    return FrameTrace(
        domain=frame.domain,
        action=frame.action,
        verb=frame.verb if is_verb(frame.verb) else "",
        slot_kinds=tuple(slot.kind for slot in frame.slots),
        objects=len(frame.objects),
        references=len(frame.references),
        clauses=len(frame.clauses),
        side_effect_allowed=frame.side_effect_allowed,
        previous_tool_error=frame.previous_tool_error,
        confidence=frame.confidence,
    )
