"""Conditions: the parts of a request that say when it is to be carried out at all."""

import re
from typing import Final

from orchestrator.language.bounds import limit_of
from orchestrator.language.intent import Action
from orchestrator.language.slots import find_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import content_stems, tokens

_LISTS: Final = WordLists("provisos")
_STRICT: Final = tuple(_LISTS.lines("strict"))
_LOOSE: Final = tuple(_LISTS.lines("loose"))
_REVERSED: Final = frozenset(_LISTS.lines("reversed"))
CONDITION_WORDS: Final = (*_STRICT, *_LOOSE)
"""The words that begin a condition."""
_OF_ITSELF: Final = _LISTS.word_set("of_itself")
_COMPARED: Final = re.compile(rf"\b(?:{'|'.join(_LISTS.words('compared'))})\b|[<>=]", re.IGNORECASE)
_FEW: Final = 4
"""Words that a bound has before its number: "for no more than"."""
_ONE: Final = re.compile(
    r"(?:there\s+(?:is|are)|(?:you|we|i)\s+(?:can\s+)?(?:find|get))\s+(?:one|any|some)\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d")
_NO_SUBJECT: Final = re.compile(
    rf"(?:(?:(?:at|no|not)\s+)?(?:{'|'.join(_LISTS.words('compared'))})\b.*\d"
    rf"|(?:{'|'.join(_LISTS.words('elided_before'))})\s+\w)",
    re.IGNORECASE,
)
_NO_CONDITION: Final = _LISTS.word_set("before_none")
_WRITTEN = "|".join(r"\s+".join(words.split()) for words in (*_STRICT, *_LOOSE))
_CONDITION: Final = re.compile(
    rf"(?:(?P<before>(?!only\b)[^\W\d_]+)\s+)?(?P<all>\b(?P<word>{_WRITTEN})\s+(?P<told>[^,;.!?\n]+))",
    re.IGNORECASE,
)


NONE_THERE: Final = re.compile(
    r"\s+(?:there(?:['\u2019]s|\s+(?:is|are))\s+(?:none|nothing|not\s+(?:one|any)|no\s+[a-z]+)"
    r"|there\s+(?:isn|aren)['\u2019]t\s+(?:one|any(?:thing)?|an?\s+[a-z]+)"
    r"|(?:none|nothing)\s+(?:is|are|costs?)"
    r"|(?:you|we|i)\s+(?:find|get|can(?:not|['\u2019]t)\s+(?:find|get))\s+(?:none|nothing|one|any(?:thing)?))"
    r"\s+(?=\S)",
    re.IGNORECASE,
)
"""What says that nothing is there of what was asked for, before what it is bounded by."""
_INVERTED: Final = _LISTS.word_set("inverted")
_SINGULAR: Final = re.compile(
    r"(?P<who>it|there|he|she|this|that)\s+(?P<not>not\s+)?(?P<verb>[a-z]+)\b", re.IGNORECASE
)
_BE: Final = re.compile(r"\bbe\b", re.IGNORECASE)
_FINITE: Final = {"be": "is", "have": "has", "do": "does", "go": "goes"}


def is_inverted(word: str) -> bool:
    """Whether the word of a condition stands for "if" before its subject: "should it rain"."""
    return word.lower() in _INVERTED


def as_stated(told: str) -> str:
    """What follows such a word as a sentence of its own: "it rains" of "it rain"."""
    said = _SINGULAR.match(told)
    if said is None:
        return _BE.sub("is", told, count=1)
    verb = said["verb"].lower()
    finite = _FINITE.get(verb, f"{verb}s")
    denied = said["not"] or ""
    stated = f"{finite} {denied}" if verb == "be" else f"does not {verb}" if denied else finite
    return f"{said['who']} {stated.rstrip()}{told[said.end() :]}"


def bound_in(text: str) -> str:
    """The bound that a text begins with, to the end of its number: "under 150 euros"."""
    values = (s for s in find_slots(text, now=None) if s.kind in ("amount", "quantity"))
    first = next(values, None)
    if first is None or limit_of(text, first) is None or len(tokens(text[: first.position])) > _FEW:
        return ""
    return text[: first.position + len(first.text)]


def in_full(told: str) -> str:
    """What a condition says as a sentence of its own: of "under 50 EUR" that it is under 50 EUR."""
    return f"it is {told}" if _NO_SUBJECT.match(told) else told


def reversed_bound(told: str) -> str:
    """The opposite of a bound, as what is ordered says it: of "it is over 200" "for at most 200".

    Empty where it bounds nothing, or by more than one number.
    """
    values = [s for s in find_slots(told, now=None) if s.kind in ("amount", "quantity")]
    limit = limit_of(told, values[0]) if len(values) == 1 else None
    return f"for at {'most' if limit == 'min' else 'least'} {values[0].text}" if limit else ""


def conditions_in(text: str, action: Action = Action.UNKNOWN) -> tuple[str, ...]:
    """What a clause makes itself depend on, as written: "unless it rains".

    Only what somebody can look up: a bound on a price is read as a bound, and "if possible" or "if
    there is one" says nothing that the request itself does not. What follows "if" where somebody
    is told something may be what they are asked.

    Args:
        text: a clause, or a whole goal.
        action: what the clause asks to be done.
    """
    return tuple(
        match["all"].strip() for match in _CONDITION.finditer(text) if _is_one(match, action)
    )


def what_of(condition: str) -> str:
    """What a condition says, without the word that makes it one: "it rains"."""
    match = _CONDITION.match(condition)
    return match["told"].strip() if match else condition


def is_unless(condition: str) -> bool:
    """Whether what it says must not be so."""
    match = _CONDITION.match(condition)
    return match is not None and match["word"].lower() in _REVERSED


def reverses_what(word: str) -> bool:
    """Whether what follows the word of a condition must not be so."""
    return " ".join(word.lower().split()) in _REVERSED


def is_idle(word: str, told: str) -> bool:
    """Whether a condition says nothing that the request itself does not: "if possible"."""
    if len(tokens(told)) < 2:
        return True
    strict = " ".join(word.lower().split()) in _STRICT
    return not strict and not content_stems(told)


def is_own_limit(told: str) -> bool:
    """Whether a condition bounds what is ordered: "it costs less than 100 EUR"."""
    first = next((word for word in tokens(told) if word not in ("the", "a", "an")), "")
    is_one = first in _OF_ITSELF or bool(_ONE.match(told))
    if any(slot.kind in ("date", "place", "origin") for slot in find_slots(told, now=None)):
        return False  # "it is below zero in Oslo" is said of no price
    return is_one and bool(_NUMBER.search(told) and _COMPARED.search(told))


def _is_one(match: re.Match[str], action: Action) -> bool:
    word = " ".join(match["word"].lower().split())
    told = match["told"]
    leads = not tokens(match.string[: match.start("all")])
    if leads and not match.string[match.end() :].startswith(","):
        return False  # where it ends and the order begins, nothing says
    strict = word in _STRICT
    if (match["before"] or "").lower() in _NO_CONDITION or len(tokens(told)) < 2:
        return False
    if any(slot.kind == "amount" for slot in find_slots(told, now=None)):
        return False
    return strict or (action is not Action.SEND and bool(content_stems(told)))
