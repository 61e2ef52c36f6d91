"""What an answer holds, apart: what it says of itself, and the things that it lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.prices import plain_answer
from orchestrator.catalog.stated_prices import names_currency
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language import lexicon
from orchestrator.language.inflection import plural, singular
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import is_verb, tokens
from orchestrator.planning.rules.answers import MAX_ITEMS
from orchestrator.planning.rules.telling.told_field import Told, told_fields

_GENERIC: Final = WordLists("telling").word_set("generic")
_PREPOSITIONS: Final = frozenset(
    {"to", "for", "from", "in", "at", "with", "on", "of", "by", "between", "about", "and", "or"}
    | {"that", "which", "who"}
)
_ARTICLES: Final = frozenset(
    {"a", "an", "the", "one", "your", "my", "our", "all", "any", "multiple"}
)
_COUNTING: Final = frozenset(
    {"count", "total", "number", "size", "has", "more", "meta", "metadata"}
)
_GOING_ON: Final = frozenset({"cursor", "next"})
_KINDS: Final = (("type",), ("object",), ("kind",))
"""What fields are called of which the only value says of what kind an object is."""
_MAX_DEPTH: Final = 3


@dataclass(frozen=True)
class Found:
    """An answer, taken apart."""

    own: tuple[Told, ...]
    """What it says of itself; not what it only repeats of the request, nor its pages."""
    echoed: tuple[Told, ...]
    """What it repeats of the request."""
    things: tuple[tuple[Told, ...], ...]
    """The members of its list."""
    members: tuple[JsonObject, ...]
    """The same as they were answered, money plain."""
    noun: str
    """What several of them are called."""
    total: int
    """How many there are in all, as the answer says; 0 where it does not."""
    is_cut: bool
    """Whether there may be more of them than were answered: a page was asked for, and is full."""
    is_listing: bool
    """Whether the list is what was asked for, not a part of one thing."""

    def nouns(self, number: int) -> str:
        """What so many of them are called."""
        return singular_phrase(self.noun) if number == 1 else self.noun


def plural_phrase(noun: str) -> str:
    """The plural of a noun with the words before it."""
    *before, last = noun.split()
    return " ".join([*before, last if singular(last) != last else plural(last)])


def singular_phrase(noun: str) -> str:
    """The singular of one."""
    *before, last = noun.split()
    return " ".join([*before, singular(last)])


def take_apart(tool: Tool, arguments: JsonObject, body: JsonValue, now: datetime) -> Found:
    """An answer of a tool, taken apart by its schema."""
    root = tool.output_schema or {}
    plain = plain_answer(tool, body)
    name, members, schema = _list_in(plain, root, root, "", 0)
    kept = tuple(member for member in members[:MAX_ITEMS] if isinstance(member, dict))
    things = tuple(tuple(told_fields(member, schema, root, now)) for member in kept)
    outer = plain if isinstance(plain, dict) else {}
    fields = told_fields({k: v for k, v in outer.items() if k != name}, root, root, now)
    own = [told for told in fields if not is_echo(told, arguments) and not _is_of_the_answer(told)]
    is_listing = bool(name) and (isinstance(plain, list) or not own)
    return Found(
        own=tuple(own),
        echoed=tuple(told for told in fields if is_echo(told, arguments)),
        things=things,
        members=kept,
        noun=_noun(name, tool if is_listing else None),
        total=_total(fields),
        is_cut=_is_cut(fields, {**_default_sizes(tool), **arguments}, len(things)),
        is_listing=is_listing,
    )


def _list_in(
    node: JsonValue, schema: JsonObject, root: JsonObject, name: str, depth: int
) -> tuple[str, list[JsonValue], JsonObject]:
    """The first list of things in an answer, by its name, with the schema of its members."""
    resolved = resolve(schema, root)
    if isinstance(node, list) and (not node or isinstance(node[0], dict)):
        items = resolved.get("items")
        return name or "results", node, items if isinstance(items, dict) else {}
    if isinstance(node, dict) and depth < _MAX_DEPTH:
        parts = properties_of(resolved)
        for key, value in node.items():
            if _is_list_of_things(value, parts.get(key, {}), root):
                return _list_in(value, parts.get(key, {}), root, key, depth + 1)
        for key, value in node.items():
            if isinstance(value, dict):
                found = _list_in(value, parts.get(key, {}), root, key, depth + 1)
                if found[0]:
                    return found
    return "", [], {}


def _is_list_of_things(value: JsonValue, schema: JsonObject, root: JsonObject) -> bool:
    if not isinstance(value, list):
        return False
    if value:
        return isinstance(value[0], dict)
    items = resolve(schema, root).get("items")
    return not isinstance(items, dict) or bool(properties_of(resolve(items, root)))


def _default_sizes(tool: Tool) -> JsonObject:
    """How many are told at most where a call does not say it."""
    sizes = {k: v for k, v in tool.properties.items() if set(tokens(k)) & lexicon.PAGE_SIZE}
    return {name: schema["default"] for name, schema in sizes.items() if "default" in schema}


def _is_cut(fields: Sequence[Told], arguments: JsonObject, number: int) -> bool:
    """Whether a page is full, or says that another follows."""
    asked = [v for k, v in arguments.items() if set(tokens(k)) & (lexicon.PAGING - {"order"})]
    full = any(isinstance(most, int) and most == number for most in asked) and number > 0
    more = any(
        (told.value is True and {"more", "next"} & set(told.words))
        or (told.sort == "text" and {"cursor", "next"} & set(told.words) and bool(told.value))
        for told in fields
    )
    return full or more


def _total(fields: Sequence[Told]) -> int:
    """How many things there are in all, as an answer says."""
    counts = [t.value for t in fields if _is_page(t) and t.sort == "number" and "total" in t.words]
    return next((count for count in counts if isinstance(count, int)), 0)


def is_echo(told: Told, arguments: JsonObject) -> bool:
    """Whether a field only repeats what was asked for."""
    is_said = arguments.get(told.names[0]) == told.value
    return is_said and all(name in arguments for name in told.names)


def _is_of_the_answer(told: Told) -> bool:
    """Whether a field says something of pages, or no more than what kind of answer this is."""
    goes_on = told.sort == "text" and not {*told.words}.isdisjoint(_GOING_ON)
    return goes_on or _is_page(told) or (told.words in _KINDS and len(told.options) == 1)


def _is_page(told: Told) -> bool:
    words = {*told.words, *map(singular, told.words)}
    counts = told.sort in ("number", "flag") and bool(words) and {*told.words} <= _COUNTING
    pages = told.sort in ("number", "text", "flag") and bool(words & (lexicon.PAGING - {"order"}))
    return counts or pages or names_currency(told.name) or told.is_bookkeeping


def _noun(name: str, tool: Tool | None) -> str:
    """What a list holds: its own name, else what the tool says it looks for."""
    words = tokens(name)
    label = plural_phrase(" ".join(words)) if words else ""
    if label and not {words[-1], singular(words[-1])} & _GENERIC:
        return (_of_its_domain(words, tool) if tool is not None else "") or label
    objects = (_objects_of(tool) or plural_phrase(tool.domain)) if tool is not None else ""
    return objects or label or "results"


def _of_its_domain(words: Sequence[str], tool: Tool) -> str:
    """What the tool says that it lists, where that names its domain: flights are not all bookings.

    Empty where it does not, or the list's own name does.
    """
    domain, objects = {singular(word) for word in tokens(tool.domain)}, _objects_of(tool)
    own = {singular(word) for word in tokens(objects)}
    return objects if domain & own and not domain & {singular(word) for word in words} else ""


def _objects_of(tool: Tool) -> str:
    """The words of a summary from its verb to the next preposition: "hotel rooms"."""
    words = [word.lower() for word in tool.summary.split(".")[0].split()]
    # "Ticket types of an event" begins with no verb.
    first = "".join(words[:1])
    words = words[1:] if is_verb(first) or is_verb(first.removesuffix("s")) else words
    cut = next((n for n, word in enumerate(words) if word in _PREPOSITIONS), len(words))
    phrase = " ".join(word for word in words[:cut] if word not in _ARTICLES)
    is_one = bool({"a", "an", "one"} & set(words[:1]))
    return plural_phrase(phrase) if is_one and phrase else phrase
