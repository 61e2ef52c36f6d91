"""Reads days and times of day in a text with dateparser, by its own words of each language."""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import lowered

ValueKind = Literal[
    "date", "time", "duration", "amount", "number", "id", "email", "url", "quoted", "name"
]
ENGLISH: Final = "en"


class Found(NamedTuple):
    """A value in a text, before its hint is read."""

    kind: ValueKind
    start: int
    end: int
    value: JsonValue
    unit: str = ""
    readings: tuple[str, ...] = ()


_LISTS: Final = WordLists("values")
_HALVES: Final = {word: int(hours) for word, hours in _LISTS.table("parts_of_day").items()}
READ: Final = 1 << 11
"""Size of the cache of texts' values, as a goal and its clauses are read at each step."""
_ARTICLES: Final = frozenset({"a", "an", "the", "my", "our", "is", "number", "no"})
_LAST_WORD: Final = re.compile(r"([^\W\d_]+(?:['\u2019-][^\W\d_]+)*)[.:,(\"']*\s*$")


def hint_at(text: str, start: int) -> str:
    """Return the word before a place, lower case, articles skipped: "order" in "order number"."""
    before = text[max(0, start - 60) : start]
    for _ in range(3):
        match = _LAST_WORD.search(before)
        if match is None:
            return ""
        word = match[1].lower()
        if word not in _ARTICLES:
            return word
        before = before[: match.start()]
    return ""


# --- days -----------------------------------------------------------------------------------

_ISO_DAY: Final = re.compile(r"(?<![\w-])(\d{4})[-/](\d{2})[-/](\d{2})(?!\d|-\d)")
_NUMERIC: Final = re.compile(r"(?<![\w./-])(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?![\w-]|\.\d)")
_EAST_ASIAN: Final = re.compile(r"(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]")
_NTH: Final = re.compile(
    r"\b(?:(?:on|by|until|till|from|since|before|after)\s+(?:the\s+)?|the\s+(?=\S+\s*(?:$|[,;.?!])))"
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?:floor|row|place|time|one|of)\b)"
)
_JUST_PASSED: Final = timedelta(days=60)
_PAST: Final = frozenset({"since", "last", "past", "seit", "desde", "depuis"})


class Vocabulary(NamedTuple):
    """The words for days in a language, with the spelling of its months and weekdays."""

    days: re.Pattern[str]
    periods: re.Pattern[str]
    weekdays: dict[str, int]
    durations: dict[str, tuple[str, int]]
    day_first: bool


_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_WEEKDAYS: Final = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_PLACEHOLDER: Final = re.compile(r"\(\\d\+\+\[\.,\]\?\\d\*\+\)")
_UNSPACED: Final = frozenset({"ja", "zh", "th"})


