"""Handles of personal fields, which replace the values everywhere but on the wire.

`pii:traveler_id` means the current value; planners and people write it. A prepared call holds
`pii:traveler_id@VERSION`: exactly one value, whatever the vault receives later.
"""

import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject

PII_PREFIX = "pii:"
VERSION_LENGTH = 32
_NAME = r"[A-Za-z_][A-Za-z0-9_.-]{0,99}"
_VERSION = rf"[0-9a-f]{{{VERSION_LENGTH}}}"
_FIELD = re.compile(_NAME)
_HANDLE = re.compile(rf"{PII_PREFIX}({_NAME})(?:@({_VERSION}))?")
_PINNED = re.compile(rf"({PII_PREFIX}{_NAME})@{_VERSION}")


class Handle(NamedTuple):
    """A field and the version of its value; without a version the current value."""

    field: str
    version: str | None = None

    def __str__(self) -> str:
        pinned = "" if self.version is None else f"@{self.version}"
        return f"{PII_PREFIX}{self.field}{pinned}"


def is_field_name(field: str) -> bool:
    """Return True for a valid field name: a letter, then letters, digits, `_`, `.`, `-`."""
    return _FIELD.fullmatch(field) is not None


def check_entry(field: str, value: str) -> None:
    """Refuse an entry that no vault may hold: an invalid field name, or an empty value."""
    if not is_field_name(field):
        raise UsageError(
            f"{field!r} cannot name a personal field; "
            "use a letter, then letters, digits, underscores, dots or hyphens"
        )
    if not value:
        raise UsageError(f"the value of {field} is empty; to remove it, forget the field")


def handle_for(field: str) -> str:
    """Return the handle of a field's current value: `pii:traveler_id`."""
    return str(Handle(field))


def is_handle(value: object) -> bool:
    """Return True if the whole value is a handle, rather than text that contains one."""
    return handle_of(value) is not None


def handle_of(value: object) -> Handle | None:
    """Parse a value as a handle, with or without a version; None when it is not one."""
    found = _HANDLE.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else Handle(found[1], found[2])


def field_of(value: object) -> str | None:
    """Return the field of a handle; None when the value is not a handle."""
    handle = handle_of(value)
    return None if handle is None else handle.field


def handles_in(value: JsonValue) -> frozenset[str]:
    """Return the fields of all handles that are whole strings anywhere in a value."""
    return frozenset(field for text in _texts(value) if (field := field_of(text)) is not None)


def handles_within(value: JsonValue, fields: Collection[str]) -> tuple[Handle, ...]:
    """Return the handles of these fields anywhere in a value's texts; each once, in order."""
    if not fields:
        return ()
    pattern = _pattern_of(fields)
    found = (Handle(m[1], m[2]) for text in _texts(value) for m in pattern.finditer(text))
    return tuple(dict.fromkeys(found))


def replace_handles(text: str, fields: Collection[str], value_of: Callable[[Handle], str]) -> str:
    """Return a text with the handles of these fields replaced wherever they occur.

    A provider's own id may contain a personal value. Masked, the id is text around a handle, and
    must become the id again when it is sent back.
    """
    if PII_PREFIX not in text or not fields:
        return text
    return _pattern_of(fields).sub(lambda found: value_of(Handle(found[1], found[2])), text)


def as_written(values: JsonObject) -> JsonObject:
    """Return arguments or inputs with whole-string handles in the form that planners write."""
    return {name: _without_version(held) for name, held in values.items()}


def _without_version(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return as_written(value)
    if isinstance(value, list):
        return [_without_version(held) for held in value]
    field = field_of(value)
    return value if field is None else handle_for(field)


def shown_without_version(text: str) -> str:
    """Return a text for people, without the versions of values."""
    return _PINNED.sub(r"\1", text) if PII_PREFIX in text else text


def bare_personal(value: JsonValue, personal: Collection[str]) -> tuple[str, ...]:
    """Return the personal fields that hold anything but a handle, at any depth."""
    return tuple(dict.fromkeys(_bare(value, personal)))


def _bare(value: JsonValue, personal: Collection[str]) -> Iterator[str]:
    if isinstance(value, list):
        for held in value:
            yield from _bare(held, personal)
    elif isinstance(value, dict):
        for name, held in value.items():
            if name in personal and held is not None and not is_handle(held):
                yield name
            else:
                yield from _bare(held, personal)


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield every string in a value, without property names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for held in value.values():
            yield from _texts(held)
    elif isinstance(value, list):
        for held in value:
            yield from _texts(held)


def _pattern_of(fields: Collection[str]) -> re.Pattern[str]:
    # Longest first: `pii:name_kana` must not match as `pii:name` plus a rest.
    names = "|".join(re.escape(field) for field in sorted(fields, key=len, reverse=True))
    return re.compile(f"{PII_PREFIX}({names})(?:@({_VERSION}))?")
