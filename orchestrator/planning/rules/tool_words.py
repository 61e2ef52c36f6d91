"""The words in which a tool speaks of itself, and whether those of a clause are among them."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.read_once import read_once
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.language.clauses import question_in, without_lead
from orchestrator.language.intent import Action
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.rules.utterance import Utterance
from orchestrator.routing.cards.capability_card import verb_and_action

ENOUGH: Final = 2 / 3
"""Share of a clause's words that must be the tool's own. Our own: "reserve a book about deserts" is
for the library, "book me a massage" is not for the airline."""

_MATTER = re.compile(r"\s(?:that|saying|to\s+[a-z]+)\s|:\s", re.IGNORECASE)
"""What follows is the matter of a message or a reminder: anything at all."""


_OF_A_KIND: Final = frozenset({"which", "what"})
_WORDED: Final = ("title", "description", "enum", "examples", "example", "default", "const")
_MOST_LEVELS: Final = 4
_INSIDE: Final = ("items", "properties", "$defs", "allOf", "anyOf", "oneOf")


@read_once
def vocabulary(tool: Tool) -> frozenset[str]:
    """Stems of the words in which a tool speaks of itself."""
    return own_words(tool) | set(content_stems(" ".join((*tool.intent_tags, *tool.examples))))


@read_once
def own_words(tool: Tool) -> frozenset[str]:
    """Stems of the words that say what a tool does and takes.

    An example tells of things that people ask for: "the budget" is one file, and not another.
    """
    told = [str(schema.get("description", "")) for schema in tool.properties.values()]
    texts = (tool.name, tool.domain, tool.summary, tool.description)
    return frozenset(content_stems(" ".join((*texts, *tool.properties, *told))))


def is_named(tool: Tool, stems: Iterable[str], called: str = "") -> bool:
    """Whether words name what a tool is for, by a word of its own or for it.

    Args:
        tool: by its name, its summary and its domain.
        stems: of the words.
        called: what it finds, in words.
    """
    own = {*content_stems(f"{tool.name} {tool.summary} {tool.domain} {called}")}
    return any(not own.isdisjoint((word, *synonyms_of(word))) for word in stems)


@read_once
def schema_words(tool: Tool) -> frozenset[str]:
    """Stems of what the schemas of a tool say beside descriptions of inputs: names and values."""
    return frozenset(
        stem
        for schema in (tool.input_schema, tool.output_schema or {})
        for part in walk(schema, _INSIDE, most_levels=6)
        for stem in content_stems(" . ".join(_worded(part)))
    )


def _worded(part: JsonObject) -> Iterator[str]:
    named = part.get("properties")
    yield from named if isinstance(named, dict) else ()
    for key in _WORDED:
        yield from _texts(part.get(key))


def _texts(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


@read_once
def generic_words(tool: Tool) -> frozenset[str]:
    """Words that name what the tool always deals in, and so single out nothing."""
    named = " ".join(properties_of(tool.output_schema or {}))
    return frozenset(tokens(f"{tool.domain} {tool.name} {named}"))


def _asks_for_a_listed_value(utterance: Utterance, tool: Tool) -> bool:
    """Whether a question is of things of a kind that an input lists: "which concerts are on"."""
    said = tokens(question_in(utterance.text))
    if tool.is_side_effect or {*said[:1]}.isdisjoint(_OF_A_KIND):
        return False
    listed = {stem(word) for value in listed_values(tool) for word in tokens(value)}
    return not listed.isdisjoint(map(stem, said[1:2]))


@read_once
def listed_values(tool: Tool) -> tuple[str, ...]:
    """The texts that the inputs of a tool list as the only ones that they take."""
    inputs = chain(*(walk(i, _INSIDE, most_levels=_MOST_LEVELS) for i in tool.properties.values()))
    return tuple(v for schema in inputs for v in _texts(schema.get("enum")))


def speaks_of(utterance: Utterance, tool: Tool) -> bool:
    """Whether most of what the clause says, its values aside, is said of the tool as well.

    A second opinion beside scores that weigh words by their rarity: over a handful of tools every
    word is common.
    """
    reading = utterance.reading
    bare = _MATTER.split(utterance.without_values)[0]
    wanted = set(content_stems(without_lead(bare)))
    if reading.action is Action.SEND:
        wanted = set(reading.stems) & {*wanted, stem(reading.verb)}
    own = vocabulary(tool)
    # The verb is said by every tool that does such a thing, whatever it calls it.
    done = {stem(reading.verb)} if reading.action is verb_and_action(tool)[1] else set()
    shared = {w for w in wanted if w in own or w in done or not own.isdisjoint(synonyms_of(w))}
    all_shared = shared | (wanted & {*map(stem, tokens(" ".join(listed_values(tool))))})
    if shared - done or all_shared == wanted:  # "Minor" is one of its values in "in D minor", too.
        shared = all_shared
    if _asks_for_a_listed_value(utterance, tool):
        return True
    return bool(wanted) and len(shared) >= ENOUGH * len(wanted)
