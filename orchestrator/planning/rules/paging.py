"""Pages of lists: detects that an answer continues, and builds the next page's arguments."""

from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, urlsplit

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import tokens
from orchestrator.planning.models import Observation
from orchestrator.planning.rules.items import flat_fields
from orchestrator.planning.rules.parameters import as_typed, tool_parameters


@read_once
def turning_inputs(tool: Tool) -> frozenset[str]:
    """Return the inputs of a search that select the page of its list."""
    turning = (lexicon.CURSOR | lexicon.TURNING) - {"token"}
    named = ((name, {*tokens(name)}) for name in tool.properties)
    return frozenset(n for n, words in named if words & turning and not words & lexicon.SIZES)


def goes_on(body: JsonValue) -> bool:
    """Return True if an answer indicates that its list continues."""
    return any(True for _ in _said_of_more(body))


def next_page(tool: Tool, page: Observation) -> JsonObject:
    """Return the arguments for the next page; {} after the last page, or if unclear.

    They use a link or a cursor in the answer. If the answer says only that there is more, they use
    the page number, the number of items read, or the id of the last item.
    """
    turning = turning_inputs(tool)
    only = next(iter(turning)) if len(turning) == 1 else None
    for words, value in _said_of_more(page.body):
        if isinstance(value, str) and "?" in value:
            query = dict(parse_qsl(urlsplit(value).query))
            if found := _typed(tool, {n: v for n, v in query.items() if n in turning}):
                return found
        elif only is None:
            continue
        elif value is True:
            return _typed(tool, {only: _counted(only, page)})
        elif words & (lexicon.CURSOR | lexicon.TURNING):
            return _typed(tool, {only: value})
    return {}


def page_after(tool: Tool, pages: Sequence[Observation]) -> JsonObject:
    """Return the arguments for a page that no answer speaks of; {} if there can be none.

    Headers and totals may say that a list continues, and planners see no headers. A page by its
    number or its offset can be asked for all the same; an empty or repeated one is the end.
    """
    only = [name for name in turning_inputs(tool) if {*tokens(name)} & lexicon.TURNING]
    if len(only) != 1 or len(turning_inputs(tool)) != 1 or not pages:
        return {}
    page, earlier = pages[-1], [one.body for one in pages[:-1]]
    if page.body in earlier or not _listed(page.body):
        return {}
    return _typed(tool, {only[0]: _counted(only[0], page)})


def _listed(body: JsonValue) -> list[JsonValue]:
    """Return the longest list of an answer."""
    lists = body.values() if isinstance(body, dict) else (body,)
    return max((one for one in lists if isinstance(one, list)), key=len, default=[])


def _said_of_more(body: JsonValue) -> Iterator[tuple[set[str], JsonValue]]:
    for name, value in flat_fields(body):
        words = {*tokens(name)}
        is_link = isinstance(value, str) and "?" in value
        is_place = bool(words & (lexicon.CURSOR | lexicon.TURNING)) and not isinstance(value, bool)
        if words & lexicon.MORE and value and (value is True or is_link or is_place):
            yield words, value


def _counted(name: str, page: Observation) -> JsonValue:
    """Return the position after a page, in the terms of its input; None if they are unclear."""
    words, own = {*tokens(name)}, page.arguments.get(name)
    listed = _listed(page.body)
    if "page" in words:
        return (own if isinstance(own, int) else 1) + 1
    if words & lexicon.TURNING:
        return (own if isinstance(own, int) else 0) + len(listed)
    last = listed[-1] if listed else None
    if not isinstance(last, dict):
        return None
    ids = [value for n, value in last.items() if {*tokens(n)[-1:]} & {"id", "uuid"}]
    return last.get("id", ids[0] if len(ids) == 1 else None)


def _typed(tool: Tool, values: JsonObject) -> JsonObject:
    by_name = {one.name: one for one in tool_parameters(tool)}
    read = {n: by_name[n].first_accepted(*as_typed(v)) for n, v in values.items() if n in by_name}
    return {name: value for name, value in read.items() if value is not None}
