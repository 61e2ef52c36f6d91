"""Which arguments are ids, and the objects in earlier answers that they stand for.

An id is told by its name or its look, and by being found: a value that no answer holds, or that
several members of one list hold alike, names nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of
from orchestrator.language import lexicon
from orchestrator.language.words import name_words

_LONGEST: Final = 200
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d([T ]\S*)?|\d\d?:\d\d\S*")
_CODE: Final = re.compile(r"(?=.*\d)(?=.*[^\W\d_])[^\s@:/?&]{2,}")
"""Letters and digits in one piece; no address, no moment."""


@dataclass(frozen=True)
class NamedId:
    """An argument that may name a thing."""

    argument: str
    """The name of the argument that it stands in; of an inner one, its holder's first."""
    value: JsonValue
    is_named: bool
    """Whether the argument's own name or schema says that it is an id."""


@dataclass(frozen=True)
class Held:
    """An object in an answer that holds an id."""

    item: JsonObject
    around: JsonObject
    """The scalars of the objects around it, the nearest first."""


def ids_in(arguments: JsonObject, schema: JsonObject | None = None) -> tuple[NamedId, ...]:
    """The arguments that may be ids, however deep they stand and in lists too, each once."""
    found = {(i.argument, repr(i.value)): i for i in _ids(arguments, "", schema or {}, schema)}
    return tuple(found.values())


def holders_of(wanted: NamedId, body: JsonValue, beside: JsonObject | None = None) -> list[Held]:
    """The objects of an answer that an id stands for, outer before inner.

    Where several members of one list hold it, it is the one that agrees with the arguments
    `beside` it; none when that does not tell them apart.
    """
    return _held(wanted, body, {}, beside or {})


def stands_in(wanted: NamedId, body: JsonValue) -> bool:
    """Whether an answer holds an id at all, be it in several things alike."""
    if isinstance(body, list):
        return any(stands_in(wanted, member) for member in body)
    if not isinstance(body, dict):
        return False
    return _holds(wanted, body) or any(stands_in(wanted, held) for held in body.values())


def _ids(
    value: JsonValue, name: str, schema: JsonObject, root: JsonObject | None
) -> Iterator[NamedId]:
    if isinstance(value, dict):
        known = properties_of(schema)
        for inner, held in value.items():
            part = known.get(inner)
            shape = resolve(part, root or {}) if isinstance(part, dict) else {}
            yield from _ids(held, f"{name}.{inner}" if name else inner, shape, root)
    elif isinstance(value, list):
        items = schema.get("items")
        shape = resolve(items, root or {}) if isinstance(items, dict) else {}
        for held in value:
            yield from _ids(held, name, shape, root)
    elif _may_be_id(value) and "enum" not in schema and "const" not in schema:
        is_named = _says_id(name) or schema.get("format") == "uuid"
        if is_named or (isinstance(value, str) and _CODE.fullmatch(value)):
            yield NamedId(name, value, is_named)


def _may_be_id(value: JsonValue) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return True
    if not isinstance(value, str) or is_handle(value) or _MOMENT.fullmatch(value):
        return False
    return 0 < len(value) <= _LONGEST


def _says_id(name: str) -> bool:
    return bool(set(name_words(name)[-1:]) & lexicon.IDENTIFIER)


def _held(wanted: NamedId, value: JsonValue, around: JsonObject, beside: JsonObject) -> list[Held]:
    if isinstance(value, list):
        return _one_of([_held(wanted, member, around, beside) for member in value], beside)
    if not isinstance(value, dict):
        return []
    own = [Held(value, around)] if _holds(wanted, value) else []
    outer = {**around, **{n: v for n, v in value.items() if not isinstance(v, dict | list)}}
    inner = [held for v in value.values() for held in _held(wanted, v, outer, beside)]
    return [*own, *inner]


def _is_same(value: JsonValue, wanted: JsonValue, *, by_id: bool) -> bool:
    """Whether both are one value; of ids also where a call takes a number that is told as text."""
    if value == wanted and type(value) is type(wanted):
        return True
    return by_id and type(wanted) is int and isinstance(value, str) and value == str(wanted)


def _holds(wanted: NamedId, item: Mapping[str, JsonValue]) -> bool:
    last = wanted.argument.rpartition(".")[2]
    return any(
        _is_same(value, wanted.value, by_id=_says_id(name) and wanted.is_named)
        and (name == last or _says_id(name) or (wanted.is_named and isinstance(value, str)))
        for name, value in item.items()
    )


def _one_of(members: list[list[Held]], beside: JsonObject) -> list[Held]:
    """What the one member of a list gives that is meant; nothing where that is not clear."""
    holding = [held for held in members if held]
    if len(holding) > 1:
        holding = [held for held in holding if _agrees(held[0].item, beside)]
    return holding[0] if len(holding) == 1 else []


def _agrees(item: JsonObject, beside: JsonObject) -> bool:
    return all(
        item[name] == value
        for name, value in beside.items()
        if name in item and not isinstance(value, dict | list)
    )
