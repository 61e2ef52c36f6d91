"""Positions of the members of a JSON text, to replace some and leave the rest unchanged.

Writing a parsed document again changes more than intended: the order of keys that occur twice, the
digits of numbers, the escapes of texts.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


class Span(NamedTuple):
    """A value, and the start and end of its text."""

    value: Any
    start: int
    end: int


class Member(NamedTuple):
    """A member of an object: its name, the start of the name, and its value."""

    name: str
    start: int
    span: Span


def members(text: str) -> list[Member]:
    """Return the members of a JSON object, in order.

    Raises:
        ValueError: the text is not one JSON object.
    """
    found: list[Member] = []

    def member(start: int) -> int:
        if text[start : start + 1] != '"':
            raise ValueError(f"expected a name at character {start}")
        name = _span(text, start)
        colon = _expect(text, _after_space(text, name.end), ":")
        found.append(Member(name.value, start, _span(text, _after_space(text, colon))))
        return found[-1].span.end

    end = _after_space(text, _each(text, _after_space(text, 0), "{}", member))
    if end != len(text):
        raise ValueError(f"unexpected text after the object, at character {end}")
    return found


def elements(text: str, array: Span) -> list[Span]:
    """Return the elements of an array of a text, in their order."""
    found: list[Span] = []

    def element(start: int) -> int:
        found.append(_span(text, start))
        return found[-1].end

    _each(text, array.start, "[]", element)
    return found


def replaced(text: str, changes: Mapping[tuple[int, int], str]) -> str:
    """Return the text with some spans, which must not overlap, replaced by other texts."""
    pieces, at = [], 0
    for (start, end), new in sorted(changes.items()):
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _each(text: str, at: int, brackets: str, item: Callable[[int], int]) -> int:
    """Return the end of an object or array that begins at `at`.

    `item` is called with the start of each of its items and returns the item's end.
    """
    at = _after_space(text, _expect(text, at, brackets[0]))
    if text[at : at + 1] == brackets[1]:
        return at + 1
    while True:
        at = _after_space(text, item(at))
        if text[at : at + 1] == brackets[1]:
            return at + 1
        at = _after_space(text, _expect(text, at, ","))


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise ValueError(f"expected {character!r} at character {at}")
    return at + 1


def _span(text: str, at: int) -> Span:
    value, end = _DECODER.raw_decode(text, at)
    return Span(value, at, end)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
