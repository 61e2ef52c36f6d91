"""Date phrases: where one stands in a text, and the day it means."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from orchestrator.language.date_words import COUNT, MONTH, MONTHS, SHORT_WEEKDAY, WEEKDAY, WEEKDAYS
from orchestrator.language.related_dates import DatePhrase, related_phrases
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import lowered

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

_LISTS: Final = WordLists("dates")
_RELATIVE_DAYS: Final = {phrase: int(days) for phrase, days in _LISTS.table("relative").items()}

_NAMED_DAYS: Final = _LISTS.table("named")
"""Days that have the same date each year, in small letters: "christmas eve", month and day."""
_LEADING: Final = ("from", "on", "until", "till", "to", "by", "through")
"""Before "the 4th", these make a day of it, whatever it is for: "from the 4th for two"."""

_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_NTH = rf"{_DAY}(?:st|nd|rd|th)"
# "12. December" is written so where other languages are spoken; alone, the dot ends a sentence.
_OF_MONTH = rf"{_DAY}(?:st|nd|rd|th|\.)?"
_TO = r"\s*(?:-|/|\u2013|to|until|till|through|and)\s*(?:on\s+)?(?:the\s+)?"


def _spaced(name: str) -> str:
    return name.replace(" ", r"\s+").replace("'", "['\u2019]?")


_NAMED: Final = "|".join(map(_spaced, _NAMED_DAYS))
_LED: Final = "|".join(rf"(?<=\b{word}\s)" for word in _LEADING)
_NAMED_MONTHS: Final = frozenset(chain(*MONTHS))
_DATE_WORDS: Final = _NAMED_MONTHS.union(
    *WEEKDAYS, _LISTS.words("spans"), _RELATIVE_DAYS, (name.split()[-1] for name in _NAMED_DAYS)
)
_STARTS: Final = _DATE_WORDS.union(
    chain.from_iterable(name.replace("'", " ").split()[:1] for name in _NAMED_DAYS),
    _LISTS.words("openers"),
    _LISTS.words("counts"),
)
_WORDS = re.compile(r"\w+")
_DATE_DIGITS = re.compile(r"\d[-/.]\d{1,2}[-/.]\d|\d(?:st|nd|rd|th)\b")
_ISO = re.compile(r"(?<![\w-])(?P<iso>\d{4}-\d{2}-\d{2})(?:[t ](?=\d{2}:\d{2}))?(?![\d-])")
_RANGE = re.compile(
    rf"\b(?P<day1>{_OF_MONTH}){_TO}(?P<day2>{_OF_MONTH})\s+(?:of\s+)?(?P<month>{MONTH})"
    rf"(?:,?\s*(?P<year>\d{{4}})\b)?"
    rf"|\b(?P<month_b>{MONTH})\s+(?P<day1_b>{_NTH}|{_DAY}){_TO}(?P<day2_b>{_NTH}|{_DAY})\b"
    rf"(?:,?\s*(?P<year_b>\d{{4}})\b)?"
)
_PHRASE = re.compile(
    rf"""\b(?P<dated>{_OF_MONTH}\s+(?:of\s+)?{MONTH}(?:,?\s*\d{{4}}\b)?
            |{MONTH}\s+(?:the\s+)?(?:{_NTH}|{_DAY})\b(?:,?\s*\d{{4}}\b)?
            |\d{{4}}/\d{{1,2}}/\d{{1,2}}\b|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}\b)
        |\b(?P<relative>(?:the\s+)?day\s+(?:after\s+tomorrow|before\s+yesterday)
            |today|tonight|tomorrow|tmrw|tmr|yesterday
            |in\s+{COUNT}\s+(?:day|week|fortnight|month)s?(?:['\u2019]?\s+time)?
            |{COUNT}\s+(?:day|week|fortnight|month)s?\s+(?:ago|from\s+now))\b
        |\b(?P<which>next|this|coming|last|on)\s+(?P<short>{WEEKDAY}|{SHORT_WEEKDAY})(?!\w)
        |\b(?P<weekday>{WEEKDAY})(?!\w)
        |\b(?P<named>{_NAMED})(?!\w)
        |(?:{_LED})the\s+(?P<led>{_NTH})
            (?=\s+(?:for|with|in|from|by)\b)
        |\b(?:the\s+)?(?P<nth>{_NTH})(?=\s*(?:[,.;!?]|$|to\b|until\b|till\b|through\b|and\b|-|at\b))
    """,
    re.VERBOSE,
)
_YEAR: Final = re.compile(r"\d{4}")
_OF_LATE: Final = timedelta(days=31)
_WEEKDAY_ALONE: Final = re.compile(rf"(?:(?:on|this|next|coming)\s+)?(?:{WEEKDAY}|{SHORT_WEEKDAY})")
_THROUGH: Final = re.compile(r"\s*(?:-|\u2013|to|until|till|through)\s*")
_CLOSE: Final = re.compile(r",?\s+(?:the\s+)?")
_NUMBERED: Final = re.compile(r"\d")
_ARTICLE_OR_TIME = re.compile(r"^the\s+|['\u2019]?\s+time$")
_FORTNIGHT: Final = re.compile(r"\b(?:an?|one|1)\s+fortnight\b")
_BARE_NTH = re.compile(rf"(?:the\s+)?{_NTH}")
_DAY_AND_MONTH: Final = re.compile(
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<month>{MONTH})"
    rf"|(?P<month_b>{MONTH})\s+(?:the\s+)?(?P<day_b>\d{{1,2}})(?:st|nd|rd|th)?)"
    r"(?:,?\s*(?P<year>\d{4}))?"
)


def find_date_phrases(text: str, *, now: datetime | None, before: str = "") -> list[DatePhrase]:
    """The date phrases of a text, in order; one without date words costs next to nothing.

    A range ("from the 3rd to the 6th of December") is two phrases. Days without a month are the
    next such day from `now` on, weekdays the next such weekday after `now`; the second end of a
    range is never before the first. "The day before" and its like are told by what the text, or
    else what was said `before` it, says.
    """
    text = lowered(text)
    words = [(match.group(), match.start()) for match in _WORDS.finditer(text)]
    said = {word for word, _ in words}
    if _DATE_WORDS.isdisjoint(said) and _DATE_DIGITS.search(text) is None:
        return []
    # Only there can a phrase start: to try every place takes three times as long.
    starts = [start for word, start in words if word in _STARTS or word[0].isdigit()]
    phrases = [*_iso_phrases(text)]
    if not _NAMED_MONTHS.isdisjoint(said):
        for match in _matches(_RANGE, text, starts):
            phrases += _range_phrases(match, now)
    phrases += [_phrase(match, now) for match in _matches(_PHRASE, text, starts)]
    found = _ranges_in_order(text, _joined(text, _apart(phrases)))
    around = with_days(before, now=now) if before else ""
    related = [*related_phrases(text, found, now, around, said)]
    return _apart([*found, *related]) if related else found


def with_days(text: str, *, now: datetime | None) -> str:
    """The text with each day that it names as an ISO date."""
    for phrase in reversed(find_date_phrases(text, now=now)):
        day = phrase.day.isoformat() if phrase.day else ""
        text = f"{text[: phrase.start]}{day}{text[phrase.end :]}"
    return text


def _joined(text: str, phrases: Sequence[DatePhrase]) -> list[DatePhrase]:
    """The phrases, "Friday the 4th of December" as one; the day is untold where the two differ."""
    joined: list[DatePhrase] = []
    for phrase in phrases:
        last = joined[-1] if joined else None
        if last is None or not _is_weekday_of(text, last, phrase):
            joined.append(phrase)
            continue
        days = (last.day, phrase.day)
        agree = None in days or days[0].weekday() == days[1].weekday()  # type: ignore[union-attr]
        joined[-1] = DatePhrase(last.start, phrase.end, phrase.day if agree else None)
    return joined


def _is_weekday_of(text: str, one: DatePhrase, other: DatePhrase) -> bool:
    """Whether a weekday stands right before a day with its number."""
    named = _WEEKDAY_ALONE.fullmatch(text, one.start, one.end)
    close = _CLOSE.fullmatch(text, one.end, other.start)
    return bool(named and close and _NUMBERED.search(text, other.start, other.end))


def _apart(phrases: Iterable[DatePhrase]) -> list[DatePhrase]:
    """The phrases in order, of two that overlap the first and longest."""
    found: list[DatePhrase] = []
    for phrase in sorted(phrases, key=lambda p: (p.start, -p.end)):
        if not found or phrase.start >= found[-1].end:
            found.append(phrase)
    return found


def _matches(pattern: re.Pattern[str], text: str, starts: Iterable[int]) -> Iterator[re.Match[str]]:
    """The matches that start at one of these places, none within another."""
    end = 0
    for start in starts:
        match = pattern.match(text, start) if start >= end else None
        if match:
            yield match
            end = match.end()


def _iso_phrases(text: str) -> Iterator[DatePhrase]:
    for match in _ISO.finditer(text) if "-" in text else ():
        day = _day_or_none(*map(int, match["iso"].split("-")))
        if day is not None:
            yield DatePhrase(match.start("iso"), match.end("iso"), day)


def _phrase(match: re.Match[str], now: datetime | None) -> DatePhrase:
    if match["dated"]:
        day = _parsed(match["dated"], now)
        if (
            now
            and day
            and (gone := _just_gone(day, now.date()))
            and not _YEAR.search(match["dated"])
        ):
            return DatePhrase(*match.span("dated"), None, (gone, day))
        return DatePhrase(*match.span("dated"), day)
    if match["relative"]:
        plain = _FORTNIGHT.sub("2 weeks", _ARTICLE_OR_TIME.sub("", match["relative"]))
        day = _parsed(plain, now) if now else None
        return DatePhrase(*match.span("relative"), day)
    if match["weekday"] or match["short"]:
        which = match["which"] or "on"
        day = _weekday(match["weekday"] or match["short"], which, now) if now else None
        start = match.start() if which != "on" or match["weekday"] else match.start("short")
        return DatePhrase(start, match.end(), day)
    if match["named"]:
        plain = re.sub(r"\s+", " ", match["named"]).replace("\u2019", "'")
        return DatePhrase(*match.span(), _of_each_year(plain, now.date()) if now else None)
    nth = "led" if match["led"] else "nth"
    day = _next_nth(match[nth], now.date()) if now else None
    return DatePhrase(match.start(), match.end(nth), day)


def _of_each_year(name: str, today: date) -> date | None:
    """The next day that is called so."""
    bare = name.replace("'", "")
    written = next(day for known, day in _NAMED_DAYS.items() if known.replace("'", "") == bare)
    month, number = map(int, written.split("-"))
    days = (_day_or_none(year, month, number) for year in (today.year, today.year + 1))
    return next((day for day in days if day and day >= today), None)


def _just_gone(day: date, today: date) -> date | None:
    """The same day a year before, where that has gone by of late: either may be meant."""
    last = _day_or_none(day.year - 1, day.month, day.day)
    return last if last and today - _OF_LATE <= last < today else None


def _range_phrases(match: re.Match[str], now: datetime | None) -> Iterator[DatePhrase]:
    """The two ends of "3 to 6 December" or "December 3 to 6", the month read for both."""
    month, year = match["month"] or match["month_b"], match["year"] or match["year_b"] or ""
    first, second = ("day1", "day2") if match["month"] else ("day1_b", "day2_b")
    days = [_parsed(f"{match[day]} {month} {year}".strip(), now) for day in (first, second)]
    yield DatePhrase(match.start(), match.end(first), days[0])
    yield DatePhrase(match.start(second), match.end(), days[1])


def _ranges_in_order(text: str, phrases: list[DatePhrase]) -> list[DatePhrase]:
    """The phrases, no end before its start: a bare "the 2nd" is then in the month after."""
    for i in range(1, len(phrases)):
        first, second = phrases[i - 1], phrases[i]
        if first.day is None or second.day is None or second.day >= first.day:
            continue
        if _THROUGH.fullmatch(text, first.end, second.start) and all(
            _WEEKDAY_ALONE.fullmatch(text, one.start, one.end) for one in (first, second)
        ):
            # "Monday to Thursday" ends in the week that it begins in.
            phrases[i] = DatePhrase(second.start, second.end, second.day + timedelta(days=7))
        elif _BARE_NTH.fullmatch(text[second.start : second.end]):
            day = _next_nth(text[second.start : second.end], first.day)
            phrases[i] = DatePhrase(second.start, second.end, day)
    return phrases


def _weekday(name: str, which: str, now: datetime) -> date:
    """The next such weekday after today; "last" is the one before, "this" may be today."""
    weekday = next(day for day, names in enumerate(WEEKDAYS) if name.startswith(names[-1]))
    ahead = (weekday - now.weekday()) % 7
    if which == "last":
        return now.date() + timedelta(days=ahead - 7)
    return now.date() + timedelta(days=ahead if which == "this" else ahead or 7)


def _next_nth(phrase: str, day: date) -> date:
    """The next day with that number in its month, from this day on."""
    number = int(re.sub(r"\D", "", phrase))
    while day.day != number:
        day += timedelta(days=1)
    return day


def warm_up() -> None:
    """Load what the library loads on first use (a fifth of a second), so that no request pays."""
    _library_day("tomorrow", date(2000, 1, 1))


def _parsed(phrase: str, now: datetime | None) -> date | None:
    """The day that is meant; without `now`, only of phrases that name their year."""
    if now is None and not re.search(r"\d{4}", phrase):
        return None
    phrase, base = " ".join(phrase.split()), now.date() if now else date(2000, 1, 1)
    return _plain_day(phrase, base) or _library_day(phrase, base)


def _plain_day(phrase: str, base: date) -> date | None:
    """The commonest forms by plain arithmetic: the library takes a millisecond or two for each."""
    if phrase in _RELATIVE_DAYS:
        return base + timedelta(days=_RELATIVE_DAYS[phrase])
    match = _DAY_AND_MONTH.fullmatch(phrase)
    if match is None:
        return None
    day = int(match["day"] or match["day_b"])
    name = (match["month"] or match["month_b"]).rstrip(".")
    month = next(month for month, names in enumerate(MONTHS, start=1) if name in names)
    years = (int(match["year"]),) if match["year"] else (base.year, base.year + 1)
    days = (_day_or_none(year, month, day) for year in years)
    return next((day for day in days if day and (match["year"] or day >= base)), None)


def _day_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _library_day(phrase: str, base: date) -> date | None:
    parsed = _parser(base).get_date_data(phrase).date_obj
    return parsed.date() if parsed else None


@lru_cache(maxsize=8)
def _parser(base: date) -> "DateDataParser":
    from dateparser.date import DateDataParser  # with all that it imports: once a date is read

    noon = datetime(base.year, base.month, base.day, 12)
    settings = {"RELATIVE_BASE": noon, "PREFER_DATES_FROM": "future"}
    return DateDataParser(languages=["en"], settings=settings)
