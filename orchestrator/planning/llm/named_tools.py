"""Names of tools as models write them: which one tool of several a name can mean."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from orchestrator.catalog.tool import Tool

Key = TypeVar("Key")

_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_MARK: Final = re.compile(r"[\[({][^\])}]{0,80}[\])}]?\s*$")
"""What a model copies after a name: `[confirm]`, `(city)`."""
_PREFIX: Final = re.compile(r"^(?:.{0,40}[ =])?functions?[.:/]")
_NUMBER: Final = re.compile(r":[0-9]{1,3}$")
"""What models put around a name: `to=functions.`, and which of several calls it is."""
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_A-Za-z]+")
_MOST_WORDS: Final = 6
"""A name of more words is a sentence, which means no tool unless it is a title."""
_LONGEST_NAME: Final = 64
_LONGEST_SAID: Final = 200


def wire_name(name: str) -> str:
    """Return a tool's name as every provider of models takes it."""
    return _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME]


def wire_names(tools: Iterable[Tool], taken: Iterable[str] = ()) -> dict[str, Tool]:
    """Return the tools by names that every provider of models takes, each name once."""
    used = set(taken)
    named: dict[str, Tool] = {}
    for tool in tools:
        base = wire_name(tool.name)
        name, number = base, 1
        while name in used:
            number += 1
            ending = f"_{number}"
            name = base[: _LONGEST_NAME - len(ending)] + ending
        used.add(name)
        named[name] = tool
    return named


def bare_name(said: str) -> str:
    """Return a name without what models put around it.

    Example: `functions.hotel_book_room<|channel|>commentary` is `hotel_book_room`.
    """
    plain = said.partition("<|")[0].strip().strip("`'\"")
    return _NUMBER.sub("", _PREFIX.sub("", plain)).strip()


def meant_by(said: str, tools: Mapping[Key, Tool]) -> Key | None:
    """Return the key of the one tool that a name can mean; None: of none, or of several.

    Case, marks after the name, a missing prefix, another order of its words, and the title in the
    place of the name are forgiven where exactly one tool fits.

    Example: `book_hotel` means `hotel_book_room` where no other name has both words.
    """
    if len(said) > _LONGEST_SAID:
        return None
    bare = _MARK.sub("", bare_name(said)).strip()
    words = _words(bare)
    if not words:
        return None
    read = [(key, tool, _words(tool.name)) for key, tool in tools.items()]
    for fits in (
        [key for key, tool, _ in read if tool.name == bare or key == bare],
        [key for key, _, name in read if name == words],
        [key for key, tool, _ in read if _words(tool.title) == words],
        [key for key, _, name in read if sorted(name) == sorted(words)],
        [key for key, _, name in read if len(words) <= _MOST_WORDS and {*words} <= {*name}],
    ):
        if fits:
            return fits[0] if len(fits) == 1 else None
    return None


def could_mean(said: str, tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools whose names have all the words of a short name."""
    words = {*_words(_MARK.sub("", said[:_LONGEST_SAID]))}
    return [tool for tool in tools if words and words <= {*_words(tool.name)}]


def _words(text: str) -> list[str]:
    """Return the words of a name, lower case, without the `s` of a plural."""
    found = (word.casefold() for word in _WORD.findall(text))
    return [word.removesuffix("s") if len(word) > 3 else word for word in found]
