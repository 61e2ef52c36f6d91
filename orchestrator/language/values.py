"""Typed values in a text: the one reader of dates, times, amounts, numbers, ids and names.

Libraries read the values: dateparser (days, by its own words of each language), text2num (number
words), Babel (decimals and currencies). The patterns here only say where a value stands.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Final, Literal, NamedTuple

from pydantic import JsonValue

from orchestrator.core import currencies
from orchestrator.core.record import Record
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, is_verb

ValueKind = Literal[
    "date", "time", "duration", "amount", "number", "id", "email", "url", "quoted", "name"
]


class Value(Record):
    """One value in a text, between `start` and `end`.

    `value` is JSON: date "2026-12-05", time "20:00", duration {"minutes": 90} or {"days": 3},
    amount {"amount": "90.00", "currency": "EUR"}, a number, a text for the rest. It is None where
    the words name no single value ("next week", "at 8"); `readings` are then what they may mean.

    `hint` is the word before it, lower case, articles skipped ("from", "order", "called"); `unit`
    is what a number or a duration counts ("people", "nights", "%").
    """

    kind: ValueKind
    text: str
    start: int
    end: int
    value: JsonValue
    hint: str = ""
    unit: str = ""
    readings: tuple[str, ...] = ()


class _Found(NamedTuple):
    """A value before its hint is read."""

    kind: ValueKind
    start: int
    end: int
    value: JsonValue
    unit: str = ""
    readings: tuple[str, ...] = ()


_LISTS: Final = WordLists("values")
_SIGNS: Final = _LISTS.table("currency_signs")
_MONEY_WORDS: Final = _LISTS.table("currency_words")
_KNOWN_CODES: Final = frozenset({*_SIGNS.values(), *_MONEY_WORDS.values()})
_HALVES: Final = {word: int(hours) for word, hours in _LISTS.table("parts_of_day").items()}
_NO_PLACES: Final = _LISTS.word_set("no_places")
_NO_UNITS: Final = STOP_WORDS | _LISTS.word_set("no_units")
_COUNTING: Final = _LISTS.word_set("counting")
_COUNTED_NOUNS: Final = _LISTS.word_set("counted_nouns")
_NUMBERED_VERBS: Final = _LISTS.word_set("numbered_verbs")
_NAME_ENDS: Final = "|".join(_LISTS.words("name_ends"))
_READ: Final = 1 << 11
"""Texts whose values are remembered: a goal and its clauses are read at each step."""
_LONGEST: Final = 20_000
"""Characters of a text that are read."""


def find_values(text: str, *, now: datetime, language: str = "en") -> tuple[Value, ...]:
    """Return the values of a text in its order; no character belongs to two of them.

    Args:
        text: a goal, a clause or an answer; read up to 20,000 characters.
        now: "tomorrow" is relative to it, in the requester's own time.
        language: ISO 639-1 code; number words and names are read in English only.
    """
    return _find_values(text[:_LONGEST], datetime(now.year, now.month, now.day), language)


@lru_cache(maxsize=_READ)
def _find_values(text: str, now: datetime, language: str) -> tuple[Value, ...]:
    taken = bytearray(len(text))
    found: list[_Found] = []
    for reader in _READERS:
        for one in reader(text, now, language):
            if one.start < one.end and 1 not in taken[one.start : one.end]:
                taken[one.start : one.end] = b"\x01" * (one.end - one.start)
                found.append(one)
    found.sort(key=lambda one: one.start)
    return tuple(_as_value(one, text) for one in found)


def _as_value(one: _Found, text: str) -> Value:
    return Value(
        kind=one.kind,
        text=text[one.start : one.end],
        start=one.start,
        end=one.end,
        value=one.value,
        hint=_hint(text, one.start),
        unit=one.unit,
        readings=one.readings,
    )


_ARTICLES: Final = frozenset({"a", "an", "the", "my", "our", "is", "number", "no"})
_LAST_WORD: Final = re.compile(r"([^\W\d_]+(?:['\u2019-][^\W\d_]+)*)[.:,(\"']*\s*$")


def _hint(text: str, start: int) -> str:
    """The word before a place, lower case; an article is skipped, "order number" is order."""
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


# --- quoted texts, addresses ----------------------------------------------------------------

_QUOTED: Final = re.compile(
    r"\"([^\"]{1,4000})\"|“([^“”]{1,4000})”|„([^„“”]{1,4000})[“”]|«([^«»]{1,4000})»"
    r"|「([^「」]{1,4000})」|`([^`]{1,4000})`"
    r"|(?<![^\s(:,])['\u2018]((?:[^'\u2019]|(?<=\w)['\u2019](?=\w)){1,500})['\u2019](?![^\s.,;:!?)])"
)
_SAYING: Final = re.compile(
    r"\b(?:saying(?:\s+that)?|that\s+says|that\s+reads)\s*:?\s+(?=[^\s\"“'`])", re.IGNORECASE
)
_COLON: Final = re.compile(
    rf"\b(?:{'|'.join(_LISTS.words('colon_nouns'))})\b[^.:;\n]{{0,80}}:\s+(?=[^\s\"“'`\d-])", re.I
)
_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_URL: Final = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>)]+[^\s\"'<>).,;:!?]|\bwww\.[\w-]+(?:\.[\w-]+)+[^\s\"'<>).,;:!?]*"
)


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """Return where a text quotes something, quotes included, and where its addresses stand."""
    return [m.span() for pattern in (_QUOTED, _EMAIL, _URL) for m in pattern.finditer(text)]


def _quoted(text: str, now: datetime, language: str) -> Iterator[_Found]:
    for match in _QUOTED.finditer(text):
        yield _Found("quoted", *match.span(), next(g for g in match.groups() if g))
    for lead in (_SAYING.search(text), _COLON.search(text)):
        if lead is not None and (said := text[lead.end() :].rstrip(" .\n")):
            yield _Found("quoted", lead.end(), lead.end() + len(said), said)


def _addresses(text: str, now: datetime, language: str) -> Iterator[_Found]:
    if "@" in text:
        for match in _EMAIL.finditer(text):
            yield _Found("email", *match.span(), match.group())
    if "://" in text or "www." in text:
        for match in _URL.finditer(text):
            yield _Found("url", *match.span(), match.group())


# --- days -----------------------------------------------------------------------------------

_ISO_DAY: Final = re.compile(r"(?<![\w-])(\d{4})[-/](\d{2})[-/](\d{2})(?!\d|-\d)")
_NUMERIC: Final = re.compile(r"(?<![\w./-])(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?![\w-]|\.\d)")
_EAST_ASIAN: Final = re.compile(r"(?:\d{4}年)?\d{1,2}月\d{1,2}[日号]")
_NTH: Final = re.compile(
    r"\b(?:(?:on|by|until|till|from|since|before|after)\s+(?:the\s+)?|the\s+(?=\S+\s*(?:$|[,;.?!])))"
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)\b(?!\s+(?:floor|row|place|time|one|of)\b)"
)
_PAST: Final = frozenset({"since", "last", "past", "seit", "desde", "depuis"})
_JUST_PASSED: Final = timedelta(days=60)
_ENGLISH: Final = "en"


class _Vocabulary(NamedTuple):
    """Where the days of a language stand in a text, and how its months and weekdays are written."""

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
def _vocabulary(language: str) -> _Vocabulary:
    """Read the words of days that dateparser knows in a language; English where it knows none."""
    from importlib import import_module

    try:
        info = import_module(f"dateparser.data.date_translation_data.{language}").info
    except ImportError:
        return _vocabulary(_ENGLISH)
    months = {w.lower() for name in _MONTHS for w in info.get(name, ()) if len(w) > 2}
    weekdays = {
        word.lower(): number
        for number, name in enumerate(_WEEKDAYS)
        for word in info.get(name, ())
        if len(word) > 2
    }
    is_english = language == _ENGLISH
    more = _LISTS.lines("relative_days") if is_english else []
    relative = [word for key in _day_steps() for word in info["relative-type"].get(key, ())]
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
    days = (
        rf"\b(?:(?P<dated>{dated})|(?P<relative>{_any_of([*relative, *more])}{near})"
        rf"|(?P<week>{week}))(?!\w|/\d|-\d+-|-\d{{3}})"
    )
    month_alone = rf"(?:in\s+)?(?:{month})\s+\d{{4}}|in\s+(?:{month})"
    periods = rf"\b(?:{_any_of(_LISTS.lines('periods'))}|{month_alone})\b"
    if language in _UNSPACED:
        days = rf"(?P<relative>{_any_of(relative)})|(?P<dated>(?!))|(?P<week>(?!))"
    return _Vocabulary(
        days=re.compile(days),
        periods=re.compile(periods if is_english else r"(?!)"),
        weekdays=weekdays,
        durations=_duration_units(info),
        day_first=info.get("date_order") == "DMY" and not is_english,
    )


def _day_steps() -> Iterator[str]:
    yield from ("0 day ago", "1 day ago", "2 day ago", "3 day ago")
    yield from ("in 1 day", "in 2 day", "in 3 day")


def _duration_units(info: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """How many minutes, or days, each unit of a language is."""
    sizes = {"minute": ("minutes", 1), "hour": ("minutes", 60), "day": ("days", 1)}
    sizes |= {"week": ("days", 7), "fortnight": ("days", 14)}
    units = {
        word.lower(): size
        for name, size in sizes.items()
        for word in info.get(name, ())
        if len(word) > 2 or word in ("h", "hr")
    }
    return units | ({"night": ("days", 1), "nights": ("days", 1)} if info["name"] == "en" else {})


def _days(text: str, now: datetime, language: str) -> Iterator[_Found]:
    for match in _ISO_DAY.finditer(text):
        yield _Found("date", *match.span(), _day(int(match[1]), int(match[2]), int(match[3])))
    if "月" in text:
        for match in _EAST_ASIAN.finditer(text):
            value = _parsed(match.group().replace("号", "日"), now.date(), "ja", "future")
            yield _Found("date", *match.span(), value)
    low = _lowered(text)
    if not _may_hold_day(low, language):
        return
    words = _vocabulary(language)
    for match in _NUMERIC.finditer(low):
        yield _numeric(match, day_first=words.day_first)
    for match in words.days.finditer(low):
        if match["dated"]:
            yield from _dated(match, text, low, now, language)
        elif not match["week"] or _is_weekday(text, match, words):
            preferred = "past" if _hint(low, match.start()) in _PAST else "future"
            value = _parsed(match.group(), now.date(), language, preferred)
            yield _Found("date", *match.span(), value)
    for match in words.periods.finditer(low):
        yield _Found("date", *match.span(), None, unit="period")
    if language == _ENGLISH:
        yield from _nths(low, now)


@cache
def _english_marks() -> re.Pattern[str]:
    """One of these begins or is in every day in English words."""
    starts = "|".join(word[:3] for word in (*_MONTHS, *_WEEKDAYS))
    return re.compile(
        rf"\d\d?[./-]\d|\b(?:{starts}|to[dmn]|yes|next|this|last)"
        r"|\d(?:st|nd|rd|th)\b|\b(?:day|week|month)"
    )


def _may_hold_day(low: str, language: str) -> bool:
    """True unless an English text certainly names no day, for which no vocabulary is loaded."""
    return language != _ENGLISH or _english_marks().search(low) is not None


def _is_weekday(text: str, match: re.Match[str], words: _Vocabulary) -> bool:
    """True if a word is a weekday and no other word in its short form, as "sat" and "sun" are."""
    last = text[match.start() : match.end()].split()[-1]
    return len(last) > 4 or last.istitle() or not last.isascii()


def _dated(
    match: re.Match[str], text: str, low: str, now: datetime, language: str
) -> Iterator[_Found]:
    """A day and its month, and the day before them of "from 6 to 8 December"."""
    value = _parsed(match.group(), now.date(), language, "current_period")
    if value is not None and not match["y"]:
        value = _in_year(value, now.date(), is_past=_hint(low, match.start()) in _PAST)
    weekdays = _vocabulary(language).weekdays
    named = next((n for word, n in weekdays.items() if match.group().startswith(word)), None)
    if value is not None and named is not None and date.fromisoformat(value).weekday() != named:
        yield _Found("date", *match.span(), None, readings=(value,))
        return
    yield _Found("date", *match.span(), value)
    first = _FIRST_OF_TWO.search(low, max(0, match.start() - 30), match.start())
    if first is not None and value is not None and match["d"]:
        end = date.fromisoformat(value)
        if 1 <= int(first["day"]) < end.day:
            yield _Found("date", *first.span("day"), end.replace(day=int(first["day"])).isoformat())
    after = _SECOND_OF_TWO.match(low, match.end())
    if after is not None and value is not None and match["d2"] and not match["y"]:
        begin = date.fromisoformat(value)
        if begin.day < int(after["day"]) <= 31:
            yield _Found(
                "date", *after.span("day"), _day(begin.year, begin.month, int(after["day"]))
            )


def _in_year(day: str, today: date, *, is_past: bool) -> str | None:
    """The next such day, or one that has just passed; with "since" before it the last one.

    Who says a day of the last weeks means that day, if only by mistake, and never next year's.
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


