"""What a wish comes to: not the search that is nearest to it, but what makes the thing ours."""

from collections.abc import Iterator, Mapping
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.language.anaphora import reference_in
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import split_clauses, without_lead
from orchestrator.language.deeds import is_vague, same_deed
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action, IntentFrame
from orchestrator.language.wishes import WishedThing, wish_of
from orchestrator.language.words import STOP_WORDS, content_stems, stem, tokens
from orchestrator.planning.order_deeds import makes, named
from orchestrator.planning.order_words import is_question
from orchestrator.planning.rules.answers import answer_fields, is_listing
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.routing.selection import Selection

_KINDS: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.DATE: ("date",),
    Kind.TIME: ("time",),
    Kind.DATETIME: ("date", "time"),
    Kind.COUNT: ("quantity",),
}
_STATED: Final = frozenset({"date", "time", "quantity"})
_TELLING: Final = frozenset({"time", "quantity"})
"""Kinds of values by which nobody looks for a thing whose search takes none."""


def wished_for(nearest: Tool, selection: Selection, catalog: Catalog, goal: str = "") -> Tool:
    """The tool that grants the wish of a request, in the domain of the one that is nearest to it.

    That is `nearest` itself where nothing is wished for, or no single tool makes such a thing: "I
    need a forecast" is granted by reading it. Nor where the `goal` orders it in another clause: "I
    need a car. Book the cheapest" books one.
    """
    wish = next(filter(None, map(wish_of, selection.frame.clauses[:1])), None)
    if nearest.effect is not Effect.READ:
        is_had_later = wish is not None and _is_ordered_later(nearest, goal)
        return _search_for(nearest, catalog) or nearest if is_had_later else nearest
    if (shown := _shown_by_example(nearest, selection.frame, catalog)) is not None:
        return shown
    if wish is None:
        return _stated(nearest, selection.frame, catalog) or nearest
    able = [t for t in catalog.tools.values() if t.domain == nearest.domain and makes(t)]
    granting = [tool for tool in able if tool.is_side_effect and _grants(tool, wish, nearest)]
    chosen = [tool for tool in granting if tool.name in selection.tools] or granting
    if len(chosen) != 1 or _is_ordered_later(chosen[0], goal):
        return nearest
    return chosen[0]


def _stated(nearest: Tool, frame: IntentFrame, catalog: Catalog) -> Tool | None:
    """What makes the thing that a clause without a verb states: "lunch with Sam at 12:30".

    Nobody looks for things by an hour that no search takes, nor by how many packs of it they want;
    the one tool that takes all that is stated is meant.
    """
    text = next(iter(frame.clauses), "")
    stated = {slot.kind for slot in frame.slots if slot.kind in _STATED}
    clause = read_clause(text)
    if frame.action is not Action.UNKNOWN or is_question(clause) or not stated & _TELLING:
        return None
    first = next((word for word in tokens(text) if word not in STOP_WORDS), "")
    if stated <= _takes(nearest) or (singular(first) != first and first in tokens(nearest.name)):
        return None  # "events at 15:00" are looked for
    domain = (t for t in catalog.tools.values() if t.domain == nearest.domain)
    able = [t for t in domain if t.is_side_effect and makes(t) and stated <= _takes(t)]
    said = {*content_stems(text)}
    scores = [len(said & {*content_stems(tool.summary)}) for tool in able]
    best = [t for t, score in zip(able, scores, strict=True) if score == max(scores)]
    return best[0] if len(best) == 1 else None


def _takes(tool: Tool) -> set[str]:
    """The kinds of values that the inputs of a tool take."""
    return {kind for p in tool_parameters(tool) for kind in _KINDS.get(p.kind, ())}


def _search_for(tool: Tool, catalog: Catalog) -> Tool | None:
    """What lists the things that the tool takes one of."""
    listings = (t for t in catalog.tools.values() if t.domain == tool.domain and is_listing(t))
    return next((t for t in listings if not t.is_side_effect and _is_fed_by(tool, t)), None)


def _is_ordered_later(tool: Tool, goal: str) -> bool:
    """Whether a clause of the goal orders by its own verb what another one wishes for.

    What is wished for in the clause itself orders nothing later: ", bringing it back on Friday".
    """
    verb, _ = named(tool)
    return any(
        reference_in(clause) and (same_deed(said, verb) or is_vague(said))
        for clause in split_clauses(goal)
        if wish_of(clause) is None and (said := read_clause(clause).verb)
    )


def _shown_by_example(nearest: Tool, frame: IntentFrame, catalog: Catalog) -> Tool | None:
    """The one tool of the domain whose examples begin with a verb that no lexicon holds.

    "Board Milo over the weekend" is what the document itself calls a booking.
    """
    if frame.action is not Action.UNKNOWN or not frame.verb:
        return None
    domain = [tool for tool in catalog.tools.values() if tool.domain == nearest.domain]
    begun = [t for t in domain if any(_verb(example) == frame.verb for example in t.examples)]
    return begun[0] if len(begun) == 1 and begun[0].is_side_effect else None


def _verb(example: str) -> str:
    return next(iter(tokens(without_lead(example))), "")


def _grants(tool: Tool, wish: WishedThing, nearest: Tool) -> bool:
    """Whether the tool makes the thing that is named, or what the nearest one finds its like of."""
    if not wish.thing:
        return _is_fed_by(tool, nearest)
    thing = stem(wish.thing)
    if thing in {stem(option) for p in tool_parameters(nearest) for option in p.options}:
        return _is_fed_by(tool, nearest)
    chosen = {stem(p.words[-2]) for p in _ids(tool) if len(p.words) > 1}
    return thing in {*content_stems(tool.name), *content_stems(tool.summary)} - chosen


def _is_fed_by(tool: Tool, search: Tool) -> bool:
    return any(p.names & answer_fields(search) for p in _ids(tool))


def _ids(tool: Tool) -> Iterator[Parameter]:
    """The inputs that name what was found, as a search gives it."""
    return (p for p in tool_parameters(tool) if p.required and p.kind is Kind.IDENTIFIER)