def _any_of(words: set[str] | list[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or r"(?!)"


@cache
def vocabulary(language: str) -> Vocabulary:
    """Read the words for days that dateparser knows in a language; English as the fallback."""
    from importlib import import_module

    if not (language.isascii() and language.isalpha()):
        return vocabulary(ENGLISH)
    try:
        info = import_module(f"dateparser.data.date_translation_data.{language}").info
    except ImportError:
        return vocabulary(ENGLISH)
    months = {w.lower() for name in _MONTHS for w in info.get(name, ()) if len(w) > 2}
    weekdays = {
        word.lower(): number
        for number, name in enumerate(_WEEKDAYS)
        for word in info.get(name, ())
        if len(word) > 2
    }
    is_english = language == ENGLISH
    more = _LISTS.lines("relative_days") if is_english else []
    steps = ("0 day ago", "1 day ago", "2 day ago", "3 day ago", "in 1 day", "in 2 day", "in 3 day")
    relative = [word for key in steps for word in info["relative-type"].get(key, ())]
    small = "".join(f"|{word}" for word in _LISTS.words("small_numbers")) if is_english else ""
    numbers = rf"(?:\\d{{1,3}}{small})"
    counted = [
        _PLACEHOLDER.sub(numbers, pattern)
        for key, patterns in info.get("relative-type-regex", {}).items()
        for pattern in patterns
        if key.split()[-1 if key.startswith("in") else 1] in ("day", "week", "month")
        and not re.search(r"(?<![a-zß-ÿ])[a-z]\Z", pattern.removesuffix(" ago"))
    ]
    month, weekday = _any_of(months), _any_of([*weekdays])
    day = r"\d{1,2}(?:st|nd|rd|th|er|º|\.)?"
    dated = (
        rf"(?:(?:{weekday})\.?,?\s+(?:the\s+|den\s+|le\s+)?)?"
        rf"(?:(?P<d>{day})\s*(?:of\s+|de\s+)?(?P<m>{month})\b\.?"
        rf"|(?P<m2>{month})\.?\s+(?:the\s+)?(?P<d2>{day}))"
        r"(?:,?\s+(?:de\s+|del\s+)?(?P<y>\d{4})(?!\s*(?:[:.]\d|[ap]m)))?"
    )
    step = r"(?:(?:next|this|coming|this\s+coming|last)\s+)?" if is_english else ""
    near = "".join(f"|{pattern}" for pattern in counted)
    week = rf"{step}(?:{weekday})"
    sizes = {"minute": ("minutes", 1), "hour": ("minutes", 60), "day": ("days", 1)}
    sizes |= {"week": ("days", 7), "fortnight": ("days", 14)}
    durations = {
        word.lower(): size
        for name, size in sizes.items()
        for word in info.get(name, ())
        if len(word) > 2 or word in ("h", "hr")
    }
    durations |= dict.fromkeys(("night", "nights"), ("days", 1)) if is_english else {}
    days = (
        rf"\b(?:(?P<dated>{dated})|(?P<relative>{_any_of([*relative, *more])}{near})"
        rf"|(?P<week>{week}))(?!\w|/\d|-\d+-|-\d{{3}})"
    )
    month_alone = rf"(?:in\s+)?(?:{month})\s+\d{{4}}|in\s+(?:{month})"
    periods = rf"\b(?:{_any_of(_LISTS.lines('periods'))}|{month_alone})\b"
    if language in _UNSPACED:
        days = rf"(?P<relative>{_any_of(relative)})|(?P<dated>(?!))|(?P<week>(?!))"
    return Vocabulary(
        days=re.compile(days),
        periods=re.compile(periods if is_english else r"(?!)"),
        weekdays=weekdays,
        durations=durations,
        day_first=info.get("date_order") == "DMY" and not is_english,
    )


def find_days(text: str, now: datetime, language: str) -> Iterator[Found]:
    """Yield the days of a text; without a value if the words are ambiguous or name no one day."""
    for match in _ISO_DAY.finditer(text):
        yield Found("date", *match.span(), _day(int(match[1]), int(match[2]), int(match[3])))
    if "月" in text:
        for match in _EAST_ASIAN.finditer(text):
            numbers = [int(number) for number in re.findall(r"\d+", match.group())]
            value = _day(*([now.year] if len(numbers) == 2 else []), *numbers)
            if value is not None and len(numbers) == 2:  # of this year or the next
                value = _in_year(value, now.date(), is_past=False)
            yield Found("date", *match.span(), value)
    low = lowered(text)
    if language == ENGLISH and english_marks().search(low) is None:
        return  # so that no vocabulary is loaded
    words = vocabulary(language)
    for match in _NUMERIC.finditer(low):
        yield _numeric(match, day_first=words.day_first)
    for match in words.days.finditer(low):
        if match["dated"]:
            yield from _dated(match, low, now, language)
            continue
        last = text[match.start() : match.end()].split()[-1]
        # Unlike the short forms "sat" and "sun", these are surely weekdays.
        is_sure = len(last) > 4 or last.istitle() or not last.isascii()
        if not match["week"] or is_sure:
            preferred = "past" if hint_at(low, match.start()) in _PAST else "future"
            value = _parsed(match.group(), now.date(), language, preferred)
            yield Found("date", *match.span(), value)
    for match in words.periods.finditer(low):
        yield Found("date", *match.span(), None, unit="period")
    for match in _NTH.finditer(low) if language == ENGLISH else ():
        days = (now.date() + timedelta(days=ahead) for ahead in range(62))
        value = next((day.isoformat() for day in days if day.day == int(match["day"])), None)
        if value is not None:
            yield Found("date", match.start("day"), match.end(), value)


@cache
def english_marks() -> re.Pattern[str]:
    """Return a pattern of what begins, or is part of, every day in English words."""
    starts = "|".join(word[:3] for word in (*_MONTHS, *_WEEKDAYS))
    return re.compile(
        rf"\d\d?[./-]\d|\b(?:{starts}|to[dmn]|yes|next|this|last)"
        r"|\d(?:st|nd|rd|th)\b|\b(?:day|week|month)"
    )


def _dated(match: re.Match[str], low: str, now: datetime, language: str) -> Iterator[Found]:
    """Yield a day with its month, and the day before it in "from 6 to 8 December"."""
    value = _parsed(match.group(), now.date(), language, "current_period")
    if value is not None and not match["y"]:
        value = _in_year(value, now.date(), is_past=hint_at(low, match.start()) in _PAST)
    weekdays = vocabulary(language).weekdays
    named = next((n for word, n in weekdays.items() if match.group().startswith(word)), None)
    if value is not None and named is not None and date.fromisoformat(value).weekday() != named:
        yield Found("date", *match.span(), None, readings=(value,))
        return
    yield Found("date", *match.span(), value)
    first = _FIRST_OF_TWO.search(low, max(0, match.start() - 30), match.start())
    if first is not None and value is not None and match["d"]:
        end = date.fromisoformat(value)
        if 1 <= int(first["day"]) < end.day:
            yield Found("date", *first.span("day"), end.replace(day=int(first["day"])).isoformat())
    after = _SECOND_OF_TWO.match(low, match.end())
    if after is not None and value is not None and match["d2"] and not match["y"]:
        begin = date.fromisoformat(value)
        if begin.day < int(after["day"]) <= 31:
            yield Found(
                "date", *after.span("day"), _day(begin.year, begin.month, int(after["day"]))
            )


def _in_year(day: str, today: date, *, is_past: bool) -> str | None:
    """Return the next such day, or one that has just passed; after "since", the last one.

    A day of the last weeks means that day, if only by mistake, and never next year's.
    """
    read = date.fromisoformat(day)
    if is_past:
        return day if read <= today else _day(read.year - 1, read.month, read.day)
    years = (_day(read.year + more, read.month, read.day) for more in (-1, 0, 1))
    earliest = (today - _JUST_PASSED).isoformat()
    return next((one for one in years if one is not None and one >= earliest), None)


_FIRST_OF_TWO: Final = re.compile(
    r"(?<![\w.,-])(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:\s*[-\u2013]\s*|\s+(?:to|until|till|and|through)\s+(?:the\s+)?)$"
)
_SECOND_OF_TWO: Final = re.compile(
    r"(?:\s*[-\u2013]\s*|\s+(?:to|until|till|through)\s+(?:the\s+)?)(?P<day>\d{1,2})(?:st|nd|rd|th)?(?![\w:])"
)


def _numeric(match: re.Match[str], *, day_first: bool) -> Found:
    """Return a numeric day; in English with two readings if either number may be the month."""
    one, two, year = int(match[1]), int(match[2]), int(match[3])
    readings = [d for d in (_day(year, two, one), _day(year, one, two)) if d is not None]
    if day_first or "." in match.group():
        readings = readings[:1] if _day(year, two, one) else []
    distinct = tuple(dict.fromkeys(readings))
    value = distinct[0] if len(distinct) == 1 else None
    return Found("date", *match.span(), value, readings=distinct if value is None else ())


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


@lru_cache(maxsize=READ)
def _parsed(words: str, today: date, language: str, preferred: str) -> str | None:
    """Return the day that dateparser reads in a few words; None unless it reads a whole day."""
    import dateparser

    read = dateparser.parse(
        words,
        languages=[language],
        settings={
            "RELATIVE_BASE": datetime(today.year, today.month, today.day),
            "PREFER_DATES_FROM": preferred,
            "RETURN_AS_TIMEZONE_AWARE": False,
        },
    )
    return read.date().isoformat() if read is not None else None


# --- times ----------------------------------------------------------------------------------

_HOURS: Final = {word: hour for hour, word in enumerate(_LISTS.words("hours"), start=1)}
_HOUR_WORD: Final = "|".join(_HOURS)
_HALF: Final = r"(?:\s?(?P<{0}>[ap])\.?m\b\.?)"
_BEHIND: Final = (
    r"(?=\s*(?:$|[,;.!?](?!\d)"
    r"|(?:on|in|tomorrow|today|tonight|and|for|with|to|until|please|sharp)\b))"
)
_TIME: Final = re.compile(
    r"(?<![\w.,:/$€£])(?<![A-LN-Za-ln-z]-)(?<!\d[-\u2013])(?P<h>[01]?\d|2[0-3])(?:[:.](?P<m>[0-5]\d))?"
    + _HALF.format("ap")
    + r"|(?:(?<![\w.,:/])(?<![A-LN-Za-ln-z]-)|(?<=\dt))(?P<h24>[01]?\d|2[0-3]):(?P<m24>[0-5]\d)"
    r"(?::[0-5]\d)?(?!\d|:\d|\.\d)|\b(?P<named>noon|midday|midnight)\b"
    r"|(?<![\w.,:/-])(?P<clock>1[0-2]|[1-9])\s?o['\u2019]?clock\b" + _HALF.format("ap2") + "?"
    r"|\b(?P<part>half|(?:a\s+)?quarter)\s+(?P<side>past|to)\s+"
    rf"(?P<of>{_HOUR_WORD}|1[0-2]|[1-9])\b(?!:)" + _HALF.format("ap3") + "?"
    rf"|\b(?:at|by|until|before|after)\s+(?P<bare>(?:[01]?\d|2[0-3]|{_HOUR_WORD})(?!\w)){_BEHIND}"
)
_FOREIGN_HOUR: Final = re.compile(
    r"(?<![\d.,:/-])(?P<h>[01]?\d|2[0-3])\s?(?:uhr|h|時)(?:\s?(?P<m>[0-5]\d)\b|(?![^\W_]))"
)
_NAMED_TIMES: Final = {"noon": "12:00", "midday": "12:00"}
_PART: Final = re.compile(rf"\b(?:{'|'.join(_HALVES)})\b")


def find_times(text: str, now: datetime, language: str) -> Iterator[Found]:
    """Yield the times of day of a text; without a value if the half of the day is unclear."""
    low = lowered(text)
    if language != ENGLISH:
        for match in _FOREIGN_HOUR.finditer(low):
            yield Found("time", *match.span(), f"{int(match['h']):02}:{match['m'] or '00'}")
    for match in _TIME.finditer(low):
        start = match.start("bare") if match["bare"] else match.start()
        value, readings = _clock(match, low)
        yield Found("time", start, match.end(), value, readings=readings)


def _clock(match: re.Match[str], low: str) -> tuple[str | None, tuple[str, ...]]:
    """Return the time of day, or both candidates if nothing determines the half of the day."""
    if match["named"]:
        named = _NAMED_TIMES.get(match["named"])
        return named, () if named else ("00:00", "23:59")
    shown = match["h"] or match["h24"] or match["clock"] or match["of"] or match["bare"]
    hour = _HOURS.get(shown) or int(shown)
    minutes = 60 * hour + int(match["m"] or match["m24"] or 0)
    if match["part"]:
        shift = 30 if match["part"] == "half" else 15
        minutes += shift if match["side"] == "past" else -shift
    half = match["ap"] or match["ap2"] or match["ap3"]
    if hour > 12 or hour == 0 or (shown.startswith("0") and not half):
        return _shown(minutes), ()
    both = [minutes % 720, minutes % 720 + 720]
    parts = {_HALVES[part.group()] for part in _PART.finditer(low)}
    if half or len(parts) == 1:
        later = half == "p" if half else parts == {12}
        return _shown(both[1 if later or (hour == 12 and not half) else 0]), ()
    if match["h24"] or hour == 12:
        return _shown(minutes), ()
    return None, (_shown(both[0]), _shown(both[1]))


def _shown(minutes: int) -> str:
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"