def _numeric(match: re.Match[str], *, day_first: bool) -> _Found:
    """A day in figures; in English with two readings where the month may be either figure."""
    one, two, year = int(match[1]), int(match[2]), int(match[3])
    readings = [d for d in (_day(year, two, one), _day(year, one, two)) if d is not None]
    if day_first or "." in match.group():
        readings = readings[:1] if _day(year, two, one) else []
    distinct = tuple(dict.fromkeys(readings))
    value = distinct[0] if len(distinct) == 1 else None
    return _Found("date", *match.span(), value, readings=distinct if value is None else ())


def _nths(low: str, now: datetime) -> Iterator[_Found]:
    """The next day with that number: "on the 6th"."""
    for match in _NTH.finditer(low):
        number = int(match["day"])
        days = (now.date() + timedelta(days=ahead) for ahead in range(62))
        value = next((day.isoformat() for day in days if day.day == number), None)
        if value is not None:
            yield _Found("date", match.start("day"), match.end(), value)


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


@lru_cache(maxsize=_READ)
def _parsed(words: str, today: date, language: str, preferred: str) -> str | None:
    """Return the day that dateparser reads in a few words, None where it reads no whole day."""
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
    r"(?<![\w.,:/$€£-])(?P<h>[01]?\d|2[0-3])(?:[:.](?P<m>[0-5]\d))?"
    + _HALF.format("ap")
    + r"|(?:(?<![\w.,:/-])|(?<=\dt))(?P<h24>[01]?\d|2[0-3]):(?P<m24>[0-5]\d)(?::[0-5]\d)?"
    r"(?!\d|:\d|\.\d)|\b(?P<named>noon|midday|midnight)\b"
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


