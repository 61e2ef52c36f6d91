"""Statements that follow a request in its own sentence, and wishes about the thing it asks for."""

import re
from typing import Final, NamedTuple

from orchestrator.language import lexicon
from orchestrator.language.dates import find_date_phrases
from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("provisos")
_SUBJECTS: Final = _LISTS.words("subjects")
_STATES: Final = (*_LISTS.words("states"), *_LISTS.words("modals"))
_SOME_DAY: Final = "2000-01-01"
_WHICH: Final = lexicon.PREFERENCES - {"one", "ones"}


def _any(words: "tuple[str, ...] | list[str]") -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_NO_NOUN: Final = _any(
    [
        *_SUBJECTS,
        *_STATES,
        *_LISTS.words("relating"),
        *WordLists("coordination").words("prepositions"),
    ]
)
_STATEMENT: Final = re.compile(
    rf"(?:(?P<pronoun>{_any(_SUBJECTS)})"
    rf"|(?:the|my|our|his|her|their|this|that)"
    rf"(?:\s+(?!(?:{_NO_NOUN})\b)(?P<last>[a-z][\w-]*)){{1,3}}?"
    rf"|[A-Z][\w.-]*(?:\s+[A-Z][\w-]*)?)"
    rf"(?:\s+|(?=['\u2019]))(?:{_any(_STATES)})\s+\w"
)
"""Who or what, right behind it the verb of a statement, and something more: "the car is fine"."""
_WISH: Final = re.compile(
    rf"\s*(?:it|they|this|that|(?:the|this|that)\s+(?P<thing>[a-z]+))"
    rf"\s+(?:{_any(_LISTS.words('musts'))})(?:\s+to)?(?:\s+also)?"
    rf"\s+(?:(?P<has>{_any(_LISTS.lines('to_have'))})|(?P<costs>cost)|be)\s+(?!not\b)",
    re.IGNORECASE,
)
_GIVEN_BACK: Final = re.compile(
    r"\s*(?:please\s+)?(?:(?:return|(?:bring|hand|give|take)\s+back|drop\s+off)"
    r"\s+(?:it|(?:the|my)\s+(?P<thing>[a-z]+))"
    r"|(?:bring|hand|give|take|drop)\s+(?:it|(?:the|my)\s+(?P<one>[a-z]+))\s+(?:back|off))"
    r"\s+(?:again\s+)?(?:(?:on|by)\s+)?(?=\S)",
    re.IGNORECASE,
)
_NOTHING_MORE: Final = re.compile(r"\s*(?:[,.;!]|$|\band\b)", re.IGNORECASE)
_ORDERED: Final = re.compile(
    rf"(?:it|they|this|that|(?:the|my|our|this|that|these|those)"
    rf"(?:\s+(?!(?:{_NO_NOUN})\b)[a-z][\w-]*){{1,3}}?)"
    rf"\s+(?:{_any(_LISTS.words('musts'))})(?:n['\u2019]t)?\s",
    re.IGNORECASE,
)


class Wish(NamedTuple):
    """What a thing that was asked for is to be or have: `put` stands for the `length` before it."""

    thing: str
    """The noun that it is said of; empty where a pronoun is."""
    put: str
    length: int


def states(text: str) -> bool:
    """Whether a text behind a pause says how something is: "the flight can stay".

    "The cheapest is fine" says which one is meant.
    """
    match = _STATEMENT.match(text.lstrip())
    return match is not None and match["last"] not in _WHICH


def states_of_another(text: str) -> bool:
    """Whether it does so of something that it names, and not of "it"."""
    match = _STATEMENT.match(text.lstrip())
    return states(text) and match is not None and not match["pronoun"]


def wish_in(text: str) -> Wish | None:
    """The wish that a text begins with: "it must have a pool" is "with a pool".

    When a thing is given back is until when it is had: "return it on Friday".
    """
    back = _GIVEN_BACK.match(text)
    if back is not None and _is_a_day(text[back.end() :]):
        return Wish((back["thing"] or back["one"] or "").lower(), " until ", back.end())
    match = _WISH.match(text)
    if match is None:
        return None
    put = " with " if match["has"] else " for " if match["costs"] else ", "
    return Wish((match["thing"] or "").lower(), put, match.end())


def _is_a_day(text: str) -> bool:
    """Whether a text, or its clause, is a day and nothing more."""
    day = next(iter(find_date_phrases(text, now=None, before=_SOME_DAY)), None)
    return day is not None and not day.start and bool(_NOTHING_MORE.match(text, day.end))


def orders_of_a_thing(text: str) -> bool:
    """Whether a statement says how something is to be, and not how it is: "it must not bark"."""
    return _ORDERED.match(text.lstrip()) is not None
