"""What verbs do to a thing, finer than their classes: to move something is not to rename it."""

from typing import Final

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import stem

_LISTS: Final = WordLists("deeds")
_ANY_CHANGE: Final = frozenset(map(stem, _LISTS.word_set("any_change")))
_VAGUE: Final = frozenset(map(stem, _LISTS.word_set("vague")))
_SAME: Final = tuple(frozenset(map(stem, line.split())) for line in _LISTS.lines("same"))

_MADE_FOR: Final = frozenset(map(stem, _LISTS.word_set("made_for")))


def is_any_change(verb: str) -> bool:
    """Whether a verb says that something is changed, and not how: update, edit."""
    return stem(verb) in _ANY_CHANGE


def is_vague(verb: str) -> bool:
    """Whether a verb says nothing of what happens to a thing: put, get."""
    return stem(verb) in _VAGUE


def same_deed(verb: str, other: str) -> bool:
    """Whether both verbs say that the same is done."""
    one, two = stem(verb), stem(other)
    return one == two or any({one, two} <= group for group in _SAME)


def other_deed(verb: str, other: str) -> bool:
    """Whether two verbs are known to say that different things are done: to book is not to file."""
    one, two = stem(verb), stem(other)
    known = all(any(word in group for group in _SAME) for word in (one, two))
    return known and not same_deed(verb, other) and not {one, two} <= _MADE_FOR