def _times(text: str, now: datetime, language: str) -> Iterator[_Found]:
    low = _lowered(text)
    if language != _ENGLISH:
        for match in _FOREIGN_HOUR.finditer(low):
            yield _Found("time", *match.span(), f"{int(match['h']):02}:{match['m'] or '00'}")
    for match in _TIME.finditer(low):
        start = match.start("bare") if match["bare"] else match.start()
        value, readings = _clock(match, low)
        yield _Found("time", start, match.end(), value, readings=readings)


def _clock(match: re.Match[str], low: str) -> tuple[str | None, tuple[str, ...]]:
    """The time of day, or both that it may be where nothing says which half of the day."""
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


# --- amounts, durations, numbers ------------------------------------------------------------

_NUM_POINT: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_NUM_COMMA: Final = r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?"
_SPELLED: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_CURRENCY: Final = re.compile(r"\s*([^\W\d_]+(?:[ -][^\W\d_]+){0,3})")


@cache
def _uses_comma(language: str) -> bool:
    """True if a language writes decimals with a comma."""
    if language == _ENGLISH:
        return False
    from babel import UnknownLocaleError
    from babel.numbers import get_decimal_symbol

    try:
        return get_decimal_symbol(language) == ","
    except (UnknownLocaleError, ValueError):
        return False


