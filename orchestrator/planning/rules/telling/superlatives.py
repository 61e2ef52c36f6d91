"""The one of several that a request asks for: cheapest, next, latest, best rated."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Final

from orchestrator.core.budget import Money
from orchestrator.language import lexicon
from orchestrator.language.degrees import MEASURING, SUPERLATIVES, Degree
from orchestrator.language.quantifiers import PlaceInOrder, place_in
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import stem, tokens
from orchestrator.planning.rules.telling.inquiry import RANKED, Inquiry
from orchestrator.planning.rules.telling.measures import (
    COUNTED,
    Measure,
    Row,
    currency_of,
    measure_by,
    moment_of,
    moment_or_year,
    number_called,
    number_of_thing,
    price_of,
    rating_of,
)

_LISTS: Final = WordLists("telling")
_UPCOMING: Final = _LISTS.word_set("upcoming")
_RANKED: Final = RANKED - {
    "cheap",
    "affordable",
    "inexpensive",
    "top",
    "recent",
    "rated",
}
_STRETCHES: Final = (*WordLists("dates").words("units"), *WordLists("dates").words("counts"))
_A_STRETCH: Final = "<days>"
"""What stands for a number of them: "in the next ten days"."""
_MOST, _LEAST = _LISTS.lines("most"), _LISTS.lines("least")
_DEAREST: Final = frozenset(_LISTS.lines("dearest"))
_NAMED: Final = re.compile(
    rf"(?<!\bat )\b(?:(?P<most>{'|'.join((*_DEAREST, *_MOST))})|(?P<least>{'|'.join(_LEAST)}))\b"
    r"(?!\s+of\b)"
)
"""A superlative that the noun of a field may follow: "the most seats"."""
_DEED_MOST: Final = re.compile(r"\b(?P<said>(?P<deed>[a-z]+)\s+(?:the\s+)?(?P<end>most|least))\W*$")
"""What is done most at the end of a question: "which costs the most"."""
_MOST_OF: Final = re.compile(
    r"\b(?:which|what)\s+(?P<who>[a-z]+)\s+[a-z]+\s+(?:the\s+)?most\s+(?P<of>[a-z]+)\W*$"
)
"""Who or what has most of the things: "which coach gives the most courses"."""
_LATE: Final = frozenset({"last", "latest"})
_LAST_WORDS: Final = re.compile(
    r"\b(?P<deed>[a-z]+)\s+(?P<end>first|last|earliest|latest|soonest)\s*\??\s*$"
)
"""What something does, and its place among all that do, at the end of a question."""


@dataclass(frozen=True)
class Best:
    """The things that are most of what was asked for, mostly one, and the words that asked so."""

    word: str
    places: tuple[int, ...]


def best_of(things: Sequence[Row], question: Inquiry) -> Best | None:
    """The thing that a superlative of the request means; None where it cannot be told for sure.

    "The second cheapest" is another one, "the two cheapest" are two. Every thing must say what is
    compared, in one currency, and what is meant must be so alone.
    """
    now = question.said.now
    wanted: tuple[tuple[frozenset[str], Measure, int], ...] = (
        (_UPCOMING, lambda row: moment_of(row, since=now), 1),
        (lexicon.CHEAPEST - {"cheap", "affordable", "inexpensive"}, price_of, 1),
        (lexicon.BEST_RATED - {"top"}, rating_of, -1),
        (lexicon.NEWEST - {"recent"}, moment_or_year, -1),
        (lexicon.OLDEST, moment_or_year, 1),
        (_at_an_end("first", question), moment_of, 1),
        (_at_an_end("last", question), partial(_of_one_side, things, now), -1),
    )
    for found in (_by_deed, _by_degree, _at_the_most, _by_name):
        if (best := found(things, question)) is not None:
            return best
    for words, measure, sign in wanted:
        said = sorted(word for word in words & question.words if _is_asked(word, question))
        if not said:
            continue
        nth = place_in(question.said.text) or PlaceInOrder("as_told")
        places = _first(things, measure, sign, nth, partly=words is _UPCOMING)
        if places:
            is_plain = nth.order == "as_told" or (nth.first, nth.number) == (0, 1)
            return Best(said[0] if is_plain else _bare(nth.said), places)
    return None


def _at_an_end(word: str, question: Inquiry) -> frozenset[str]:
    """The word, where it stands before a noun: "the last payment", "last match of the men"."""
    found = re.search(rf"(?:^|\b(?:the|my|our)\s+){word}\s+([a-z]+)", question.said.text.lower())
    is_said = found is not None and _is_asked(word, question)
    return frozenset({word}) if is_said else frozenset()


def _of_one_side(things: Sequence[Row], now: datetime, row: Row) -> Decimal | None:
    """When it is; None where some have been and some are to come: "last" may mean either."""
    ahead = {moment_of(one, since=now) is None for one in things if moment_of(one) is not None}
    return moment_of(row) if len(ahead) < 2 else None


def _by_deed(things: Sequence[Row], question: Inquiry) -> Best | None:
    """By the field that says when a thing does what stands before: "which is due last"."""
    found = _LAST_WORDS.search(question.said.text.lower())
    if found is None:
        return None
    measure = partial(_when, stem(found["deed"]))
    sign = -1 if found["end"] in _LATE else 1
    places = _first(things, measure, sign, PlaceInOrder("as_told"), partly=False)
    return Best(found["end"], places) if places else None


def _when(deed: str, row: Row) -> Decimal | None:
    """When a thing does it, by the one field that is named so, be it the end of a stretch."""
    ends = [
        (value, told.sort)
        for told in row
        if told.sort in ("date", "time", "moment")
        for name, value in zip(told.names, (told.value, told.until), strict=False)
        if deed in map(stem, tokens(name))
    ]
    if len(ends) != 1:
        return None
    value, sort = ends[0]
    text = f"2000-01-01T{value}" if sort == "time" else str(value)
    moment = datetime.fromisoformat(text)
    at = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return Decimal(str(at.timestamp()))


def _bare(said: str) -> str:
    return said.lower().removeprefix("the ")


def total_of(things: Sequence[Row]) -> Money | None:
    """What the amounts of things come to; None where not each has one, in one currency."""
    prices, currencies = [*map(price_of, things)], {currency_of(row) for row in things}
    known = [price for price in prices if price is not None]
    if len(currencies) != 1 or len(known) != len(prices):
        return None
    return Money(amount=sum(known, Decimal(0)), currency=currencies.pop())


def said_amount(money: Money) -> str:
    """An amount with its currency: "1,479.00 EUR"."""
    return f"{money.amount:,.2f} {money.currency}"


def asks_for_best(question: Inquiry) -> bool:
    """Whether a request asks for the one that is most of something, or the next one."""
    return bool(untold_best(question) or _UPCOMING & question.words)


def untold_best(question: Inquiry) -> str:
    """The superlative of a request of whose things none is told to be that; empty: it has none."""
    text = question.said.without_values.lower()
    named = _NAMED.search(text)
    ranked = sorted(word for word in _RANKED & question.words if _is_asked(word, question))
    at_an_end = _LAST_WORDS.search(text)
    ends = sorted({*_at_an_end("first", question), *_at_an_end("last", question)})
    ranked += [at_an_end["end"]] if at_an_end else ends
    ranked += [word for word in tokens(text) if word in SUPERLATIVES]
    return named.group() if named else next(iter(ranked), "")


def _by_degree(things: Sequence[Row], question: Inquiry) -> Best | None:
    """By what an adjective measures: "the lightest boat", "the longest course"."""
    for word in (w for w in tokens(question.said.without_values) if w in SUPERLATIVES):
        nth = place_in(question.said.text)
        nth = nth if nth and word in nth.said.lower() else PlaceInOrder("as_told")
        if places := _of_degrees(things, SUPERLATIVES[word], nth):
            return Best(word if (nth.first, nth.number) == (0, 1) else _bare(nth.said), places)
    return None


def _at_the_most(things: Sequence[Row], question: Inquiry) -> Best | None:
    """By what the verb before it says: "which costs the most", "who owes the least"."""
    found = _DEED_MOST.search(question.said.without_values.lower())
    if found is None:
        return None
    deed, as_told = stem(found["deed"]), PlaceInOrder("as_told")
    sign = -1 if found["end"] == "most" else 1
    degrees = tuple(Degree(d.of, -sign * d.sign) for d in MEASURING.get(deed, ()))
    places = _first(things, partial(number_called, {deed}), sign, as_told, partly=False)
    places = places or _of_degrees(things, degrees, as_told)
    return Best(f"one that {found['said']}", places) if places else None


def _of_degrees(
    things: Sequence[Row], degrees: Sequence[Degree], nth: PlaceInOrder
) -> tuple[int, ...]:
    orders = (_first(things, measure_by(d), -d.sign, nth, partly=False) for d in degrees)
    return next((places for places in orders if places), ())


def most_of(things: Sequence[Row], question: Inquiry, noun: str) -> str:
    """Of which value of a field most of the things are: "which coach has the most courses".

    Args:
        things: that are meant.
        question: what is asked.
        noun: what the things are called.
    """
    found = _MOST_OF.search(question.said.without_values.lower())
    if found is None or stem(found["of"]) not in map(stem, tokens(noun)):
        return ""
    asked = stem(found["who"])
    held = [told for row in things for told in row if asked in map(stem, told.words)]
    names = {told.name for told in held if told.sort == "text"}
    if len(names) != 1 or len(held) != len(things):
        return ""
    (first, number), *others = Counter(told.said for told in held).most_common()
    tied = [first, *(said for said, times in others if times == number)]
    each = " each" if len(tied) > 1 else ""
    return f", the most of them {' and '.join(map(repr, tied))} ({number}{each})"


def _by_name(things: Sequence[Row], question: Inquiry) -> Best | None:
    """By the field that the superlative stands before, "the most seats"; else the only number."""
    text = question.said.without_values.lower()
    for match in _NAMED.finditer(text):
        sign = -1 if match["most"] else 1
        nouns = {stem(word) for word in tokens(text[match.end() :])[:2]}
        only = price_of if match.group() in _DEAREST else number_of_thing
        measures = (partial(number_called, nouns), only)
        for measure in measures:
            nth = place_in(question.said.text)
            nth = nth if nth and match.group() in nth.said.lower() else PlaceInOrder("as_told")
            if places := _first(things, measure, sign, nth, partly=False):
                told = (t for t in things[places[0]] if nouns & {stem(word) for word in t.words})
                heading = next((f" {t.heading}" for t in told if t.sort in COUNTED), "")
                is_plain = (nth.first, nth.number) == (0, 1)
                return Best(f"{match.group() if is_plain else _bare(nth.said)}{heading}", places)
    return None


def _is_asked(word: str, question: Inquiry) -> bool:
    """Whether the word asks for one thing, and is no part of a stretch of time: "next week"."""
    text = question.said.text.lower()
    for slot in reversed(question.said.slots):
        is_counted = slot.kind == "quantity"
        if is_counted and slot.hint not in _STRETCHES:
            continue
        by = _A_STRETCH if is_counted else " "
        text = f"{text[: slot.position]} {by} {text[slot.position + len(slot.text) :]}"
    followed = rf"\b{word}\b(?!\s+(?:{_A_STRETCH}|few\b|couple\b|\d|{'|'.join(_STRETCHES)}))"
    return re.search(followed, text) is not None


def _first(
    things: Sequence[Row], measure: Measure, sign: int, nth: PlaceInOrder, *, partly: bool
) -> tuple[int, ...]:
    """Where the things are that have a place in an order; empty where that cannot be told."""
    is_of_money = any(told.sort == "money" and measure([told]) is not None for told in things[0])
    if is_of_money and len({currency_of(row) for row in things}) > 1:
        return ()
    standing = [(row, n) for n, row in enumerate(things) if not any(t.is_over for t in row)]
    measured = [(measure(row), place) for row, place in standing]
    known = sorted(
        (value if sign > 0 else value.copy_negate(), place)
        for value, place in measured
        if value is not None and value.is_finite()
    )
    if len(known) < nth.first + nth.number or (len(known) < len(standing) and not partly):
        return ()
    values = [value for value, _ in known]
    first, after = nth.first, nth.first + nth.number
    if (first, nth.number) == (0, 1):
        return tuple(place for value, place in known if value == values[0])
    is_shared = (first > 0 and values[first - 1] == values[first]) or (
        after < len(values) and values[after - 1] == values[after]
    )
    return () if is_shared else tuple(place for _, place in known[first:after])
