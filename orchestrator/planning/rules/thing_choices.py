"""What found things give a call, and the choice among them that a person is asked for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from orchestrator.core.received_files import FILE, is_file_handle
from orchestrator.core.record import JsonObject
from orchestrator.language.inflection import plural
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.parameters import Kind, Parameter
from orchestrator.planning.rules.sentences import details

_MAX_CHOICES: Final = 20


def gives(item: Item, wanted: Sequence[Parameter]) -> JsonObject:
    """The wanted values that a thing has."""
    return {p.name: v for p in wanted if (v := given(item, p)) is not None}


def given(item: Item, parameter: Parameter) -> JsonValue:
    """What a thing has for one input; for a list of such, itself as the only one."""
    element = parameter.element
    if (element or parameter).kind is Kind.FILE:
        handle = item.value(FILE)
        held: JsonValue = [handle] if element else handle
        return held if is_file_handle(handle) else None
    value = item.value(parameter.name)
    if value is None and element is not None and element.kind is not Kind.OBJECT:
        single = item.value(element.name)
        value = [single] if single is not None else None
    return parameter.first_accepted(value, _otherwise_written(value, parameter))


def _otherwise_written(value: JsonValue, parameter: Parameter) -> JsonValue:
    """An id that is told as a text, as the number that an input takes."""
    if not parameter.is_id or not isinstance(value, str) or not value.isdecimal():
        return None
    return int(value) if str(int(value)) == value else None


def readable(item: Item) -> str:
    """A thing as a person tells it from others, with its price and without its id."""
    own = {name: value for name, value in item.fields.items() if name in item.own}
    price = [str(item.price)] if item.price is not None else []
    told = [*details(own, reference=False), *price]
    return ", ".join(told) or ", ".join(details(item.fields))


def choice_of_one(wanted: Sequence[Parameter], items: Sequence[Item]) -> tuple[Parameter, ...]:
    """The inputs that the things give, with those to choose from as their only values."""
    asked: list[Parameter] = []
    for parameter in wanted:
        if options := _options(parameter, items):
            schema: JsonObject = {**parameter.schema, "oneOf": options}
            schema["description"] = _told(options)
            asked.append(replace(parameter, schema=schema))
    return tuple(asked)


def choice_of_several(parameter: Parameter, items: Sequence[Item]) -> Parameter:
    """A field for those of the things that are meant, all of which may be."""
    options = _options(parameter, items)
    schema: JsonObject = {
        "type": "array",
        "items": {"type": "string", "oneOf": options},
        "uniqueItems": True,
        "description": _told(options),
    }
    name = answer_name(parameter)
    return replace(parameter, name=name, schema=schema, kind=Kind.LIST, words=(*name.split("_"),))


def answer_name(parameter: Parameter) -> str:
    """The name under which a person answers which of several things are meant."""
    return plural(parameter.name) if not parameter.name.endswith("s") else parameter.name


def _options(parameter: Parameter, items: Sequence[Item]) -> list[JsonValue]:
    found: dict[str, tuple[JsonValue, str]] = {}
    for item in items[:_MAX_CHOICES]:
        value = given(item, parameter)
        single = value[0] if isinstance(value, list) and value else value
        if single is not None:
            found.setdefault(str(single), (single, readable(item) or str(single)))
    often = Counter(title for _, title in found.values())
    return [
        # What reads alike is told apart by its id alone.
        {"const": value, "title": title if often[title] == 1 else f"{title} ({value})"}
        for value, title in found.values()
    ]


def _told(options: Sequence[JsonValue]) -> str:
    return "; ".join(str(option["title"]) for option in options if isinstance(option, dict))
