"""Things that are already as a call would make them: an invoice that is paid is not paid again."""

from collections.abc import Iterator
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.language.inflection import participle
from orchestrator.language.intent import Action
from orchestrator.language.words import name_words, stem
from orchestrator.planning.order_deeds import named

_INSIDE: Final = ("items", "properties", "$defs", "allOf", "anyOf", "oneOf")
_MOST_LEVELS: Final = 8
_ONCE: Final = frozenset({Action.PAY, Action.CANCEL})
"""What is done to a thing once: a message or a share may go out again."""


def state_reached(item: JsonObject, tool: Tool, finder: Tool) -> str:
    """The state of a thing that `finder` lists, where it is what `tool` would bring about; else ''.

    A state is one of the values that the finder's document lists for a field.
    """
    verb, action = named(tool)
    if action not in _ONCE:
        return ""
    for value in _states(item, finder):
        first = next(iter(name_words(value)), "")
        if first == participle(verb) or stem(first) == stem(verb):
            return value
    return ""


def _states(item: JsonObject, finder: Tool) -> Iterator[str]:
    for part in walk(finder.output_schema or {}, _INSIDE, most_levels=_MOST_LEVELS):
        for name, schema in properties_of(part).items():
            value, listed = item.get(name), schema.get("enum")
            if isinstance(value, str) and isinstance(listed, list) and value in listed:
                yield value
