"""What a tool's answer holds: the things found in it, their prices, what its schema promises."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.prices import plain_answer
from orchestrator.catalog.stated_prices import names_currency, stated_price
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

_LISTS: Final = WordLists("rules")
_MAX_ITEMS: Final = 200
"""Things read from one answer; a longer list is cut, the best matches are expected first."""

ASIDE: Final = _LISTS.word_set("aside")
"""Lists next to an answer that are no part of it."""
_MAX_DEPTH: Final = 3
_ATTRIBUTES: Final = "attributes"
"""Where JSON:API has what a thing says of itself."""


@dataclass(frozen=True)
class Item:
    """One thing an answer holds: its own fields over those of the answer that lists it."""

    fields: JsonObject
    own: frozenset[str] = field(default_factory=frozenset)
    label: str = ""
    """The name of the list it is from, singular; '' for the answer itself."""
    plain: JsonObject = field(default_factory=dict)
    """The same fields, their money plain."""
    thing: str = ""
    """What the path calls the thing that its `id` is of; '' where that is not told."""

    def value(self, name: str) -> JsonValue:
        """The field of that name; `hotelId` is also the `id` of a thing listed in `hotels`."""
        if name in self.fields:
            return self.fields[name]
        if name in id_names(self.label) | id_names(self.thing):
            return self.fields.get("id")
        return None

    @property
    def own_fields(self) -> JsonObject:
        """What it says of itself, without what it was asked for by and what lists it."""
        return {name: value for name, value in self.fields.items() if name in self.own}

    @property
    def price(self) -> Money | None:
        """What it says itself that it costs; the currency may be that of the answer around it."""
        return stated_price(
            {
                k: v
                for k, v in self.plain.items()
                if k in self.own or names_currency(k) or k == PRICE
            }
        )


def read_items(
    body: JsonValue, *, tool: Tool | None = None, asked: JsonObject | None = None
) -> list[Item]:
    """The things that an answer of `tool` holds, in its order; what was `asked` holds of each.

    These are the members of its lists, each with what the objects around it say of all of them,
    then the answer itself unless its lists are empty.
    """
    plain = plain_answer(tool, body) if tool is not None else body
    thing = thing_with_id(tool) if tool is not None else ""
    found = islice(_walk(body, asked or {}, "", 0), _MAX_ITEMS)
    outermost = {"", *map(singular, body)} if isinstance(body, dict) else {""}
    return [
        # Its id is that of what the path is about, unless it is something inside.
        replace(
            item,
            plain=priced.fields,
            thing=thing if item.label in outermost or "id" not in item.own else "",
        )
        for item, priced in zip(found, _walk(plain, {}, "", 0), strict=False)
    ]


@read_once
def answer_fields(tool: Tool) -> frozenset[str]:
    """Names of the values that the tool's answer holds, list members' fields included.

    A list of `hotels` whose members have an `id` also answers `hotel_id`, or `hotelId`, and so does
    one of `results` under the path /hotels.
    """
    schema = tool.output_schema or {}
    return frozenset(_promised(schema, schema, "", 0)) | id_names(thing_with_id(tool))


@read_once
def is_listing(tool: Tool) -> bool:
    """Whether the answer is a list of things rather than one thing."""
    schema = tool.output_schema or {}
    resolved = resolve(schema, schema)
    inner = [resolve(part, schema) for part in properties_of(resolved).values()]
    if "id" not in properties_of(resolved):
        inner += [resolve(p, schema) for one in inner for p in properties_of(one).values()]
    held = (part.get("items") for part in inner)
    members = (resolve(items, schema) for items in held if isinstance(items, dict))
    return resolved.get("type") == "array" or any("properties" in member for member in members)


def is_empty(body: JsonValue) -> bool:
    """Return whether an answer lists nothing: every list in it is empty, and there is one."""
    if isinstance(body, list):
        return not body
    if not isinstance(body, dict):
        return body is None
    lists = [value for value in body.values() if isinstance(value, list)]
    return bool(lists) and not any(lists)


def flat_fields(body: JsonValue, *, depth: int = 0) -> Iterator[tuple[str, JsonValue]]:
    """Name and value of every scalar and money in an object, outermost first, lists left out."""
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


def says_that_it_went_well(name: str, value: JsonValue) -> bool:
    """Whether a field tells of the call alone: `ok: true` beside what was asked for."""
    words = tokens(name)
    return value is True and bool(words) and lexicon.WENT_WELL.issuperset(words)


def _walk(node: JsonValue, around: JsonObject, label: str, depth: int) -> Iterator[Item]:
    """Yield the things inside; `around` is what the objects around them say of all of them."""
    if isinstance(node, list) and depth < _MAX_DEPTH:
        for member in node:
            yield from _walk(member, around, label, depth + 1)
    elif isinstance(node, dict):
        node = _opened(node)
        wrapped = _wrapped(node) if depth < _MAX_DEPTH else ""
        if wrapped:
            yield from _walk(node[wrapped], around, wrapped, depth + 1)
            return
        # What is inside has a price of its own.
        whole = {**{name: value for name, value in around.items() if name != PRICE}, **node}
        listed = {name: value for name, value in node.items() if _lists_things(value)}
        lists = {name: value for name, value in listed.items() if name.lower() not in ASIDE}
        if not lists and not (depth == 0 and is_empty(node)):
            yield Item(whole, frozenset(node), singular(label))
        if depth < _MAX_DEPTH:
            outer = _without_lists(whole)
            for name, members in lists.items():
                yield from _walk(members, outer, name, depth)
            if lists and depth == 0:
                yield Item(outer, frozenset(node) - set(lists))


def _wrapped(node: JsonObject) -> str:
    """The one object of an answer that has the list in it: {"status", "result": {"shelves"}}."""
    objects = {name: value for name, value in node.items() if isinstance(value, dict)}
    holders = [name for name, one in objects.items() if any(map(_lists_things, one.values()))]
    is_whole = "id" in node or any(isinstance(value, list) for value in node.values())
    return holders[0] if len(holders) == 1 and not is_whole else ""


def _lists_things(value: JsonValue) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)


def _opened(thing: JsonObject) -> JsonObject:
    """A thing with what it says of itself beside its id: {"id", "type", "attributes": {...}}."""
    said = thing.get(_ATTRIBUTES)
    if not isinstance(said, dict) or "id" not in thing:
        return thing
    return {**said, **{name: value for name, value in thing.items() if name != _ATTRIBUTES}}


def _without_lists(fields: JsonObject) -> JsonObject:
    return {
        name: value
        for name, value in fields.items()
        if not isinstance(value, list) and not says_that_it_went_well(name, value)
    }


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
