"""What a request says of which things it means: when they are, at what hour, for how much.

Where a call could not be narrowed so, its answer is: what it does not hold of is not meant, and
where no thing tells, the answer says so.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import pairwise
from typing import Final

from orchestrator.core.budget import Money
from orchestrator.language import lexicon
from orchestrator.language.bounds import Limit, limit_of
from orchestrator.language.durations import MINUTES
from orchestrator.language.intent import Slot
from orchestrator.language.periods import period_in
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, stem, tokens
from orchestrator.planning.rules.amounts import money_said
from orchestrator.planning.rules.telling.inquiry import PARTS_OF_THE_DAY, Inquiry
from orchestrator.planning.rules.telling.spoken_values import said_day
from orchestrator.planning.rules.telling.told_field import Told

_LISTS: Final = WordLists("matching")
_EARLIEST: Final = _LISTS.word_set("earliest")
_LATEST: Final = _LISTS.word_set("latest")
_BOUNDS: Final = _EARLIEST | _LATEST
_UP_TO: Final = lexicon.END_HINTS | _LATEST | {"to", "and", "through"}
"""Before the second of two days, these make them the ends of a stretch."""
_OVERDUE: Final = WordLists("telling").word_set("overdue")
_AHEAD: Final = WordLists("telling").lines("ahead")
_OR_EQUAL: Final = re.compile(
    r"\b(?:or\s+(?:less|more|fewer)|at\s+(?:most|least)|up\s+to|no\s+(?:more|less|fewer)"
    r"|minimum|maximum|max|min)\b",
    re.IGNORECASE,
)
"""What makes a bound hold of its own number."""
_LENGTHS: Final = frozenset(MINUTES) | lexicon.NIGHTS | lexicon.WEEKS
_NO_NOUNS: Final = STOP_WORDS | lexicon.PREFERENCES | lexicon.MOST_HINTS | lexicon.LEAST_HINTS
"""What is no noun beside a number: of "the 2 cheapest" it says how many are wanted."""
_BOUND_WORDS: Final = {
    ("max", True): "less than ",
    ("max", False): "at most ",
    ("min", True): "more than ",
    ("min", False): "at least ",
}
_YEAR: Final = re.compile(
    r"\b(?P<hint>before|after|since|until|in|from)\s+(?P<year>1[5-9]\d\d|20\d\d)\b(?![-.,]\d)",
    re.IGNORECASE,
)
_BETWEEN: Final = ("between", "and")
"""The words before the two ends of a stretch of hours."""
_PARTS: Final = {word: WordLists("times").table("parts")[word].split() for word in PARTS_OF_THE_DAY}


@dataclass(frozen=True)
class Restriction:
    """One such thing that was said; it holds, or not, of each thing that tells."""

    text: str
    of_field: Callable[[Told], bool | None]
    was_sent: bool = False
    """Whether the call was made with it; what it answers with may be of other days as well."""

    unless_listed: str = ""
    """A word that a field may list as one of its values, and then tells by itself."""

    def is_told(self, things: Sequence[Sequence[Told]]) -> bool:
        """Whether any of the things tells it, or lists the word for it."""
        listed = (field.options for thing in things for field in thing if self.unless_listed)
        return any(self.unless_listed in options for options in listed) or any(
            self.holds(thing) is not None for thing in things
        )

    def holds(self, thing: Sequence[Told]) -> bool | None:
        """Whether it holds of a thing by any of its fields; None where none of them tells."""
        if any(self.unless_listed in field.options for field in thing if self.unless_listed):
            return None  # that field is held against the word
        told = [said for field in thing if (said := self.of_field(field)) is not None]
        return any(told) if told else None


def restrictions(question: Inquiry) -> list[Restriction]:
    """What a request restricts its things by, and the call that was made did not."""
    when = [*_days(question), *_gone_by_or_ahead(question), *_hours(question)]
    return [*when, *_years(question), *_amounts(question), *_numbers(question)]


def _days(question: Inquiry) -> Iterator[Restriction]:
    """A week, a month, "before Friday"; and days of which one may be meant: "this weekend"."""
    said = question.said
    dated = [slot for slot in (*said.slots, *said.unread) if slot.kind == "date"]
    for slot in dated:
        if slot.readings and not {*slot.readings} & {*question.sent}:
            yield Restriction(repr(slot.text), partial(_of_day, slot.readings.__contains__))
        elif slot.hint in _BOUNDS:
            continue
        elif slot.value is not None and len(dated) == 1 and str(slot.value) in question.sent:
            day = f"on {said_day(str(slot.value), said.now)}"
            yield Restriction(day, partial(_of_day, str(slot.value).__eq__), was_sent=True)
    is_bounded = len(dated) == 1 and dated[0].hint in _BOUNDS and bool(dated[0].value)
    is_stretch = bool(ends_of_stretch(question))
    is_read = any(slot.value or slot.readings for slot in dated)
    period = None
    if is_bounded or is_stretch or not is_read:
        period = period_in(said.text, now=said.now)
    if period is not None:
        # What a bound was sent as may be the last day of it, or the first that is none.
        words = f"{dated[0].hint} {period.said}" if is_bounded else period.said
        words = f"between {period.said}" if is_stretch else words
        yield Restriction(repr(words), partial(_of_day, period.holds))


def ends_of_stretch(question: Inquiry) -> tuple[Slot, ...]:
    """The two days between which all is meant, where the call was not made with both."""
    dated = [slot for slot in question.said.slots if slot.kind == "date"]
    days = {str(slot.value) for slot in dated}
    if len(dated) != 2 or dated[1].hint not in _UP_TO or days <= {*question.sent}:
        return ()
    return tuple(dated)


def _gone_by_or_ahead(question: Inquiry) -> Iterator[Restriction]:
    """What is overdue, by the day on which it was due; and what is still to come."""
    today = question.said.now.date().isoformat()
    said = _OVERDUE & question.words - {*question.sent, *question.denied_words}
    for word in sorted(said):
        test = partial(_of_due_day, today)
        yield Restriction(repr(word), test, unless_listed=word)
    for phrase in _AHEAD:
        if re.search(rf"\b{phrase}\b", question.said.text, re.IGNORECASE):
            yield Restriction(repr(phrase), partial(_of_day, today.__le__))


def _of_due_day(today: str, told: Told) -> bool | None:
    is_due = told.sort in ("date", "moment") and "due" in told.words
    return str(told.value)[:10] < today if is_due else None


def _years(question: Inquiry) -> Iterator[Restriction]:
    """A year that no argument carried: "from before 1970"."""
    period = period_in(question.said.text, now=question.said.now)
    for found in _YEAR.finditer(question.said.text) if period is None else ():
        if found["year"] not in question.sent:
            test = partial(_of_year, found["hint"].lower(), int(found["year"]))
            yield Restriction(repr(f"{found['hint']} {found['year']}"), test)


def _of_year(hint: str, wanted: int, told: Told) -> bool | None:
    year = None if told.is_bookkeeping else told.year
    if year is None:
        return None
    match hint:
        case "before":
            return year < wanted
        case "until":
            return year <= wanted
        case "after":
            return year > wanted
        case "since":
            return year >= wanted
        case _:
            return year == wanted


def _hours(question: Inquiry) -> Iterator[Restriction]:
    """An hour, or a part of the day, that no argument carried."""
    now = question.said.now
    times = [s for s in (*question.said.slots, *question.said.unread) if s.kind == "time"]
    said_hours = bool(times)
    for begin, until in pairwise(times):
        if (begin.hint, until.hint) == _BETWEEN and begin.value and until.value:
            times = [slot for slot in times if slot not in (begin, until)]
            words = f"between {begin.text} and {until.text}"
            test = partial(_overlaps, str(begin.value)[:5], str(until.value)[:5])
            yield Restriction(repr(words), partial(_of_hour, test, now))
    for slot in times:
        wanted = [str(slot.value)[:5]] if slot.value else [*slot.readings]
        if not any(hour in sent for sent in question.sent for hour in wanted):
            is_before_it = question.said.text[: slot.position].rstrip().lower().endswith(slot.hint)
            is_bound = slot.hint in _BOUNDS and is_before_it
            said = f"{slot.hint} {slot.text}" if is_bound else slot.text
            test = partial(_is_at, slot.hint, tuple(wanted))
            yield Restriction(repr(said), partial(_of_hour, test, now))
    for word, hours in _PARTS.items():
        if word in question.words and not said_hours:
            first, last = (f"{int(hour):02d}:00" for hour in hours)
            yield Restriction(repr(word), partial(_of_hour, partial(_is_between, first, last), now))


def _amounts(question: Inquiry) -> Iterator[Restriction]:
    """A most or a least that no argument carried."""
    for slot in question.said.of("amount"):
        money, limit = money_said(slot), limit_of(question.said.text, slot)
        if money is None or limit is None or money.amount in map(_number, question.sent):
            continue
        said = f"{'at most' if limit == 'max' else 'at least'} {slot.text}"
        yield Restriction(repr(said), partial(_of_price, money, limit))


def _numbers(question: Inquiry) -> Iterator[Restriction]:
    """A number of what things have, which no argument carried: "seats 7", "at least 5 places".

    How many things are wanted is none: "two flights", "the next three".
    """
    text = question.said.text
    is_strict = _OR_EQUAL.search(text) is None
    years = {found.start("year") for found in _YEAR.finditer(text)}
    for slot in question.said.of("quantity"):
        if slot.position in years:
            continue
        number, limit, hint = _number(str(slot.value)), limit_of(text, slot), _noun(slot, text)
        if number is None or number in map(_number, question.sent) or stem(hint) in question.dull:
            continue
        if not hint.isalpha() or hint in _NO_NOUNS or (hint in _LENGTHS and limit is None):
            continue
        bound = _BOUND_WORDS[limit, is_strict] if limit else ""
        said = f"{bound}{slot.text}" if hint in slot.text.lower() else f"{hint} {bound}{slot.text}"
        test = partial(_is_number, number, limit, is_strict)
        yield Restriction(repr(said), partial(_of_number, stem(hint), test))


def _noun(slot: Slot, text: str) -> str:
    """What a number is said to be of: the word behind it, else the one before its bound."""
    hint = slot.hint.lower()
    if hint and hint not in _NO_NOUNS:
        return hint
    before = tokens(text[: slot.position])[::-1] if limit_of(text, slot) else []
    return next((word for word in before if word not in _NO_NOUNS), hint)


def _is_number(wanted: Decimal, limit: Limit | None, is_strict: bool, number: Decimal) -> bool:
    if number == wanted:
        return limit is None or not is_strict
    return limit is not None and ((number < wanted) is (limit == "max"))


def _of_number(noun: str, test: Callable[[Decimal], bool], told: Told) -> bool | None:
    """By the number of a field that is named so, or counted in that unit."""
    number = _number(str(told.value)) if told.sort == "number" else None
    named = {stem(word) for word in (*told.words, *told.unit.split("-"))}
    return test(number) if number is not None and noun in named else None


def _of_day(test: Callable[[str], bool], told: Told) -> bool | None:
    """Of a stretch, whether any of its ends is meant."""
    if told.sort not in ("date", "moment") or told.is_bookkeeping:
        return None
    return any(test(str(end)[:10]) for end in (told.value, told.until) if end)


def _of_hour(test: Callable[[str, str], bool], now: datetime, told: Told) -> bool | None:
    """Of what has a beginning and an end, by both."""
    if told.sort not in ("time", "moment") or told.is_bookkeeping:
        return None
    start = _clock(str(told.value), now)
    return test(start, _clock(str(told.until), now) if told.until else start)


def _clock(text: str, now: datetime) -> str:
    if "T" not in text:
        return text[:5]
    moment = datetime.fromisoformat(text)
    return f"{moment.astimezone(now.tzinfo) if moment.tzinfo else moment:%H:%M}"


def _is_at(hint: str, wanted: Sequence[str], start: str, end: str) -> bool:
    """Whether what lasts from one hour to another begins after, or before, or is at, an hour."""
    if hint in _EARLIEST:
        return any(start >= hour for hour in wanted)
    if hint in _LATEST:
        return any(start <= hour for hour in wanted)
    return any(start <= hour < end or start == hour for hour in wanted)


def _overlaps(first: str, last: str, start: str, end: str) -> bool:
    """Whether what lasts from one hour to another is, at least in part, between two hours."""
    return first <= start < last or start <= first < end


def _is_between(first: str, last: str, start: str, _: str) -> bool:
    return first <= start < last


def _of_price(money: Money, limit: Limit, told: Told) -> bool | None:
    """By what it costs in that currency; another one cannot be held against it."""
    number, _, code = told.said.partition(" ")
    price = _number(number.replace(",", ""))
    if told.sort != "money" or code != money.currency or price is None:
        return None
    return price <= money.amount if limit == "max" else price >= money.amount


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
