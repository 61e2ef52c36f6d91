"""Days said by other days: "the day before", "a week after the meeting", "the last Friday of May".

What one refers to must be said in the text around it; where it is not, or several days may be
meant, the day stays untold.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from dateutil.relativedelta import relativedelta, weekday

from orchestrator.language.date_words import (
    COUNT,
    COUNTS,
    MONTH,
    MONTHS,
    SHORT_WEEKDAY,
    WEEKDAY,
    WEEKDAYS,
)
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, stem

_LISTS: Final = WordLists("dates")
_NTHS: Final = {word: int(nth) for word, nth in _LISTS.table("nths").items()}
_POINTING: Final = _LISTS.word_set("pointing")
_DETERMINERS: Final = "|".join(_LISTS.words("determiners"))
# Of these one is in every phrase of a kind: most texts are told to hold none by their words alone.
_SIDES: Final = _LISTS.word_set("sides")
_UNITS: Final = _LISTS.word_set("units")
_STEPS: Final = _LISTS.word_set("steps")
_STRETCHING: Final = _LISTS.word_set("stretching")
_NEARNESS: Final = frozenset({"within", "of", "another"})
_OF_STRETCH: Final = frozenset({"week", "weeks"}).union(*MONTHS)

_DAY_OF_WEEK: Final = rf"(?:{WEEKDAY}|{SHORT_WEEKDAY})"
_UNIT: Final = r"(?:day|night|week|fortnight|month|year)"
_OFFSET: Final = re.compile(
    rf"\b(?:on\s+)?(?:(?P<n>{COUNT})\s+(?P<unit>{_UNIT})s?"
    rf"|the\s+(?:very\s+)?(?P<one>day|night|evening|morning|week|month)"
    rf"|the\s+(?P<weekday>{_DAY_OF_WEEK}))"
    r"(?:\s+(?:just|right))?\s+(?P<side>before|after|later|earlier|afterwards|beforehand|prior\s+to"
    r"|from|on)\b(?P<than>\s+than\b)?"
)
_SEVERAL: Final = re.compile(r"\b(?:the|these|those|for)\s+$")
"""Before a number of days, it makes them the days themselves: "the two days after 4 December"."""
_LASTING: Final = re.compile(
    rf"\b(?:{'|'.join({*WordLists('durations').words('lasting'), 'every'} - _NEARNESS)})\s+"
    r"(?:the\s+)?$"
)
"""Before a number of days, it makes them a length: "lasting three days from 7 December"."""
_MOST_DAYS: Final = 31
_WEEKS_HENCE: Final = re.compile(
    rf"(?<!\bfor )\b(?P<n>{COUNT})\s+weeks?\s+(?P<day>today|tomorrow)\b"
)
_STEP: Final = re.compile(
    rf"\b(?:on\s+)?the\s+(?P<step>following|next|previous|preceding|same)\s+"
    rf"(?P<unit>day|night|evening|morning|week|{_DAY_OF_WEEK})\b"
    r"|\b(?:on\s+)?(?P<same>that\s+(?:same\s+)?(?:day|morning|afternoon|evening|night))\b"
)
_NTH_OF: Final = re.compile(
    rf"\b(?:on\s+)?(?:the\s+)?(?P<nth>{'|'.join(_NTHS)})\s+(?P<what>{_DAY_OF_WEEK}|day|weekend)\s+"
    rf"(?:of|in)\s+(?:(?P<month>{MONTH})(?:,?\s*(?P<year>\d{{4}})\b)?|(?P<which>the|this|next)\s+month\b)"
)
_WEEK_OF: Final = re.compile(
    rf"\b(?:on\s+)?(?P<day>{_DAY_OF_WEEK})(?:\s+(?:of|in))?\s+(?P<week>next|this)\s+week\b"
    rf"|\b(?P<week_b>next|this)\s+week['\u2019]?s?\s+(?:on\s+)?(?P<day_b>{_DAY_OF_WEEK})"
    rf"|\b(?:on\s+)?(?:the\s+)?(?P<day_c>{_DAY_OF_WEEK})\s+(?P<week_c>week|after\s+next)\b"
)
_NAMED_STRETCH: Final = (
    rf"(?:of|in|during)\s+(?:the\s+|an?\s+)?(?!(?:next|this)\s+week\b)"
    rf"(?:(?:[\w-]+\s+)?weeks?\b(?:\s+(?:of\s+{MONTH}|after\s+next|from\s+now))?"
    rf"|(?:[^\W\d]+\s+)?{MONTH}(?:,?\s+\d{{4}}\b|(?!\s*\d)))"
)
_DAY_IN_STRETCH: Final = re.compile(
    rf"\b(?:on\s+)?{_DAY_OF_WEEK}\b,?\s+{_NAMED_STRETCH}"
    rf"|\b{_NAMED_STRETCH}\b,?\s+(?:on\s+)?{_DAY_OF_WEEK}\b"
)
"""A weekday of a week or a month that is named, which is not the coming one."""
_STRETCH: Final = re.compile(
    rf"\b(?:(?:on|over|at|for)\s+)?(?P<which>this|next|the\s+coming|coming|the\s+following|the)\s+"
    rf"(?P<what>weekend)\b(?!\s+(?:of|after|before)\b)"
    rf"|\b(?:(?:early|late|some\s*time|sometime)\s+)?(?:next|the\s+coming|the\s+following)\s+(?:week|month)\b"
    rf"|\b(?:in|during|early|late|mid-?|(?:at\s+)?the\s+(?:end|beginning|start|middle)\s+of)\s*"
    rf"(?P<month>{MONTH})(?!\s*\d|\s+the\s+\d)"
    r"|\b(?:at\s+)?the\s+(?:end|beginning|start|middle)\s+of\s+(?:the|this|next)\s+(?:week|month|year)\b"
)
_OBJECT: Final = re.compile(
    rf"\s+(?:(?:{_DETERMINERS})\s+)?(?P<noun>[^\W\d_][\w'\u2019-]*)", re.IGNORECASE
)
_AHEAD: Final = re.compile(r"\s+(?:the\s+|on\s+)*")
_ON: Final = re.compile(r"\s+on\s+")
_CLAUSE: Final = re.compile(r"[.;!?\n]\s*|,\s+|\s+(?:and|then|but)\s+")


@dataclass(frozen=True, slots=True)
class DatePhrase:
    """Words that name a day; `day` is None when it depends on what nobody said.

    That may be `now`, or the day that it is counted from; `readings` are the days that it may be.
    """

    start: int
    end: int
    day: date | None
    readings: tuple[date, ...] = ()


def related_phrases(
    text: str,
    said: Sequence[DatePhrase],
    now: datetime | None,
    around: str,
    words: Set[str],
) -> Iterator[DatePhrase]:
    """The phrases that say a day by another one.

    Args:
        text: in lower case.
        said: its other date phrases, in order.
        now: the requester's time.
        around: what was said before the text, with its days as ISO dates.
        words: all of the text's.
    """
    day = now.date() if now else None
    if not (_SIDES.isdisjoint(words) or (_UNITS.isdisjoint(words) and "the" not in words)):
        for match in _OFFSET.finditer(text):
            yield from _offset(text, match, said, around)
    if day and "week" in words | {word.rstrip("s") for word in words}:
        for match in _WEEKS_HENCE.finditer(text):
            ahead = 7 * _number(match["n"]) + (match["day"] == "tomorrow")
            yield DatePhrase(*match.span(), _shifted(day, ahead, "day"))
    if not _STEPS.isdisjoint(words):
        for match in _STEP.finditer(text):
            anchor = _anchor(text, match.start(), said, around)
            yield DatePhrase(*match.span(), _stepped(match, anchor))
    if not _NTHS.keys().isdisjoint(words):
        yield from (_nth_of(match, day) for match in _NTH_OF.finditer(text))
    if "week" in words or ("next" in words and "after" in words):
        for match in _WEEK_OF.finditer(text):
            yield DatePhrase(*match.span(), _week_of(match, day) if day else None)
    if not _OF_STRETCH.isdisjoint(words):
        for match in _DAY_IN_STRETCH.finditer(text):
            yield DatePhrase(*match.span(), None)
    if not _STRETCHING.isdisjoint(words):
        yield from (_stretch(match, day) for match in _STRETCH.finditer(text))


def _offset(
    text: str,
    match: re.Match[str],
    said: Sequence[DatePhrase],
    around: str,
) -> Iterator[DatePhrase]:
    side = match["side"]
    lasts = match["n"] is not None and _LASTING.search(text[: match.start()]) is not None
    ahead = _AHEAD.match(text, match.end())
    at = ahead.end() if ahead else match.end()
    inner = next((p for p in said if match.end() <= p.start <= at), None)
    if lasts and (inner is None or side in ("from", "on")):
        return
    if inner is not None and not (side == "from" and match["unit"] == "night"):
        yield _of_several(text, match, inner.end, inner.day)
        return
    if side in ("from", "on"):
        return
    to_a_thing = side in ("before", "after", "prior to") or match["than"]
    noun = _OBJECT.match(text, match.end()) if to_a_thing else None
    word = noun["noun"] if noun else ""
    if word == "next":
        return
    if noun is None or word in STOP_WORDS or word in _POINTING:
        anchor, end = _anchor(text, match.start(), said, around), match.end()
    elif (own := _behind(text, noun.end(), said)) is not None:
        anchor, end = own.day, own.end
    else:
        anchor, end = _day_of(word, text, match.span(), said, around), noun.end()
    yield _of_several(text, match, end, anchor)


def _behind(text: str, at: int, said: Sequence[DatePhrase]) -> DatePhrase | None:
    """The day that follows what a day is counted from: "a day before my flight on 5 December"."""
    led = _ON.match(text, at)
    return next((p for p in said if led and p.start == led.end()), None)


def _of_several(text: str, match: re.Match[str], end: int, anchor: date | None) -> DatePhrase:
    """The day that is meant; of several, "the two days after 4 December", each that may be."""
    last = _moved(match, anchor)
    is_one = match["n"] is None or (_number(match["n"]) == 1 and match["unit"] == "day")
    if is_one or not _SEVERAL.search(text[: match.start()]):
        return DatePhrase(match.start(), end, last)
    if anchor is None or last is None or abs((last - anchor).days) > _MOST_DAYS:
        return DatePhrase(match.start(), end, None)
    step = 1 if last > anchor else -1
    days = (anchor + timedelta(days=n * step) for n in range(1, abs((last - anchor).days) + 1))
    return DatePhrase(match.start(), end, None, tuple(sorted(days)))


def _moved(match: re.Match[str], anchor: date | None) -> date | None:
    """The day that lies as far before or after another one as the words say."""
    if anchor is None:
        return None
    back = match["side"] in ("before", "earlier", "beforehand", "prior to")
    sign = -1 if back else 1
    if match["weekday"]:
        return _weekday_from(match["weekday"], anchor, sign)
    number = _number(match["n"]) if match["n"] else 1
    return _shifted(anchor, sign * number, match["unit"] or match["one"])


def _shifted(day: date, number: int, unit: str) -> date | None:
    try:
        match unit:
            case "week":
                return day + timedelta(weeks=number)
            case "fortnight":
                return day + timedelta(weeks=2 * number)
            case "month":
                return day + relativedelta(months=number)
            case "year":
                return day + relativedelta(years=number)
            case _:
                return day + timedelta(days=number)
    except (OverflowError, ValueError):
        return None


def _number(word: str) -> int:
    return int(word) if word.isdigit() else COUNTS[word]


def _weekday_from(name: str, day: date, sign: int) -> date:
    """The next such weekday after a day, or the last one before it."""
    wanted = _weekday_number(name)
    ahead = (wanted - day.weekday()) % 7 or 7
    return day + timedelta(days=ahead if sign > 0 else (ahead - 7 or -7))


def _weekday_number(name: str) -> int:
    bare = name.rstrip(".")
    return next(number for number, names in enumerate(WEEKDAYS) if bare in names)


def _stepped(match: re.Match[str], anchor: date | None) -> date | None:
    if anchor is None or match["same"]:
        return anchor
    step, unit = match["step"], match["unit"]
    if step == "same":
        return anchor if unit != "week" else None
    sign = -1 if step in ("previous", "preceding") else 1
    if unit in ("day", "night", "evening", "morning", "week"):
        return _shifted(anchor, sign, unit)
    return _weekday_from(unit, anchor, sign)


def _anchor(text: str, at: int, said: Sequence[DatePhrase], around: str) -> date | None:
    """The day last said before a place; None where there is none, or one of several."""
    before = [phrase for phrase in said if phrase.end <= at]
    if before:
        return _only(phrase.day for phrase in before)
    for piece in reversed(_pieces(around)):
        if days := _days(piece):
            return _only(days)
    return None


def _day_of(
    noun: str, text: str, own: tuple[int, int], said: Sequence[DatePhrase], around: str
) -> date | None:
    """The day of what a noun names: the only one said with it, in the text or around it."""
    dated = [p for p in said if not (p.start < own[1] and own[0] < p.end)]
    line = _with_days(text, dated, own)
    for whole in (line, around):
        spoken = [_days(piece) for piece in _pieces(whole) if _speaks_of(piece, noun)]
        days = {day for found in spoken for day in found}
        if not days and _speaks_of(whole, noun):
            days = {*_days(whole)}
        if days:
            return _only(days)
    return None


def _with_days(text: str, said: Iterable[DatePhrase], own: tuple[int, int]) -> str:
    """The text with its date phrases as ISO dates, and without the phrase that is being read."""
    cut = [(p.start, p.end, p.day.isoformat() if p.day else "") for p in said]
    for start, end, day in sorted([*cut, (*own, "")], reverse=True):
        text = f"{text[:start]}{day}{text[end:]}"
    return text


def _pieces(text: str) -> list[str]:
    return _CLAUSE.split(text)


def _days(piece: str) -> list[date]:
    return [date.fromisoformat(found) for found in re.findall(r"\d{4}-\d\d-\d\d", piece)]


def _speaks_of(piece: str, noun: str) -> bool:
    wanted = stem(noun)
    return any(stem(word) == wanted for word in re.findall(r"[^\W\d_]+", piece.lower()))


def _only(days: Iterable[date | None]) -> date | None:
    """The only day of several; None when they differ, or one is not told."""
    distinct = {*days}
    return distinct.pop() if len(distinct) == 1 else None


def _nth_of(match: re.Match[str], day: date | None) -> DatePhrase:
    """The third Friday of a month: of the next such month in which it is still to come."""
    span, year = match.span(), int(match["year"]) if match["year"] else None
    if day is None and year is None:
        return DatePhrase(*span, None)
    base = day or date(2000, 1, 1)
    if match["month"]:
        name = match["month"].rstrip(".")
        month = next(number for number, names in enumerate(MONTHS, start=1) if name in names)
        firsts = [date(y, month, 1) for y in ((year,) if year else (base.year, base.year + 1))]
    else:
        firsts = [base.replace(day=1) + relativedelta(months=match["which"] == "next")]
    days = [_in_month(first, _NTHS[match["nth"]], match["what"]) for first in firsts]
    found = next((one for one in days if year or one >= base), days[-1])
    if match["what"] == "weekend":
        return DatePhrase(*span, None, (found, found + timedelta(days=1)))
    return DatePhrase(*span, found)


def _in_month(first: date, nth: int, what: str) -> date:
    if what == "day":
        return first + (relativedelta(day=31) if nth < 0 else relativedelta(days=nth - 1))
    number = 5 if what == "weekend" else _weekday_number(what)
    return first + relativedelta(day=31 if nth < 0 else 1, weekday=weekday(number)(nth))


def _week_of(match: re.Match[str], day: date) -> date:
    """A weekday of a week that is named: weeks begin on Monday."""
    number = _weekday_number(match["day"] or match["day_b"] or match["day_c"])
    if match["day_c"]:
        ahead = (number - day.weekday()) % 7 or 7
        return day + timedelta(days=ahead + 7)
    monday = day - timedelta(days=day.weekday())
    weeks = 1 if (match["week"] or match["week_b"]) == "next" else 0
    return monday + timedelta(weeks=weeks, days=number)


def _stretch(match: re.Match[str], day: date | None) -> DatePhrase:
    """Several days, of which nothing tells one; a weekend has two."""
    if match["what"] is None or day is None:
        return DatePhrase(*match.span(), None)
    saturday = day + timedelta(days=(5 - day.weekday()) % 7)
    # On a weekday "next weekend" may be the coming one or the one after: nothing is told.
    if match["which"] == "next":
        return DatePhrase(*match.span(), None)
    return DatePhrase(*match.span(), None, (saturday, saturday + timedelta(days=1)))