def _decimal(text: str, language: str) -> Decimal:
    if _uses_comma(language):
        text = text.replace(".", "").replace(",", ".")
    return Decimal(text.replace(",", ""))


@cache
def _number_patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    number = _NUM_COMMA if _uses_comma(language) else _NUM_POINT
    sign = f"[{''.join(map(re.escape, _SIGNS))}]"
    return (
        re.compile(
            rf"(?P<sign>{sign})\s?(?P<a>{number})(?P<ka>[kK]\b)?(?:\s?(?P<code>[A-Z]{{3}})\b)?"
            rf"|\b(?P<before>[A-Z]{{3}})\s?(?P<c>{number})(?P<kc>[kK]\b)?(?![\w-])"
            rf"|(?<![\w.,-])(?P<b>{number})(?P<kb>[kK])?\s?(?P<behind>{sign})"
        ),
        re.compile(
            rf"(?<![\w.,:/#-])(?P<minus>-)?(?P<n>{number})(?![\d:]|[.,/-]\d)"
            r"(?P<pct>\s?(?:%|percent\b))?(?:(?P<glued>[a-zA-Z]{1,3})\b|°\s?[CcFf]?)?"
        ),
    )


class _Word:
    """A word as text2num wants it."""

    def __init__(self, word: str) -> None:
        self._word = word

    def text(self) -> str:
        return self._word

    def text_lowercase(self) -> str:
        return self._word.lower()

    def nt_separated(self, previous: "_Word") -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return False


