"""Where the members of a JSON text stand, so that some are replaced and the rest stays as it is.

Writing a parsed document anew changes more than was meant: the order of keys that stand twice, the
digits of numbers, the escapes of texts. Here what is not touched is kept to the letter.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


class Span(NamedTuple):
    """A value, and where its text begins and ends."""

    value: Any
    start: int
    end: int


class Member(NamedTuple):
    """A member of an object: where its name begins, and its value."""

    name: str
    start: int
    span: Span


def members(text: str) -> list[Member]:
    """The members of the object that a text is, in their order.

    Raises:
        ValueError: the text is not one JSON object.
    """
    found: list[Member] = []

    def member(start: int) -> int:
        if text[start : start + 1] != '"':
            raise ValueError(f"a name is wanted at character {start}")
        name = _span(text, start)
        colon = _wanted(text, _after_space(text, name.end), ":")
        found.append(Member(name.value, start, _span(text, _after_space(text, colon))))
        return found[-1].span.end

    end = _after_space(text, _each(text, _after_space(text, 0), "{}", member))
    if end != len(text):
        raise ValueError(f"there is more after the object, at character {end}")
    return found


def elements(text: str, array: Span) -> list[Span]:
    """The elements of an array of a text, in their order."""
    found: list[Span] = []

    def element(start: int) -> int:
        found.append(_span(text, start))
        return found[-1].end

    _each(text, array.start, "[]", element)
    return found


def replaced(text: str, changes: Mapping[tuple[int, int], str]) -> str:
    """The text with other texts in the place of some spans, none of which overlap."""
    pieces, at = [], 0
    for (start, end), new in sorted(changes.items()):
        pieces += [text[at:start], new]
        at = end
    return "".join([*pieces, text[at:]])


def _each(text: str, at: int, brackets: str, item: Callable[[int], int]) -> int:
    """Where an object or array ends; `item` is told where each of its items begins.

    Args:
        text: holds it.
        at: where it begins.
        brackets: that open and close it.
        item: says where the item ends.
    """
    at = _after_space(text, _wanted(text, at, brackets[0]))
    if text[at : at + 1] == brackets[1]:
        return at + 1
    while True:
        at = _after_space(text, item(at))
        if text[at : at + 1] == brackets[1]:
            return at + 1
        at = _after_space(text, _wanted(text, at, ","))


def _wanted(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise ValueError(f"{character!r} is wanted at character {at}")
    return at + 1


def _span(text: str, at: int) -> Span:
    value, end = _DECODER.raw_decode(text, at)
    return Span(value, at, end)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
