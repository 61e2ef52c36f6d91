"""Reads a tool's answer: its items and prices, its declared fields, and the page after it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.money import names_currency, stated_price
from orchestrator.catalog.prices import plain_answer
from orchestrator.catalog.tool import Tool, id_names, thing_with_id
from orchestrator.core.budget import Money
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language import lexicon
from orchestrator.language.inflection import singular
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens
from orchestrator.planning.models import Observation
from orchestrator.planning.rules.parameters import as_typed, tool_parameters

_LISTS: Final = WordLists("rules")
_MAX_ITEMS: Final = 200
"""Maximum items read from one answer; of longer lists the best matches are expected first."""

ASIDE: Final = _LISTS.word_set("aside")
"""Names of lists next to an answer that do not belong to it."""
_MAX_DEPTH: Final = 3
_ATTRIBUTES: Final = "attributes"
"""The property in which JSON:API stores an object's fields."""


@dataclass(frozen=True)
class Item:
    """An item of an answer: its own fields, which override those of the enclosing answer."""

    fields: JsonObject
    own: frozenset[str] = field(default_factory=frozenset)
    label: str = ""
    """The singular name of the list that contains it; '' for the answer itself."""
    answer: "_Plain | None" = None
    """The whole answer with normalised money, where the item has the same `number`."""
    number: int = 0
    thing: str = ""
    """The path's name for the thing that `id` identifies; '' if unknown."""

    def value(self, name: str) -> JsonValue:
        """Return the field of that name; `hotelId` also finds the `id` of an item in `hotels`."""
        if name in self.fields:
            return self.fields[name]
        if name in id_names(self.label) | id_names(self.thing):
            return self.fields.get("id")
        return None

    @property
    def own_fields(self) -> JsonObject:
        """The item's fields without those of the request and of the enclosing answer."""
        return {name: value for name, value in self.fields.items() if name in self.own}

    @cached_property
    def price(self) -> Money | None:
        """The item's own price; its currency may come from the enclosing answer."""
        plain = self.answer.things[self.number] if self.answer is not None else {}
        own = {k: v for k, v in plain.items() if k in self.own or names_currency(k) or k == PRICE}
        return stated_price(own)


@dataclass(frozen=True)
class _Plain:
    """An answer with amounts in units of their currency, converted when a price is needed."""

    tool: Tool | None
    body: JsonValue

    @cached_property
    def things(self) -> list[JsonObject]:
        """The fields of each item, in the answer's order."""
        plain = plain_answer(self.tool, self.body) if self.tool is not None else self.body
        return [item.fields for item in islice(_walk(plain, {}, "", 0), _MAX_ITEMS)]


def read_items(
    body: JsonValue, *, tool: Tool | None = None, asked: JsonObject | None = None
) -> list[Item]:
    """Return the items in an answer of `tool`, in order; the values `asked` apply to each.

    These are the members of its lists, each with the fields of the objects around it, then the
    answer itself unless its lists are empty.
    """
    plain = _Plain(tool, body)
    thing = thing_with_id(tool) if tool is not None else ""
    found = islice(_walk(body, asked or {}, "", 0), _MAX_ITEMS)
    outermost = {"", *map(singular, body)} if isinstance(body, dict) else {""}
    return [
        # Its id is that of the path's thing, unless the item is nested.
        replace(
            item,
            answer=plain,
            number=number,
            thing=thing if item.label in outermost or "id" not in item.own else "",
        )
        for number, item in enumerate(found)
    ]


@read_once
def answer_fields(tool: Tool) -> frozenset[str]:
    """Return names of the values in the tool's answer, including list members' fields.

    A list of `hotels` whose members have an `id` also contains `hotel_id`, or `hotelId`, and so
    does a list of `results` under the path /hotels.
    """
    schema = tool.output_schema or {}
    return frozenset(_promised(schema, schema, "", 0)) | id_names(thing_with_id(tool))