@lru_cache(maxsize=256)
def _spelled(text: str) -> tuple[tuple[int, int, int], ...]:
    """Where numbers stand in English words, and their values: "a hundred and fifty"."""
    from text_to_num import find_numbers

    words = [m for m in _SPELLED.finditer(text)]
    if not any(part in _COUNTING for m in words for part in m.group().lower().split("-")):
        return ()
    found: list[tuple[int, int, int]] = []
    for one in find_numbers([_Word(m.group()) for m in words], "en", threshold=0.0):
        start, end = words[one.start].start(), words[one.end - 1].end()
        if one.is_ordinal or re.search(r"[^\w\s-]|\d", text[start:end]):
            continue
        if one.start and words[one.start - 1].group() == "a" and text[start:].startswith("hundred"):
            start = words[one.start - 1].start()
        found.append((start, end, int(one.value)))
    return tuple(found)


def _amounts(text: str, now: datetime, language: str) -> Iterator[_Found]:
    signed, plain = _number_patterns(language)
    for match in signed.finditer(text):
        code = match["code"] or match["before"] or _SIGNS[match["sign"] or match["behind"]]
        if currencies.exists(code):
            number = _decimal(match["a"] or match["b"] or match["c"], language)
            thousand = match["ka"] or match["kb"] or match["kc"]
            yield _Found("amount", *match.span(), money(number * (1000 if thousand else 1), code))
    for match in plain.finditer(text):
        glued = "k" if (match["glued"] or "").lower() == "k" else ""
        end = match.end("glued") if glued else match.end("n")
        if (named := currency_at(text, end, language)) is not None:
            number = _decimal(match["n"], language) * (1000 if glued else 1)
            yield _Found("amount", match.start("n"), named[1], money(number, named[0]))
    for start, end, spoken in _spelled(text) if language == _ENGLISH else ():
        if (named := currency_at(text, end, language)) is not None:
            yield _Found("amount", start, named[1], money(Decimal(spoken), named[0]))


def money(amount: Decimal, currency: str) -> JsonValue:
    """Return an amount as JSON, with the decimals that its currency has: "90.00"."""
    places = Decimal(1).scaleb(-currencies.EXPONENTS.get(currency, 2))
    exact = not currencies.has_too_many_decimals(amount, currency)
    return {"amount": str(amount.quantize(places) if exact else amount), "currency": currency}


def currency_at(text: str, at: int, language: str) -> tuple[str, int] | None:
    """Return the currency whose code or name stands at a place of a text, and where that ends."""
    match = _CURRENCY.match(text, at)
    name = match[1] if match else ""
    while match and name:
        low, end = name.lower(), match.start(1) + len(name)
        code = name if name.isupper() else low.upper() if low.upper() in _KNOWN_CODES else ""
        if len(name) == 3 and code and currencies.exists(code):
            return code, end
        if (code := _MONEY_WORDS.get(low) or _currency_named(low, language)) is not None:
            return code, end
        name = re.sub(r"[ -]?[^ -]+$", "", name)
    return None


