"""Quantifiers: whether a request is of all there are, and of which one by its place in an order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, pairwise, takewhile
from typing import Final, Literal

from orchestrator.language.clause_reading import ClauseReading, says_whom_first
from orchestrator.language.clauses import without_lead
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.slots import find_slots
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import tokens

Ordering = Literal["cheapest", "dearest", "oldest", "newest", "best", "as_told"]
"""By what things are put in order; `as_told`: as the answer that lists them does."""

_LISTS: Final = WordLists("quantifiers")
_ALL: Final = _LISTS.word_set("all")
_VAGUE: Final = _LISTS.word_set("vague")
_TIMES: Final = "|".join(_LISTS.words("times"))
_EACH: Final = _LISTS.word_set("each")
_EVERYBODY: Final = _LISTS.word_set("everybody")
_THEM: Final = _LISTS.word_set("them")
_BETWEEN: Final = _LISTS.word_set("between")
_WHEN: Final = _LISTS.word_set("when")
_BEGINS: Final = _LISTS.word_set("begins_when")
_ORDINALS: Final = {word: int(n) for word, n in _LISTS.table("ordinals").items()}
_ORDERS: Final = _LISTS.table("orders")
_TOLD: Final = re.compile(r"\b(?:that|saying|says)\b|:\s", re.IGNORECASE)
_TO_SEVERAL: Final = re.compile(
    r"\b(?:to|with)\s+(?:the|my|our|these|those)\s+(?:[a-z]+\s+){0,2}?(?P<noun>[a-z]+s)\b"
)
_TO: Final = frozenset({"to", "with", "for"})
_WHERE: Final = _TO | {"in", "on", "into"}

_SUPERLATIVE = "|".join(
    r"\s+".join(words.split()) for words in sorted(_ORDERS, key=len, reverse=True)
)
_NTH = rf"{'|'.join(_ORDINALS)}|\d{{1,2}}(?:st|nd|rd|th)"
_FEW = r"[2-9]|1\d|two|three|four|five|six|seven|eight|nine|ten"
_RANKED: Final = re.compile(
    rf"""\b(?:(?:the\s+)?(?P<nth>{_NTH})[\s-]+(?P<by>{_SUPERLATIVE})
        |(?:the\s+)?(?P<edge>first|last)\s+(?P<few3>{_FEW})
        |(?:the\s+)?(?P<few>{_FEW})\s+(?P<by2>{_SUPERLATIVE})
        |(?P<by5>{_SUPERLATIVE})\s+(?P<few2>{_FEW})
        |(?:the\s+)?(?P<by3>{_SUPERLATIVE})\s+(?:[a-z]+\s+)?but\s+(?P<but>one|two)
        |(?:the\s+)?(?P<back>second|third|next)[\s-]+(?:to[\s-]+)?last
        |the\s+(?P<by4>{_SUPERLATIVE})
        |the\s+(?P<nth2>{_NTH}))\b(?!\s+(?:{"|".join(_WHEN)}|class)\b)""",
    re.IGNORECASE | re.VERBOSE,
)

_OF_DAY: Final = re.compile(
    r"\b(?:on|until|till|from|by|since|before|after|through)\s+$", re.IGNORECASE
)
"""What stands before a day of the month: "until the 20th"."""
_ABOUT_AS_MANY: Final = re.compile(
    rf"\b(?:all\s+but\s+(?:one|{_FEW})|(?:one|{_FEW})\s+or\s+(?:{_FEW})|(?:{_TIMES}))\b(?!\s+(?:o'?clock|[ap]m))",
    re.IGNORECASE,
)


_ONE_OF: Final = re.compile(
    r"\b(?:(?:just|only)\s+)?(?:one|any|either)\s+of\s+(?:my|our|the|these|those|them|all)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class PlaceInOrder:
    """Which of several things is meant by its place in an order; `first` counts from 0."""

    order: Ordering
    first: int = 0
    number: int = 1
    said: str = field(default="", compare=False)
    """The words that name it."""


def place_in(text: str) -> PlaceInOrder | None:
    """The place that a clause names: "the second cheapest", "the two earliest", "the last one"."""
    told = _TOLD.search(text)
    match = _RANKED.search(text[: told.start()] if told else text)
    if match is None or _is_value(match, text):
        return None
    words = next((match[g] for g in ("by", "by2", "by3", "by4", "by5") if match[g]), "")
    order = _ORDERS.get(" ".join(words.lower().split()), "as_told")
    few = match["few"] or match["few2"] or match["few3"]
    first = 0
    if (match["edge"] or "").lower() == "last":
        order = "newest"
    if match["nth"] or match["nth2"]:
        first = _ordinal(match["nth"] or match["nth2"]) - 1
    elif match["but"]:
        first = _number(match["but"])
    elif match["back"]:
        order, first = "newest", {"second": 1, "next": 1, "third": 2}[match["back"].lower()]
    number = _number(few) if few else 1
    return PlaceInOrder(order, first, number, match.group())  # type: ignore[arg-type]


def _is_value(match: re.Match[str], text: str) -> bool:
    """Whether the words belong to a day ("on the 2nd") or to another value."""
    return any(
        slot.kind in ("date", "time", "amount")
        and slot.position < match.end()
        and match.start() < slot.position + len(slot.text)
        for slot in find_slots(text, now=None)
    ) or bool(match["nth2"] and _OF_DAY.search(text[: match.start()]))


def _ordinal(word: str) -> int:
    return _ORDINALS.get(word.lower()) or int(re.sub(r"\D", "", word))


def _number(word: str) -> int:
    found = find_slots(f"{word} things", now=None)
    value = found[0].value if found else 1
    return value if isinstance(value, int) else 1


def all_of(clause: ClauseReading) -> bool:
    """Whether a clause says that it is of all there are: "each guest", "everything", "them".

    Of who is told something that says no such thing: "tell them to come".
    """
    told = _TOLD.search(clause.text)
    text = clause.text[: told.start()] if told else clause.text
    words = tokens(without_lead(text))
    if clause.verb in words:
        words = words[words.index(clause.verb) + 1 :]
    rest = [*dropwhile(lambda word: word in _BETWEEN, words)]
    if rest[:1] and rest[0] in _THEM and says_whom_first(clause.verb):
        return False
    if _begins_with_all(rest) or (rest[:1] and rest[0] in _THEM and len(rest[1:2]) == 0):
        return True
    if rest[:1] and rest[0] in _THEM:
        return rest[0] == "them"
    if clause.action not in (Action.SEND, Action.PAY):
        return False
    return any(
        a in _WHERE and _begins_with_all(words[n + 1 :]) for n, (a, _) in enumerate(pairwise(words))
    )


def is_one_of(clause: ClauseReading) -> bool:
    """Whether one of several is meant, and not all of them: "one of my two bookings"."""
    told = _TOLD.search(clause.text)
    return bool(_ONE_OF.search(clause.text[: told.start()] if told else clause.text))


def bare_plural(clause: ClauseReading) -> str:
    """What a clause acts on where it says neither how many nor which: "can you pay bills?"."""
    words = [word for word in tokens(without_lead(clause.text)) if word != "please"]
    words = words[words.index(clause.verb) + 1 :] if clause.verb in words else []
    return words[0] if len(words) == 1 and singular(words[0]) != words[0] else ""


def vague_number(clause: ClauseReading) -> str:
    """The words that say that several are meant, and not how many; '' where there are none.

    "A few drafts", "two or three tables", "all but one of them", "twice".
    """
    told = _TOLD.search(clause.text)
    text = clause.text[: told.start()] if told else clause.text
    if match := _ABOUT_AS_MANY.search(text):
        return match.group()
    rest = text[text.lower().find(clause.verb) + len(clause.verb) :] if clause.verb else text
    words = [*takewhile(lambda word: word not in _TO | {"in", "on", "at", "from"}, tokens(rest))]
    nouns = [n for n, word in enumerate(words) if singular(word) != word and word not in _WHEN]
    before = words[: nouns[0]] if nouns else []
    return next((word for word in before if word in _VAGUE), "")


def for_each(clause: ClauseReading) -> bool:
    """Whether what is asked for is asked for each of some others: "a refill for each animal"."""
    told = _TOLD.search(clause.text)
    words = tokens(clause.text[: told.start()] if told else clause.text)
    return any(
        a == "for" and b in _EACH and not _WHEN & {*words[n + 2 : n + 4]}
        for n, (a, b) in enumerate(pairwise(words))
    )


def _begins_with_all(words: Sequence[str]) -> bool:
    if not words:
        return False
    if words[0] in _EVERYBODY:
        return True
    return words[0] in _ALL and not _WHEN & {*words[1:3]}


def plural_nouns(clause: ClauseReading) -> tuple[str, ...]:
    """The nouns of what a clause acts on, or is for, when they are several and uncounted.

    "My bookings" of what is cancelled; "the guests" of those to whom something is sent.
    """
    if is_one_of(clause):
        return ()
    things = [*takewhile(lambda thing: thing.lower() not in _WHEN | _BEGINS, clause.objects)]
    nouns = things[-1:]
    if clause.action in (Action.SEND, Action.PAY):
        told = _TOLD.search(clause.text)
        text = clause.text[: told.start()] if told else clause.text
        nouns += [match["noun"] for match in _TO_SEVERAL.finditer(text)]
    return tuple(noun for noun in nouns if noun.islower() and singular(noun) != noun)