@read_once
def is_listing(tool: Tool) -> bool:
    """Return True if the answer is a list of items rather than one item."""
    schema = tool.output_schema or {}
    resolved = resolve(schema, schema)
    inner = [resolve(part, schema) for part in properties_of(resolved).values()]
    if "id" not in properties_of(resolved):
        inner += [resolve(p, schema) for one in inner for p in properties_of(one).values()]
    held = (part.get("items") for part in inner)
    members = (resolve(items, schema) for items in held if isinstance(items, dict))
    return resolved.get("type") == "array" or any("properties" in member for member in members)


def is_empty(body: JsonValue) -> bool:
    """Return True if an answer has at least one list and all its lists are empty."""
    if isinstance(body, list):
        return not body
    if not isinstance(body, dict):
        return body is None
    lists = [value for value in body.values() if isinstance(value, list)]
    return bool(lists) and not any(lists)


def flat_fields(body: JsonValue, *, depth: int = 0) -> Iterator[tuple[str, JsonValue]]:
    """Yield the name and value of every scalar and money, outermost first, without lists."""
    if not isinstance(body, dict) or depth > _MAX_DEPTH:
        return
    for name, value in body.items():
        if not isinstance(value, dict | list):
            yield name, value
    for name, value in body.items():
        if isinstance(value, dict):
            if "amount" in value:
                yield name, value
            else:
                yield from flat_fields(value, depth=depth + 1)


def _walk(node: JsonValue, around: JsonObject, label: str, depth: int) -> Iterator[Item]:
    """Yield the items inside; `around` has the shared fields of the enclosing objects."""
    if isinstance(node, list) and depth < _MAX_DEPTH:
        for member in node:
            yield from _walk(member, around, label, depth + 1)
    elif isinstance(node, dict):
        said = node.get(_ATTRIBUTES)
        if isinstance(said, dict) and "id" in node:  # {"id", "type", "attributes": {...}}
            node = {**said, **{name: value for name, value in node.items() if name != _ATTRIBUTES}}
        wrapped = _wrapped(node) if depth < _MAX_DEPTH else ""
        if wrapped:
            yield from _walk(node[wrapped], around, wrapped, depth + 1)
            return
        # A nested item has a price of its own.
        whole = {**{name: value for name, value in around.items() if name != PRICE}, **node}
        listed = {name: value for name, value in node.items() if _lists_things(value)}
        lists = {name: value for name, value in listed.items() if name.lower() not in ASIDE}
        says_more = (isinstance(v, dict) or tokens(n)[-1:] == ["id"] for n, v in node.items())
        if not lists and not any(says_more):
            lists = listed  # "messages" alone are the answer
        if not lists and not (depth == 0 and is_empty(node)):
            yield Item(whole, frozenset(node), singular(label))
        if depth < _MAX_DEPTH:
            outer: JsonObject = {n: v for n, v in whole.items() if not isinstance(v, list)}
            for name, members in lists.items():
                yield from _walk(members, outer, name, depth)
            if lists and depth == 0:
                yield Item(outer, frozenset(node) - set(lists))


def _wrapped(node: JsonObject) -> str:
    """Return the only object of an answer that holds the list: {"status", "result": {}}."""
    objects = {name: value for name, value in node.items() if isinstance(value, dict)}
    holders = [name for name, one in objects.items() if any(map(_lists_things, one.values()))]
    is_whole = "id" in node or any(isinstance(value, list) for value in node.values())
    return holders[0] if len(holders) == 1 and not is_whole else ""


def _lists_things(value: JsonValue) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)


def _promised(schema: JsonObject, root: JsonObject, label: str, depth: int) -> Iterator[str]:
    resolved = resolve(schema, root)
    items = resolved.get("items")
    if isinstance(items, dict) and depth <= _MAX_DEPTH:
        yield from _promised(items, root, label, depth + 1)
    for name, part in properties_of(resolved).items():
        yield name
        if name == "id" and label:
            yield from id_names(singular(label))
        if depth <= _MAX_DEPTH:
            yield from _promised(part, root, name, depth + 1)


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
    lists = page.body.values() if isinstance(page.body, dict) else (page.body,)
    listed: list[JsonValue] = max((o for o in lists if isinstance(o, list)), key=len, default=[])
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