def _currency_named(low: str, language: str) -> str | None:
    """The code of a currency by its whole name ("Swedish kronor"); English ones have two words."""
    if language == _ENGLISH and " " not in low:
        return None
    if language == _ENGLISH and not any(low.endswith(last) for last in _last_words()):
        return None
    return _currency_names(language).get(low)


@cache
def _last_words() -> tuple[str, ...]:
    return _LISTS.words("currency_last_words")


@cache
def _currency_names(language: str) -> dict[str, str]:
    """The names of currencies in a language, of one and of several."""
    from babel import Locale, UnknownLocaleError
    from babel.numbers import get_currency_name

    try:
        locale = Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        return {}
    return {
        get_currency_name(code, count=count, locale=locale).lower(): code
        for code in currencies.EXPONENTS
        for count in (1, 2)
    }


_MIXED: Final = re.compile(
    r"\b(?P<h>\d{1,2})\s?(?:h|hrs?|hours?)\s?(?:and\s+)?(?P<m>[0-5]?\d)(?:\s?(?:m|min|mins|minutes?))?\b"
    r"|\b(?P<n>\d{1,2}|an|one|two|three)\s+(?:hours?\s+and\s+a\s+half|and\s+a\s+half\s+hours?)\b"
    r"|\b(?P<part>half\s+an|a\s+quarter\s+of\s+an|three\s+quarters\s+of\s+an|an|one)[\s-]+hour\b"
)
_PARTS_OF_HOUR: Final = {"half": 30, "a": 15, "three": 45, "an": 60, "one": 60}
_SMALL: Final = {"an": 1, "one": 1, "two": 2, "three": 3}


def _durations(text: str, now: datetime, language: str) -> Iterator[_Found]:
    low = _lowered(text)
    if language == _ENGLISH and ("hour" in low or re.search(r"\dh", low)):
        for match in _MIXED.finditer(low):
            if match["part"]:
                minutes = _PARTS_OF_HOUR[match["part"].split()[0]]
            elif match["h"]:
                minutes = 60 * int(match["h"]) + int(match["m"])
            else:
                minutes = 60 * int(_SMALL.get(match["n"]) or match["n"]) + 30
            yield _Found("duration", *match.span(), {"minutes": minutes}, "minutes")


_UNIT: Final = re.compile(r"[\s-]{1,2}([^\W\d_]{1,30})\b")
_TENS: Final = frozenset({"one"})


def _numbers(text: str, now: datetime, language: str) -> Iterator[_Found]:
    """Numbers, and the durations that their units make them."""
    for match in _number_patterns(language)[1].finditer(text):
        number = _decimal(match["n"], language) * (-1 if match["minus"] else 1)
        if match["pct"]:
            yield _Found("number", match.start(), match.end("pct"), _plain(number), "%")
        elif match["glued"] and match["glued"].lower() in ("st", "nd", "rd", "th"):
            continue
        else:
            glued = match["glued"] or ""
            yield _counted(
                text, match.start(), match.end("n"), number, language, glued, match.end()
            )
    for start, end, spoken in _spelled(text) if language == _ENGLISH else ():
        one = _counted(text, start, end, Decimal(spoken), language)
        if text[start:end].lower() in _TENS and not one.unit and _hint(text, start) != "for":
            continue
        yield one


def _counted(
    text: str,
    start: int,
    end: int,
    number: Decimal,
    language: str,
    glued: str = "",
    stop: int = 0,
) -> _Found:
    """A number with what it counts; a duration where that is a unit of time."""
    after = None if glued else _UNIT.match(text, end)
    word = glued or (after[1] if after else "")
    units = _units_of_time(word.lower(), language)
    last = stop if glued else after.end() if after else end
    if units is not None:
        name, size = units
        return _Found("duration", start, last, {name: _plain(number * size)}, word.lower())
    if word and word.lower() not in _NO_UNITS and (word.islower() or glued):
        return _Found("number", start, stop if glued else end, _plain(number), word.lower())
    return _Found("number", start, end, _plain(number))


def _units_of_time(word: str, language: str) -> tuple[str, int] | None:
    if not word or (language == _ENGLISH and word[0] not in "mhdwfn"):
        return None
    return _vocabulary(language).durations.get(word) if word in _duration_words(language) else None


