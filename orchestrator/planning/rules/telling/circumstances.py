"""When, where and what for a call was made, in the words that stand behind what it found."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import tokens
from orchestrator.planning.rules.parameters import Kind, tool_parameters
from orchestrator.planning.rules.telling.told_field import Told, told_fields

_PAGES: Final = lexicon.PAGING - {"order"}
_FIRST: Final = frozenset({"start", "from", "after", "since"})
"""Words of a day that is the first of those that were asked for, when no last one was."""
_ORDER: Final = ("origin", "destination", "place", "when", "query")


def circumstances(tool: Tool, arguments: JsonObject, now: datetime) -> tuple[str, str]:
    """What the arguments of a call say: what is told of anything found, and the rest.

    `(" in Lisbon from 3 to 6 December", "guests 2, stars 4")`.
    """
    told = [t for t in _stated(tool, arguments, now) if not t.is_id]
    queries = {p.name for p in tool_parameters(tool) if p.kind is Kind.QUERY}
    parts: dict[str, list[str]] = {key: [] for key in _ORDER}
    rest: list[str] = []
    for one in told:
        key, text = _placed(one, queries)
        if key:
            parts[key].append(text)
        else:
            rest.append(one.phrase)
    front = [text for key in _ORDER for text in parts[key]]
    return "".join(f" {text}" for text in front), ", ".join(rest)


def _stated(tool: Tool, arguments: JsonObject, now: datetime) -> Sequence[Told]:
    """The arguments that a person stated or would recognise; no references, no defaults."""
    known = tool.properties
    kept = {
        name: value
        for name, value in arguments.items()
        if name not in tool.reference_inputs
        and not set(tokens(name)) & _PAGES
        and name not in tool.pii_fields
        and not is_handle(value)
        and value != known.get(name, {}).get("default")
    }
    return told_fields(kept, tool.input_schema, tool.input_schema, now)


def _placed(told: Told, queries: set[str]) -> tuple[str, str]:
    if told.name in queries:
        return "query", f"about {told.said!r}"
    if told.sort in ("date", "moment"):
        is_first = len(told.names) > 1 or bool({*told.words} & _FIRST)
        is_last = not is_first and not lexicon.END.isdisjoint(told.words)
        return "when", f"{'from' if is_first else 'until' if is_last else 'on'} {told.said}"
    if told.sort == "time":
        return "when", f"at {told.said}"
    if told.sort == "text" and told.words:
        last = told.words[-1]
        if last == "route":
            return "origin", f"from {told.said}"
        if set(told.words) & (lexicon.ORIGIN - lexicon.PLACE) or "origin" in told.words:
            return "origin", f"from {told.said}"
        if last in ("destination", "dest", "to"):
            return "destination", f"to {told.said}"
        if set(told.words) & lexicon.PLACE:
            return "place", f"in {told.said}"
    return "", ""
