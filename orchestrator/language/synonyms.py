"""Everyday synonyms, which find a tool by other words than its own."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import stem

_LISTS: Final = WordLists("synonyms")
_EQUALS: defaultdict[str, dict[str, None]] = defaultdict(dict)
"""The stems that mean the same as a stem, most common first."""
for _line in _LISTS.lines("groups"):
    _stems = [stem(word) for word in _line.split()]
    for _word in _stems:
        _EQUALS[_word] |= {other: None for other in _stems if other != _word}
_SYNONYMS = defaultdict(dict, {word: {**same} for word, same in _EQUALS.items()})
"""These, and the hypernyms of a stem."""
for _wider, _kinds in _LISTS.table("kinds").items():
    for _word in _kinds.split():
        _SYNONYMS[stem(_word)] |= {stem(word): None for word in _wider.split()}
_COMPARATIVE: Final = re.compile(r"[a-z]{3,}er")


def meanings_of(word: str) -> Iterator[str]:
    """Yield the stems that replace a word; for "colder" those of "cold" as well."""
    bases = [word, *(word[:-cut] for cut in (2, 3) if _COMPARATIVE.fullmatch(word))]
    for base in map(stem, bases):
        yield base
        yield from synonyms_of(base)


def equals_of(word: str) -> tuple[str, ...]:
    """Return the stems that mean the same as a stem, without hypernyms such as food for pizza."""
    return tuple(_EQUALS.get(word, ()))


def synonyms_of(word: str) -> tuple[str, ...]:
    """Return the stems that may replace a stem, most common first; usually none."""
    return tuple(_SYNONYMS.get(word, ()))
