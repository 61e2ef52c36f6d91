"""The one of several that a request asks for: cheapest, next, latest, best rated."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from orchestrator.catalog.stated_prices import money_of
from orchestrator.language import lexicon
from orchestrator.language.word_lists import WordLists
from orchestrator.planning.rules.telling.inquiry import Inquiry
from orchestrator.planning.rules.telling.told_field import Told

_UPCOMING: Final = WordLists("telling").word_set("upcoming")
_STRETCHES: Final = (*WordLists("dates").words("units"), *WordLists("dates").words("counts"))
_Row = Sequence[Told]
_Measure = Callable[[_Row], Decimal | None]


@dataclass(frozen=True)
class Best:
    """The thing that is most of what was asked for, and the word that asked for it."""

    word: str
    place: int


def best_of(things: Sequence[_Row], question: Inquiry) -> Best | None:
    """The thing that a superlative of the request means; None where it cannot be told for sure.

    Every thing must say what is compared, in one currency, and one must be first alone.
    """
    now = question.said.now
    wanted: tuple[tuple[frozenset[str], _Measure, int], ...] = (
        (_UPCOMING, lambda row: _moment(row, since=now), 1),
        (lexicon.CHEAPEST - {"cheap", "affordable", "inexpensive"}, _price, 1),
        (lexicon.BEST_RATED - {"top"}, _rating, -1),
        (lexicon.NEWEST - {"recent"}, _moment, -1),
        (lexicon.OLDEST, _moment, 1),
    )
    for words, measure, sign in wanted:
        said = sorted(word for word in words & question.words if _is_asked(word, question))
        if said and (place := _first(things, measure, sign, partly=words is _UPCOMING)) is not None:
            return Best(said[0], place)
    return None


def _is_asked(word: str, question: Inquiry) -> bool:
    """Whether the word asks for one thing, and is no part of a stretch of time: "next week"."""
    text = question.said.without_values.lower()
    followed = rf"\b{word}\b(?!\s+(?:few\b|couple\b|\d|{'|'.join(_STRETCHES)}))"
    return re.search(followed, text) is not None


def _first(things: Sequence[_Row], measure: _Measure, sign: int, *, partly: bool) -> int | None:
    if len({_currency(row) for row in things}) > 1:
        return None
    standing = [(row, n) for n, row in enumerate(things) if not any(t.is_over for t in row)]
    measured = [(measure(row), place) for row, place in standing]
    known = sorted(
        (value if sign > 0 else value.copy_negate(), place)
        for value, place in measured
        if value is not None and value.is_finite()
    )
    if not known or (len(known) < len(standing) and not partly):
        return None
    alone = len(known) == 1 or known[0][0] != known[1][0]
    return known[0][1] if alone else None


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