@cache
def _duration_words(language: str) -> frozenset[str]:
    """English ones are listed, so that most texts load no vocabulary."""
    if language == _ENGLISH:
        return _LISTS.word_set("units_of_time")
    return frozenset(_vocabulary(language).durations)


def _plain(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)


# --- ids ------------------------------------------------------------------------------------

_UUID: Final = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
_PHONE: Final = re.compile(r"(?<![\w+])\+\d(?:[\s().-]{0,2}\d){6,16}(?![\w-])")
_CODE: Final = re.compile(r"(?<![\w@#/.-])[A-Za-z0-9]+(?:[-_/.:][A-Za-z0-9]+)*(?![\w@-])")
_MEASURE: Final = re.compile(
    r"\d+(?:[.,]\d+)?[a-zA-Z]{1,3}|\d+-[a-z]+(?:-[a-z]+)*|(?:\d+[.:/-])*\d+|[a-z]+(?:[-/.][a-z]+)*",
    re.I,
)
_NUMBERED: Final = re.compile(
    r"(?P<noun>[^\W\d_]{2,30})\s+(?P<mark>(?:with\s+)?(?:the\s+)?(?:id|number|no\.?|nr\.?|code)\s+"
    r"(?:is\s+)?)?(?P<n>\d{1,20})\b(?![.,:/-]\d|\s?%)(?:[\s-]+(?P<after>[^\W\d_]{2,30}))?",
    re.IGNORECASE,
)
_HASHED: Final = re.compile(r"(?<![\w&#])#(?P<n>\d+)\b|(?<![\w&@])[#@][^\W\d_][\w-]*(?![\w@.])")
_CAPS_DIGITS: Final = re.compile(r"(?<![\w-])[A-Z]{2,3} \d{2,4}\b(?![.,:/-]\d|\s+[a-z]{3,}s\b)")
_POSTCODE: Final = re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b")
_FILE: Final = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+[\w.-]*|\b[\w-]+\.[A-Za-z][A-Za-z0-9]{1,4}\b")


def _ids(text: str, now: datetime, language: str) -> Iterator[_Found]:
    if "#" in text or "@" in text:
        for match in _HASHED.finditer(text):
            yield _Found("id", *match.span(), match["n"] or match.group())
    if any(char.isdigit() for char in text):
        for pattern in (_UUID, _PHONE, _POSTCODE):
            for match in pattern.finditer(text):
                yield _Found("id", *match.span(), match.group())
        for match in _CAPS_DIGITS.finditer(text):
            if not currencies.exists(match.group()[:3]):
                yield _Found("id", *match.span(), match.group())
        for match in _NUMBERED.finditer(text):
            if _names_one(match, language):
                yield _Found("id", *match.span("n"), match["n"])
    for match in _CODE.finditer(text):
        if is_identifier(match.group()):
            yield _Found("id", *match.span(), match.group())
    if "." in text or "/" in text:
        for match in _FILE.finditer(text):
            yield _Found("id", *match.span(), match.group())


def is_identifier(token: str) -> bool:
    """Return true if a word is an id rather than a word, a number or a measure."""
    if "_" in token.strip("_"):
        return True
    mixed = any(c.isdigit() for c in token) and any(c.isalpha() for c in token)
    return mixed and _CODE.fullmatch(token) is not None and not _MEASURE.fullmatch(token)


def _names_one(match: re.Match[str], language: str) -> bool:
    """True of "order 4711", false of "order 4 pizzas", "for 4" and "quantity 4"."""
    if match["mark"]:
        return True
    noun, after = match["noun"].lower(), (match["after"] or "").lower()
    if language != _ENGLISH or noun in STOP_WORDS | _COUNTING | _COUNTED_NOUNS:
        return False
    if after and after not in _NO_UNITS:
        return False
    if match.string[: match.start("noun")].strip() or not is_verb(noun):
        return True
    return len(match["n"]) > 2 and noun in _NUMBERED_VERBS


# --- names ----------------------------------------------------------------------------------

