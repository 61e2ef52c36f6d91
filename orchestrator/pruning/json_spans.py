"""Positions of the members of a JSON text, to replace some and leave the rest unchanged.

Writing a parsed document again changes more than intended: the order of keys that occur twice, the
digits of numbers, the escapes of texts.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


class Span(NamedTuple):
    """A value, and the start and end of its text."""

    value: Any
    start: int
    end: int


class Member(NamedTuple):
    """A member of an object; an element of an array has no name."""

    name: str
    span: Span


def members(text: str) -> list[Member]:
    """Return the members of a JSON object, in order.

    Raises:
        ValueError: the text is not one JSON object.
    """
    found, end = _items(text, 0, "{}")
    if (end := _after_space(text, end)) != len(text):
        raise ValueError(f"unexpected text after the object, at character {end}")
    return found


def elements(text: str, array: Span) -> list[Span]:
    """Return the elements of an array of a text, in their order."""
    return [item.span for item in _items(text, array.start, "[]")[0]]


def replaced(text: str, changes: Mapping[tuple[int, int], str]) -> str:
    """Return the text with some spans, which must not overlap, replaced by other texts."""
    pieces, at = [], 0
    for (start, end), new in sorted(changes.items()):
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _items(text: str, at: int, brackets: str) -> tuple[list[Member], int]:
    """Return the members of an object or the elements of an array, and its end."""
    found: list[Member] = []
    at = _after(text, at, brackets[0])
    while text[at : at + 1] != brackets[1]:
        if found:
            at = _after(text, at, ",")
        name = ""
        if brackets == "{}":
            if text[at : at + 1] != '"':
                raise ValueError(f"expected a name at character {at}")
            name, at = _DECODER.raw_decode(text, at)
            at = _after(text, at, ":")
        value, end = _DECODER.raw_decode(text, at)
        found.append(Member(name, Span(value, at, end)))
        at = _after_space(text, end)
    return found, at + 1


def _after(text: str, at: int, character: str) -> int:
    at = _after_space(text, at)
    if text[at : at + 1] != character:
        raise ValueError(f"expected {character!r} at character {at}")
    return _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
