"""The one of several that a request asks for: cheapest, next, latest, best rated."""

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Final

from orchestrator.catalog.stated_prices import money_of
from orchestrator.core.budget import Money
from orchestrator.language import lexicon
from orchestrator.language.quantifiers import PlaceInOrder, place_in
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import stem, tokens
from orchestrator.planning.rules.telling.inquiry import RANKED, Inquiry
from orchestrator.planning.rules.telling.told_field import Told

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
_LATE: Final = frozenset({"last", "latest"})
_LAST_WORDS: Final = re.compile(
    r"\b(?P<deed>[a-z]+)\s+(?P<end>first|last|earliest|latest|soonest)\s*\??\s*$"
)
"""What something does, and its place among all that do, at the end of a question."""
_COUNTED: Final = frozenset({"number", "money"})
_Row = Sequence[Told]
_Measure = Callable[[_Row], Decimal | None]


@dataclass(frozen=True)
class Best:
    """The things that are most of what was asked for, mostly one, and the words that asked so."""

    word: str
    places: tuple[int, ...]


def best_of(things: Sequence[_Row], question: Inquiry) -> Best | None:
    """The thing that a superlative of the request means; None where it cannot be told for sure.

    "The second cheapest" is another one, "the two cheapest" are two. Every thing must say what is
    compared, in one currency, and what is meant must be so alone.
    """
    now = question.said.now
    wanted: tuple[tuple[frozenset[str], _Measure, int], ...] = (
        (_UPCOMING, lambda row: _moment(row, since=now), 1),
        (lexicon.CHEAPEST - {"cheap", "affordable", "inexpensive"}, _price, 1),
        (lexicon.BEST_RATED - {"top"}, _rating, -1),
        (lexicon.NEWEST - {"recent"}, _moment, -1),
        (lexicon.OLDEST, _moment, 1),
        (_at_an_end("first", question), _moment, 1),
        (_at_an_end("last", question), partial(_of_one_side, things, now), -1),
    )
    if (best := _by_deed(things, question) or _by_name(things, question)) is not None:
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


def _of_one_side(things: Sequence[_Row], now: datetime, row: _Row) -> Decimal | None:
    """When it is; None where some have been and some are to come: "last" may mean either."""
    ahead = {_moment(one, since=now) is None for one in things if _moment(one) is not None}
    return _moment(row) if len(ahead) < 2 else None


def _by_deed(things: Sequence[_Row], question: Inquiry) -> Best | None:
    """By the field that says when a thing does what stands before: "which is due last"."""
    found = _LAST_WORDS.search(question.said.text.lower())
    if found is None:
        return None
    measure = partial(_when, stem(found["deed"]))
    sign = -1 if found["end"] in _LATE else 1
    places = _first(things, measure, sign, PlaceInOrder("as_told"), partly=False)
    return Best(found["end"], places) if places else None


def _when(deed: str, row: _Row) -> Decimal | None:
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


def total_of(things: Sequence[_Row]) -> Money | None:
    """What the amounts of things come to; None where not each has one, in one currency."""
    prices, currencies = [*map(_price, things)], {_currency(row) for row in things}
    known = [price for price in prices if price is not None]
    if len(currencies) != 1 or len(known) != len(prices):
        return None
    return Money(amount=sum(known, Decimal(0)), currency=currencies.pop())


def said_amount(money: Money) -> str:
    """An amount with its currency: "1,479.00 EUR"."""
    return f"{money.amount:,.2f} {money.currency}"


def untold_best(question: Inquiry) -> str:
    """The superlative of a request of whose things none is told to be that; empty: it has none."""
    text = question.said.without_values.lower()
    named = _NAMED.search(text)
    ranked = sorted(word for word in _RANKED & question.words if _is_asked(word, question))
    at_an_end = _LAST_WORDS.search(text)
    ends = sorted({*_at_an_end("first", question), *_at_an_end("last", question)})
    ranked += [at_an_end["end"]] if at_an_end else ends
    return named.group() if named else next(iter(ranked), "")


def _by_name(things: Sequence[_Row], question: Inquiry) -> Best | None:
    """By the field that the superlative stands before, "the most seats"; else the only number."""
    text = question.said.without_values.lower()
    for match in _NAMED.finditer(text):
        sign = -1 if match["most"] else 1
        nouns = {stem(word) for word in tokens(text[match.end() :])[:2]}
        measures = (partial(_number_of, nouns), _price if match.group() in _DEAREST else _number)
        for measure in measures:
            nth = place_in(question.said.text)
            nth = nth if nth and match.group() in nth.said.lower() else PlaceInOrder("as_told")
            if places := _first(things, measure, sign, nth, partly=False):
                told = (t for t in things[places[0]] if nouns & {stem(word) for word in t.words})
                heading = next((f" {t.heading}" for t in told if t.sort in _COUNTED), "")
                is_plain = (nth.first, nth.number) == (0, 1)
                return Best(f"{match.group() if is_plain else _bare(nth.said)}{heading}", places)
    return None


def _number(row: _Row) -> Decimal | None:
    """The only number or amount that a thing has."""
    found = [told for told in row if told.sort in _COUNTED and not told.is_bookkeeping]
    if len(found) != 1:
        return None
    value = found[0].value if found[0].sort == "number" else found[0].said.split()[0]
    return Decimal(str(value).replace(",", ""))


def _number_of(nouns: Set[str], row: _Row) -> Decimal | None:
    """The only one that is called so."""
    return _number([told for told in row if nouns & {stem(word) for word in told.words}])


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
    things: Sequence[_Row], measure: _Measure, sign: int, nth: PlaceInOrder, *, partly: bool
) -> tuple[int, ...]:
    """Where the things are that have a place in an order; empty where that cannot be told."""
    if len({_currency(row) for row in things}) > 1:
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
    is_shared = (first > 0 and values[first - 1] == values[first]) or (
        after < len(values) and values[after - 1] == values[after]
    )
    return () if is_shared else tuple(place for _, place in known[first:after])


def _currency(row: _Row) -> str:
    money = next((money_of(told.value) for told in row if told.sort == "money"), None)
    return money.currency if money is not None else ""


def _price(row: _Row) -> Decimal | None:
    moneys = [told for told in row if told.sort == "money"]
    if len(moneys) != 1:
        return None
    return Decimal(moneys[0].said.split()[0].replace(",", ""))


def _rating(row: _Row) -> Decimal | None:
    rated = [t for t in row if t.sort == "number" and set(t.words) & lexicon.RATING]
    return Decimal(str(rated[0].value)) if len(rated) == 1 else None


def _moment(row: _Row, since: datetime | None = None) -> Decimal | None:
    """When it is; None of what has been, where only what is to come counts."""
    moments = [told for told in row if told.sort in ("moment", "date")]
    kept = [told for told in moments if not told.is_bookkeeping] or moments
    if not kept:
        return None
    moment = datetime.fromisoformat(str(kept[0].value))
    clock = next((told for told in row if told.sort == "time"), None)
    if kept[0].sort == "date" and clock is not None:
        moment = datetime.fromisoformat(f"{kept[0].value}T{str(clock.value)[:5]}")
    at = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    is_past = since is not None and (
        date(at.year, at.month, at.day) < since.date() if kept[0].sort == "date" else at < since
    )
    return None if is_past else Decimal(str(at.timestamp()))
