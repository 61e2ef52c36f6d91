"""Which of several tools that only read can tell most of what a request asks."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.language import lexicon
from orchestrator.language.clause_reading import MODALS
from orchestrator.language.intent import Action, IntentFrame, Slot
from orchestrator.language.owing import Side, is_still_owed, side_of, who_owes
from orchestrator.language.synonyms import meanings_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    STOP_WORDS,
    action_of,
    content_stems,
    is_verb,
    tokens,
)
from orchestrator.planning.rules.answers import answers_price, is_listing
from orchestrator.planning.rules.parameters import DAYS, Kind, Parameter, read_parameters
from orchestrator.planning.rules.telling.inquiry import DULL, kind_asked
from orchestrator.planning.rules.tool_words import schema_words, vocabulary

_LISTS: Final = WordLists("telling")
_TODAY: Final = _LISTS.word_set("today")
_MOST_LEVELS: Final = 6
_MOST_TRIED: Final = 4
NO_THING: Final = frozenset().union(
    _LISTS.word_set("no_thing"),
    MODALS,
    WordLists("dates").words("units"),
    lexicon.PREFERENCES,
)
"""Words that name nothing: "has somebody said anything this year", "the cheapest"."""
_OWED: Final = frozenset(meanings_of("owe"))
_NAMING: Final = frozenset({Kind.TEXT, Kind.TITLE, Kind.QUERY, Kind.EMAIL, Kind.PLACE, Kind.OTHER})
"""Kinds of texts that may hold the name of somebody."""
TELLS: Final[Mapping[str, frozenset[Kind]]] = {
    "money": frozenset({Kind.MONEY, Kind.AMOUNT}),
    "moment": DAYS | {Kind.TIME},
    "time": frozenset({Kind.TIME, Kind.DATETIME}),
}
"""Kinds of fields that answer a question of a kind."""


def best_tellers(ranked: Sequence[Tool], frame: IntentFrame) -> list[Tool]:
    """Tools in their order, but before the first one which tells all that it does, and more.

    More is a day, or the thing that the request is about; whom it names and the kind of value that
    it asks for only where both find the same sort of thing, for any list may hold some name. None
    of it is, where the tool needs more that nobody has said.
    """
    if not ranked or ranked[0].is_side_effect:
        return [*ranked]
    untold = {*untold_by(ranked[0], frame)}
    text = " ".join(frame.clauses)
    words = asked_words(text, frame.slots)
    things = {word.lower() for word in frame.objects}
    gains = untold - {word for word in words if word != words[0] or word not in things}
    for tool in (one for one in ranked[1:_MOST_TRIED] if not one.is_side_effect):
        left = {*untold_by(tool, frame)}
        gained = gains & (untold - left)
        if not _shared(tool, ranked[0]) - {*content_stems(text)}:
            gained -= {slot.text for slot in frame.slots if slot.kind == "name"} | {*TELLS}
        if left < untold and gained and unsaid(tool, frame) <= unsaid(ranked[0], frame):
            return [tool, *(one for one in ranked if one is not tool)]
    return [*ranked]


@read_once
def payer(tool: Tool) -> Side | None:
    """Who pays the amounts that a tool lists; None where it lists none, or does not say."""
    fields = [*fields_of(tool)]
    if not any(field.kind in TELLS["money"] for field in fields):
        return None
    named = (field for field in fields if field.kind in _NAMING)
    return side_of(frozenset(word for field in named for word in field.words))


def lists_of_payer(tools: Iterable[Tool], text: str) -> list[Tool]:
    """Those of the tools that list what whoever pays in a question has to pay; mostly none."""
    side = who_owes(text)
    found = [tool for tool in tools if side is not None and payer(tool) == side]
    if not is_still_owed(text):
        return found
    return [t for t in found if not (vocabulary(t) | schema_words(t)).isdisjoint(_OWED)]


def unsaid(tool: Tool, frame: IntentFrame) -> int:
    """How many days and places a tool needs that a request does not say."""
    said = {slot.kind for slot in frame.slots}
    needed = [p for p in read_parameters(tool.input_schema, tool.input_schema) if p.required]
    days = sum(p.kind in DAYS for p in needed) if "date" not in said else 0
    places = sum(p.kind is Kind.PLACE for p in needed) if not said & {"place", "origin"} else 0
    return days + places


def only_lister(catalog: Catalog, frame: IntentFrame, tried: Sequence[Tool]) -> Tool | None:
    """The one tool that lists what a request asks for first, where none tried speaks of that.

    None where there is no such tool, or several.
    """
    words = asked_words(" ".join(frame.clauses), frame.slots)[:1]
    if not words or not unknown_words(words, tried[:_MOST_TRIED]):
        return None
    meanings = {*meanings_of(words[0])}
    listing = (t for t in catalog.tools.values() if not t.is_side_effect and is_listing(t))
    named = [t for t in listing if meanings & {*content_stems(f"{t.name} {t.summary}")}]
    return named[0] if len(named) == 1 else None


def _shared(tool: Tool, other: Tool) -> set[str]:
    """The words in which two tools say what they find, their verbs left out."""
    return {*content_stems(tool.summary)[1:]} & {*content_stems(other.summary)[1:]}


def untold_by(tool: Tool, frame: IntentFrame) -> Iterator[str]:
    """What a request asks, and the contract of a tool that only reads says nothing of.

    Its days, whom it names, the kind of value that its question word asks for, and its words.
    """
    fields = [*fields_of(tool)]
    inputs = read_parameters(tool.input_schema, tool.input_schema)
    dated = [slot.text for slot in frame.slots if slot.kind == "date"]
    # What one thing says of a day is of that day alone; of several, it may tell which are meant.
    if not any(p.kind in DAYS for p in (*inputs, *(fields if is_listing(tool) else ()))):
        yield from (text for text in dated if not _TODAY & {*tokens(text)})
    if not any(p.kind in _NAMING for p in (*inputs, *fields)):
        yield from (slot.text for slot in frame.slots if slot.kind == "name")
    text = " ".join(frame.clauses)
    kind = kind_asked(text)
    if kind in TELLS and not (kind == "money" and answers_price(tool)):
        told = any(field.kind in TELLS[kind] for field in fields)
        yield from () if told else (kind,)
    yield from unknown_words(asked_words(text, frame.slots), [tool])


def asked_words(text: str, slots: Iterable[Slot]) -> list[str]:
    """The words that say what a request asks: no values, no grammar, no deeds."""
    words = dict.fromkeys(
        w for w in tokens(without_values(text, slots)) if w not in STOP_WORDS | DULL | NO_THING
    )
    return [w for w in words if not is_verb(w) or (w in NOUN_LIKE_VERBS and not _asks(w))]


def without_values(text: str, slots: Iterable[Slot]) -> str:
    """A text without values, and without what makes one of them an owner: "Bella's"."""
    for slot in slots:
        text = re.sub(rf"{re.escape(slot.text)}(?:['\u2019]s\b)?", " ", text)
    return text


def _asks(verb: str) -> bool:
    return action_of(verb) in (Action.READ, Action.SEARCH)


def unknown_words(words: Iterable[str], tools: Iterable[Tool]) -> list[str]:
    """Those words of which none of the tools speaks, nor of what may stand for them."""
    known = {stem for tool in tools for stem in (*vocabulary(tool), *schema_words(tool))}
    return [word for word in words if known.isdisjoint(meanings_of(word))]


def fields_of(tool: Tool) -> Iterator[Parameter]:
    """The fields of a tool's answer, of the things that it lists as well."""
    schema = tool.output_schema or {}
    items = resolve(schema, schema).get("items")
    yield from _inside(resolve(items, schema) if isinstance(items, dict) else schema, schema, 0)


def _inside(schema: JsonObject, root: JsonObject, level: int) -> Iterator[Parameter]:
    for field in read_parameters(schema, root) if level < _MOST_LEVELS else ():
        yield field
        items = field.schema.get("items")
        inner = resolve(items if isinstance(items, dict) else field.schema, root)
        if inner.get("properties"):
            yield from _inside(inner, root, level + 1)
