"""Searches that answer page by page: the next page, and whether what was told is all there is."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.words import tokens
from orchestrator.planning.models import CallTool, Observation
from orchestrator.planning.rules.answers import flat_fields, read_items
from orchestrator.planning.rules.parameters import Parameter, tool_parameters


def pages_of(finder: Tool, seen: Sequence[Observation]) -> list[Observation]:
    """The answers to the newest search with a tool, its pages in order."""
    own = [o for o in seen if o.tool == finder.name and o.outcome == "succeeded"]
    wanted = {*_paging(finder)}
    pages: list[Observation] = []
    for one in own:
        if pages and _without(one.arguments, wanted) != _without(pages[-1].arguments, wanted):
            pages = []
        pages.append(one)
    return pages


def next_page(finder: Tool, pages: Sequence[Observation]) -> CallTool | str:
    """The call for the next page; else why not all was told, '' when it was."""
    last = pages[-1]
    found = sum(_number_of_items(page, finder) for page in pages)
    fields = dict(flat_fields(last.body))
    inputs = {p.name: p for p in tool_parameters(finder) if p.name in _paging(finder)}
    if not _has_more(fields, found, last, finder, inputs):
        return ""
    step = _step(fields, found, last, inputs)
    if step is None or {**last.arguments, **step} in [page.arguments for page in pages]:
        return f"{finder.title!r} has told {found}, and says that there are more"
    reason = f"{found} were told so far, and there are more"
    return CallTool(tool=finder.name, arguments={**last.arguments, **step}, reason=reason)


class Answered(NamedTuple):
    """What a search told, all of its pages as one."""

    arguments: JsonObject
    body: JsonValue
    is_whole: bool
    """Whether its pages say that there is no more."""


def answered(finder: Tool, seen: Sequence[Observation]) -> Answered | None:
    """What the newest search with a tool told; None where it was not made, or in vain."""
    pages = pages_of(finder, seen)
    if not pages:
        return None
    kept = without_repeats(finder, pages)
    body = kept[0].body
    for page in kept[1:]:
        body = _joined(body, page.body)
    is_whole = len(pages) > 1 and not _repeats(pages) and next_page(finder, kept) == ""
    return Answered(pages[0].arguments, body, is_whole)


def is_later_page(finder: Tool, arguments: JsonObject) -> bool:
    """Whether a call was made for what follows another page."""
    return bool((_paging(finder) - _sizes(finder)) & {*arguments})


def without_repeats(finder: Tool, pages: Sequence[Observation]) -> list[Observation]:
    """The pages that tell something each; one that tells more at once is all of them."""
    kept, sizes = [pages[0]], _sizes(finder)
    for before, page in pairwise(pages):
        if any(page.arguments.get(name) != before.arguments.get(name) for name in sizes):
            kept = [page]
        elif _listed(page.body) != _listed(before.body):
            kept.append(page)
    return kept


def _repeats(pages: Sequence[Observation]) -> bool:
    """Whether the last page is the one before it once more: nothing goes on there."""
    return len(pages) > 1 and _listed(pages[-1].body) == _listed(pages[-2].body)


def _listed(body: JsonValue) -> JsonValue:
    """What a page lists, whatever it says of where to go on; all of one that lists nothing."""
    listed = body.items() if isinstance(body, dict) else ()
    return {name: value for name, value in listed if isinstance(value, list)} or body


def _sizes(finder: Tool) -> set[str]:
    return {p.name for p in tool_parameters(finder) if set(p.words) & lexicon.PAGE_SIZE}


def rest_of(finder: Tool, seen: Sequence[Observation], most: int) -> CallTool | None:
    """The call for the next of at most so many pages; None where all was told.

    Nor where the request said how many are wanted: "the last three messages".
    """
    pages, sizes = pages_of(finder, seen), _sizes(finder)
    if not pages or len(pages) >= most or sizes & {*pages[0].arguments, *pages[-1].arguments}:
        return None
    if _repeats(pages):
        inputs = {p.name: p for p in tool_parameters(finder)}
        step = _larger(pages[0], inputs)
        arguments = {**pages[0].arguments, **(step or {})}
        reason = "another page tells the same"
        return CallTool(tool=finder.name, arguments=arguments, reason=reason) if step else None
    page = next_page(finder, pages)
    return page if isinstance(page, CallTool) else None


def _joined(one: JsonValue, other: JsonValue) -> JsonValue:
    """Two pages as one: their lists one behind the other, the rest of the last one."""
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *other]
    if isinstance(one, dict) and isinstance(other, dict):
        lists = {k for k, v in other.items() if isinstance(v, list | dict) and k in one}
        return {**one, **{k: _joined(one[k], v) if k in lists else v for k, v in other.items()}}
    return other


def _has_more(
    fields: JsonObject,
    found: int,
    last: Observation,
    finder: Tool,
    inputs: dict[str, Parameter],
) -> bool:
    for name, value in fields.items():
        words = set(tokens(name))
        if (
            words & lexicon.CURSOR
            and words & lexicon.MORE | (words & {"cursor"})
            and isinstance(value, str)
        ):
            return bool(value)
        if words & lexicon.MORE and isinstance(value, bool):
            return value
        whole = isinstance(value, int) and not isinstance(value, bool)
        if words & lexicon.TOTAL and not words & lexicon.PAGE and whole:
            return int(str(value)) > found
    size = next((p for p in inputs.values() if set(p.words) & lexicon.PAGE_SIZE), None)
    asked = last.arguments.get(size.name, size.schema.get("default")) if size is not None else None
    return isinstance(asked, int) and _number_of_items(last, finder) >= asked


def _step(
    fields: JsonObject, found: int, last: Observation, inputs: dict[str, Parameter]
) -> JsonObject | None:
    """What of the next call is other than of the last one."""
    for name, parameter in inputs.items():
        words = set(parameter.words)
        if words & lexicon.PAGE_SIZE:
            continue
        if words & lexicon.CURSOR:
            told = [
                v for k, v in fields.items() if set(tokens(k)) & (lexicon.CURSOR | lexicon.MORE)
            ]
            text = next((v for v in told if isinstance(v, str) and v), None)
            if text is not None and parameter.accepts(text):
                return {name: text}
        if words & lexicon.OFFSET:
            return {name: found} if parameter.accepts(found) else None
        if words & lexicon.PAGE:
            first = parameter.schema.get("default", 1)
            now = last.arguments.get(name, first)
            return {name: now + 1} if isinstance(now, int) and parameter.accepts(now + 1) else None
    return _larger(last, inputs)


def _larger(last: Observation, inputs: dict[str, Parameter]) -> JsonObject | None:
    """The most at once, where there is no going on."""
    for name, parameter in inputs.items():
        most: JsonValue = parameter.schema.get("maximum")
        asked = last.arguments.get(name, parameter.schema.get("default"))
        if (
            set(parameter.words) & lexicon.PAGE_SIZE
            and isinstance(most, int)
            and isinstance(asked, int)
        ):
            return {name: most} if most > asked else None
    return None


def _paging(finder: Tool) -> frozenset[str]:
    words = lexicon.CURSOR | lexicon.OFFSET | lexicon.PAGE | lexicon.PAGE_SIZE
    found = (p for p in tool_parameters(finder) if not p.required)
    return frozenset(p.name for p in found if set(p.words) & words and not p.options)


def _number_of_items(page: Observation, finder: Tool) -> int:
    return sum(bool(item.label) for item in read_items(page.body, tool=finder))


def _without(arguments: JsonObject, names: set[str]) -> JsonObject:
    return {name: value for name, value in arguments.items() if name not in names}
