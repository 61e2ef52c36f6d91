"""What a wish comes to: not the search that is nearest to it, but what makes the thing ours."""

from collections.abc import Iterator

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.language.clauses import without_lead
from orchestrator.language.intent import Action, IntentFrame
from orchestrator.language.wishes import Wish, wish_of
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.order_deeds import makes
from orchestrator.planning.rules.answers import answer_fields
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.routing.selection import Selection


def wished_for(nearest: Tool, selection: Selection, catalog: Catalog) -> Tool:
    """The tool that grants the wish of a request, in the domain of the one that is nearest to it.

    That is `nearest` itself where nothing is wished for, or no single tool makes such a thing: "I
    need a forecast" is granted by reading it.
    """
    if nearest.effect is not Effect.READ:
        return nearest
    if (shown := _shown_by_example(nearest, selection.frame, catalog)) is not None:
        return shown
    wish = next(filter(None, map(wish_of, selection.frame.clauses[:1])), None)
    if wish is None:
        return nearest
    able = [t for t in catalog.tools.values() if t.domain == nearest.domain and makes(t)]
    granting = [tool for tool in able if tool.is_side_effect and _grants(tool, wish, nearest)]
    chosen = [tool for tool in granting if tool.name in selection.tools] or granting
    return chosen[0] if len(chosen) == 1 else nearest


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


def _grants(tool: Tool, wish: Wish, nearest: Tool) -> bool:
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
