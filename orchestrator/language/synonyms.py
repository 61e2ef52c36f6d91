"""Everyday synonyms, which find a tool by other words than its own."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import stem


def _equals() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for line in _LISTS.lines("groups"):
        stems = _stems(line)
        for word in stems:
            found[word] |= dict.fromkeys(other for other in stems if other != word)
    return {word: tuple(others) for word, others in found.items()}


def _synonyms() -> dict[str, tuple[str, ...]]:
    found = defaultdict(dict, {word: dict.fromkeys(same) for word, same in _EQUALS.items()})
    for wider, kinds in _LISTS.table("kinds").items():
        for word in _stems(kinds):
            found[word] |= dict.fromkeys(_stems(wider))
    return {word: tuple(others) for word, others in found.items()}


def _stems(words: str) -> list[str]:
    return [stem(word) for word in words.split()]


_LISTS: Final = WordLists("synonyms")
_EQUALS: Final = _equals()
_SYNONYMS: Final = _synonyms()
_COMPARATIVE: Final = re.compile(r"[a-z]{3,}er")


def meanings_of(word: str) -> Iterator[str]:
    """Yield the stems that replace a word; for "colder" those of "cold" as well."""
    bases = [word, *(word[:-cut] for cut in (2, 3) if _COMPARATIVE.fullmatch(word))]
    for base in map(stem, bases):
        yield base
        yield from synonyms_of(base)


def equals_of(word: str) -> tuple[str, ...]:
    """Return the stems that mean the same as a stem, without hypernyms such as food for pizza."""
    return _EQUALS.get(word, ())


def synonyms_of(word: str) -> tuple[str, ...]:
    """Return the stems that may replace a stem, most common first; usually none."""
    return _SYNONYMS.get(word, ())