_CAP: Final = r"[^\W\d_a-zß-ÿ][\w'\u2019]*(?:[.&-][^\W\d_a-zß-ÿ][\w'\u2019]*)*"
_LINK: Final = (
    r"(?:de|del|della|da|do|dos|du|der|den|di|la|le|las|los|el|of|the|van|von|am|an|sur|&)"
)
_PROPER: Final = re.compile(
    rf"(?<![\w'\u2019@#])(?:(?:Dr|Mrs?|Ms|Prof)\.\s+)?{_CAP}(?:(?:\s+{_LINK}){{0,2}}\s+(?!I\b){_CAP})*"
    r"(?P<number>\s+\d{1,4}(?=\s*(?:[.,;!?)]|$|(?:on|at|in|for|with|to|and|near)\b)))?"
)
_POSSESSIVE: Final = re.compile(r"['\u2019]s?$")
_NAME_WORD: Final = r"[^\s,.;:!?\"“`()]+(?:\.[^\s,.;:!?\"“`()]+)*"
_CALLED: Final = re.compile(
    rf"\b(?:called|named|titled|entitled)\s+"
    rf"(?P<name>{_NAME_WORD}(?:\s+(?!(?:{_NAME_ENDS})\b){_NAME_WORD}){{0,7}})",
    re.IGNORECASE,
)
_LOWER_PLACE: Final = re.compile(
    r"\b(?:from|to|in|near)\s+(?P<place>(?:(?:new|san|los|las|saint|santa|el|la|rio de|hong|tel|abu"
    r"|cape)\s)?[^\W\d_]{3,})\b"
)
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?:;]\s+|\n\s*)(?:[-*•]\s*|\d{1,2}[.)]\s+)?$")


def _numbered_names(text: str, now: datetime, language: str) -> Iterator[_Found]:
    """Names with a number of their own, as of a house in its street; "Invoice 12" is none."""
    for match in _PROPER.finditer(text) if language == _ENGLISH else ():
        span = _proper_span(text, match) if match["number"] else None
        if span is not None and not is_verb(text[slice(*span)].split()[-2].lower()):
            yield _Found("name", *span, text[slice(*span)])


def _names(text: str, now: datetime, language: str) -> Iterator[_Found]:
    for match in _CALLED.finditer(text):
        start, name = match.start("name"), match["name"]
        while name:  # the longest part that holds no other value: "called stand-up tomorrow"
            yield _Found("name", start, start + len(name), name)
            name = name.rpartition(" ")[0].rstrip()
    if text.isupper() or language not in (_ENGLISH, "es", "fr", "it", "pt", "nl"):
        return
    for match in _PROPER.finditer(text):
        if (span := _proper_span(text, match)) is not None:
            yield _Found("name", *span, text[slice(*span)])
    if not any(char.isupper() for char in text[1:]):
        for match in _LOWER_PLACE.finditer(text):
            word = match["place"]
            if word not in _NO_PLACES and word not in STOP_WORDS and not is_verb(word):
                yield _Found("name", *match.span("place"), word)


def _proper_span(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Where a name stands, without a sentence's first word, a function word or its possessive."""
    start, end = match.span()
    first, _, rest = match.group().partition(" ")
    low = _POSSESSIVE.sub("", first).lower()
    opens = _SENTENCE_START.search(text[max(0, start - 8) : start]) is not None
    is_plain = is_verb(low) or not rest[:1].isupper()  # "Weather of Rome" begins with no name
    if low in STOP_WORDS or (opens and is_plain and not _POSSESSIVE.search(first)):
        start = next((n for n in range(start + len(first), end) if text[n].isupper()), end)
    if possessive := _POSSESSIVE.search(text[start:end]):
        end -= len(possessive.group())
    return (start, end) if any(char.isupper() for char in text[start:end]) else None


def _lowered(text: str) -> str:
    """The text in lower case with every character at its place."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


_READERS: Final = (
    *(_quoted, _addresses, _days, _times, _amounts, _durations),
    *(_numbered_names, _ids, _numbers, _names),
)
"""The kinds in order of certainty: what an earlier reader took, a later one leaves alone."""


def warm_up() -> None:
    """Load what the libraries load on first use, so that no request waits for it."""
    find_values("tomorrow at 8 pm, 6 December, two people, 90 EUR", now=datetime(2026, 1, 1))
