"""Times of day: where one stands in a text, and what it may mean.

An hour without a half of the day ("at 8") may mean two; both are kept, unless the text says which
half it is by a word as "dinner" or "in the morning". Nobody guesses.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.language.date_words import MONTH, WEEKDAY
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import lowered

_LISTS: Final = WordLists("times")
_NAMED: Final = {word: int(hour) for word, hour in _LISTS.table("named").items()}
_MINUTES: Final = {word: int(number) for word, number in _LISTS.table("minutes").items()}
_HOURS: Final = {word: int(number) for word, number in _LISTS.table("hours").items()}
HOURS_OF: Final = {
    word: range(*map(int, hours.split())) for word, hours in _LISTS.table("parts").items()
}
"""The hours in which the times of a part of the day lie: of "afternoon" 12 to 18."""

_HALF: Final = r"(?:\s*(?P<{}>[ap])\.?m\b\.?)"
_HOUR: Final = rf"(?:[01]?\d|2[0-3]|{'|'.join(_HOURS)})"
_PAST: Final = "|".join(sorted(_MINUTES, key=len, reverse=True))
FOLLOWED: Final = (
    r"(?=\s*(?:[.,:;!?)\u2013\u2014-](?!\d)|$)"
    rf"|\s+(?:{'|'.join(_LISTS.words('followers'))})\b)"
)
"""What follows an hour, or a stretch of time, that counts nothing behind it."""
# What no time can do without: most texts are told to hold none by these alone.
_DIGITS: Final = frozenset("0123456789")
_WORDS: Final = (*_NAMED, *_HOURS)
_HALF_MARK: Final = re.compile(r"[ap]\.?m\b")
_OPENED: Final = (
    "at ",
    "from ",
    "between ",
    "@",
    "until ",
    "till ",
    "before ",
    "after ",
    "er than ",
)
_RANGE: Final = re.compile(
    rf"\b(?:(?:from|between)\s+)?(?P<one>{_HOUR})(?::(?P<m1>[0-5]\d))?{_HALF.format('ap1')}?"
    rf"(?:\s*[-\u2013]\s*|\s+(?:to|and|until|till)\s+)"
    rf"(?P<two>{_HOUR})(?::(?P<m2>[0-5]\d))?{_HALF.format('ap2')}(?!\d|:\d)"
)
_BARE_RANGE: Final = re.compile(
    rf"\b(?:from|between)\s+(?P<one>{_HOUR})\s*(?:[-\u2013]|\s(?:to|and|until|till)\s)\s*"
    rf"(?P<two>{_HOUR})(?:\s*o['\u2019]?clock)?\b{FOLLOWED}"
)
_TIME: Final = re.compile(
    rf"(?<![\d:.-])(?:(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::[0-5]\d)?{_HALF.format('ap')}?"
    rf"|(?P<h12>1[0-2]|0?[1-9]){_HALF.format('ap12')}"
    rf"|\b(?P<named>{'|'.join(_NAMED)})\b)(?!\d|:\d)"
)
_SPOKEN_MARKS: Final = ("clock", "past ", "quarter ", "half ", "ten ", "five ", "twenty")
_HOUR_MARK: Final = re.compile(r"\d\s?h")
_SPOKEN: Final = re.compile(
    rf"\b(?P<part>{_PAST})(?:\s+minutes)?\s+(?P<side>past|to|after|before)\s+"
    rf"(?P<hour>{_HOUR})\b(?:{_HALF.format('ap')}|{FOLLOWED})(?!\d|:\d)"
    rf"|\b(?P<clock>{_HOUR})\s*o['\u2019]?clock\b{_HALF.format('apc')}?"
    rf"|\b(?P<words>{'|'.join(_HOURS)}){_HALF.format('apw')}"
    rf"|(?<!for )\b(?P<h24>[01]?\d|2[0-3])\s?h(?P<m24>[0-5]\d)?\b(?!\s*\w)"
)
_AT: Final = re.compile(
    rf"(?:\bat|@|\buntil|\btill|\bbefore|\bafter|\b(?:later|earlier|sooner)\s+than)\s+(?:around\s+|about\s+|approximately\s+)?"
    rf"(?P<at>{_HOUR})(?:\.(?P<m>[0-5]\d))?\b{FOLLOWED}"
    rf"|\b(?:from|between)\s+(?P<from>{_HOUR})\b(?=\s+(?:to|and|until|till)\s+"
    rf"(?:(?:{_PAST})\s+(?:minutes\s+)?(?:past|to)\b|{'|'.join(_NAMED)}\b|\d{{1,2}}:\d\d))"
)
SOME_MINUTES: Final = (
    rf"(?P<n>\d{{1,3}}|an?|half\s+an|a\s+quarter\s+of\s+an|{'|'.join((*_MINUTES, *_HOURS))})"
    r"[\s-]+(?P<unit>hour|minute|min)s?(?P<half>\s+and\s+a\s+half)?"
)
"""A stretch of hours or minutes, as a pattern: "half an hour"."""
_MOVE: Final = re.compile(
    rf"(?<!for )\b{SOME_MINUTES}\s+(?P<side>before|after)\s+"
    rf"(?:(?:the|my|our)\s+(?:(?!(?:to|and|remind|at|on)\b)[\w'\u2019-]+\s+){{1,2}}?)?"
    r"(?:at\s+)?$"
)
"""A stretch of time that moves the hour that it stands before: "an hour before midnight".

What is at that hour may stand between: "an hour before the meeting at 3 pm".
"""
_PARTED: Final = re.compile(
    rf"(?:,|\b(?:{MONTH}|{WEEKDAY}|today|tomorrow)|\d(?:st|nd|rd|th)?)\s+(?P<hour>{_HOUR})"
    r"(?=\s+in\s+the\s+(?:morning|afternoon|evening)\b)"
)
"""An hour after a day, told by its part of it alone: "tomorrow, 7 in the morning"."""
_ZONE: Final = re.compile(
    rf"\s*\(?(?:(?:{'|'.join(_LISTS.words('zones'))})(?:\s?[+\u2212-]\d{{1,2}}(?::?\d\d)?)?"
    r"|(?!My\b|Our\b)[A-Z][\w-]+(?:\s[A-Z][\w-]+){0,2}\s+[Tt]ime)(?!\w)\)?"
)
"""Whose clock a time is of: "9 am EST", "3 pm New York time"."""
_DAY: Final = 24 * 60
_UP_TO: Final = frozenset({"to", "until", "till", "before", "by"})
_FROM_ON: Final = frozenset({"after", "from", "since", "past"})
_MIDNIGHT: Final = "midnight"
_TONIGHT: Final = re.compile(r"\btonight\b")
_AFTERNOON: Final = re.compile(r"(?:1[3-9]|2[0-3])\b")
_JOINED: Final = re.compile(r"(?:[\s\d,:\u2013-]|\b(?:and|or|to|until|till|at)\b)*")
_PART: Final = re.compile(rf"\b(?P<word>{'|'.join(HOURS_OF)})\b")
_SENTENCE: Final = re.compile(r"[.;!?]\s")
_HOURLESS: Final = re.compile(
    rf"\b(?!for\s+the\s+night\b)(?:tonight"
    r"|first\s+thing(?:\s+(?:in\s+the\s+morning|tomorrow(?:\s+morning)?))?"
    r"|(?<!for )that\s+night|that\s+(?:morning|afternoon|evening)"
    rf"|(?:(?:in|on|during|for)\s+the|this|tomorrow|today|(?:{WEEKDAY}))\s+"
    r"(?:morning|afternoon|evening|night)(?!\s+(?:before|after)\b)"
    r"|(?<!for )the\s+(?:(?:following|next|same)\s+)?"
    r"(?:morning|afternoon|evening|night)\s+(?:before|after|of))\b"
)
"""A part of a day by which something is to be, and no hour of it; who stays "for the night" stays
all of it."""


_LONGEST_BOUND: Final = 30
"""Characters before a time in which its bound stands."""
_LONGEST_MOVE: Final = 80
"""Characters before a time in which what moves it stands."""


def _bounds(behind: str) -> dict[str, re.Pattern[str]]:
    """How each bound is said before a time, or behind it, by the one word that says it as well."""
    found = {}
    for kind, word in (("earliest", "after"), ("latest", "by")):
        lines = sorted(_LISTS.lines(f"{kind}{behind}"), key=len, reverse=True)
        said = "|".join(r"\s+".join(line.split()) for line in lines)
        found[word] = rf"\s+(?:{said})\b" if behind else rf"\b(?:{said})\s+(?:at\s+)?$"
    return {word: re.compile(pattern) for word, pattern in found.items()}


_BOUND_BEFORE: Final = _bounds("")
_BOUND_BEHIND: Final = _bounds("_behind")


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """Words that name a time of day; more than one reading: nothing tells which is meant.

    `bound` is "after" or "by" where the words say that it is the earliest or the latest one, in
    more than the one word before it: "no later than noon", "at 9 at the earliest".
    """

    start: int
    end: int
    readings: tuple[str, ...]
    bound: str | None = None


def find_time_phrases(text: str) -> list[TimePhrase]:
    """The times of day in a text, those first that are surer; they may overlap."""
    low = lowered(text)
    if _DIGITS.isdisjoint(low) and not any(word in low for word in _WORDS):
        return []
    halved = _HALF_MARK.search(low) is not None
    found = [*_halved_ranges(low)] if halved else []
    if "from " in low or "between " in low:
        found += _bare_ranges(low)
    if halved or ":" in low or "noon" in low or "mid" in low:
        found += _written(low)
    if halved or any(mark in low for mark in _SPOKEN_MARKS) or _HOUR_MARK.search(low):
        found += _spoken(low)
    if any(mark in low for mark in _OPENED):
        found += _bare(low)
    if " in the " in low:
        found += (_ambiguous(low, m.span("hour"), m["hour"], 0) for m in _PARTED.finditer(low))
    here = _in_their_zones(text, low, _on_one_clock(low, [_moved(low, one) for one in found]))
    return [_bounded(low, one) for one in here]


def _in_their_zones(text: str, low: str, found: list[TimePhrase]) -> list[TimePhrase]:
    """The phrases; of one that is said to be of another clock nothing here tells the hour.

    What it is joined to is of the same clock: "from 15:00 to 16:00 CET".
    """
    zoned = [
        TimePhrase(one.start, zone.end(), ())
        for one in found
        if (zone := _ZONE.match(text, one.end))
    ]
    others = [one for one in found if not any(one.start == other.start for other in zoned)]
    return zoned + [
        TimePhrase(one.start, one.end, ())
        if any(_are_joined(low, one, other) for other in zoned)
        else one
        for one in others
    ]


def hourless(text: str) -> tuple[int, int] | None:
    """Where the first part of a day stands in a text that names no time: "tomorrow evening"."""
    found = _HOURLESS.search(lowered(text))
    return found.span() if found and not find_time_phrases(text) else None


def _moved(low: str, phrase: TimePhrase) -> TimePhrase:
    """The time with what moves it: "two hours after noon"; none tells what leaves its day."""
    move = _MOVE.search(low, max(0, phrase.start - _LONGEST_MOVE), phrase.start)
    if move is None:
        return phrase
    if _MIDNIGHT in low[phrase.start : phrase.end]:
        return TimePhrase(move.start(), phrase.end, ())  # of which day, nothing tells
    by = stated_stretch(move) * (-1 if move["side"] == "before" else 1)
    times = [60 * int(at[:2]) + int(at[3:]) + by for at in phrase.readings]
    stays = all(0 <= time < _DAY for time in times)
    return TimePhrase(move.start(), phrase.end, tuple(map(_clock, times)) if stays else ())


def _bounded(low: str, phrase: TimePhrase) -> TimePhrase:
    """The time with the words that make it the earliest or the latest: "not before 9"."""
    begin = max(0, phrase.start - _LONGEST_BOUND)
    searched = ((p.search(low, begin, phrase.start), word) for word, p in _BOUND_BEFORE.items())
    if before := [(found.start(), word) for found, word in searched if found]:
        start, word = min(before)  # "no later than" is no "later than"
        return replace(phrase, start=start, bound=word)
    for word, pattern in _BOUND_BEHIND.items():
        if behind := pattern.match(low, phrase.end):
            return replace(phrase, end=behind.end(), bound=word)
    return phrase


def stated_stretch(match: re.Match[str], prefix: str = "") -> int:
    """Minutes of what matched `SOME_MINUTES`, its groups named with the prefix."""
    word = " ".join(match[f"{prefix}n"].split())
    known = {"a": 1.0, "an": 1.0, "half an": 0.5, "a quarter of an": 0.25}
    number = known.get(word) or float(_HOURS.get(word) or _MINUTES.get(word) or word)
    minutes = 60 if match[f"{prefix}unit"] == "hour" else 1
    return round((number + bool(match[f"{prefix}half"]) / 2) * minutes)


def _on_one_clock(low: str, found: list[TimePhrase]) -> list[TimePhrase]:
    """The phrases; joined to an hour of 13 to 23 one is of the same clock: "at 8 and 18"."""
    sure = [one for one in found if _AFTERNOON.match(low, one.start, one.end)]
    return [
        TimePhrase(one.start, one.end, one.readings[:1])
        if any(_are_joined(low, one, other) for other in sure)
        else one
        for one in found
    ]


def _are_joined(low: str, one: TimePhrase, other: TimePhrase) -> bool:
    first, second = sorted((one, other), key=lambda phrase: phrase.start)
    return bool(_JOINED.fullmatch(low, first.end, max(first.end, second.start)))


def _halved_ranges(low: str) -> Iterator[TimePhrase]:
    """Both ends of "2 to 4 pm": the first is the last such time before the second."""
    for match in _RANGE.finditer(low):
        end = _minutes(match["two"], match["m2"], match["ap2"])
        if match["ap1"]:
            start = _minutes(match["one"], match["m1"], match["ap1"])
        else:
            both = [_minutes(match["one"], match["m1"], half) for half in "ap"]
            start = max((time for time in both if time < end), default=both[0])
        yield _phrase(low, _span(match, "one", "ap1", "m1"), (start,))
        yield _phrase(low, (match.start("two"), match.end()), (end,))


def _bare_ranges(low: str) -> Iterator[TimePhrase]:
    """Both ends of "from 9 to 5"."""
    for match in _BARE_RANGE.finditer(low):
        yield _ambiguous(low, match.span("one"), match["one"], 0)
        yield _ambiguous(low, match.span("two"), match["two"], 0)


def _written(low: str) -> Iterator[TimePhrase]:
    """Times as clocks show them: "19:30", "8 pm"; "8:00" is in the morning if nothing tells."""
    for match in _TIME.finditer(low):
        if match["named"]:
            yield _named(low, match)
            continue
        half = match["ap"] or match["ap12"]
        hour, minutes = match["h"] or match["h12"], match["m"]
        if half or int(hour) > 12 or hour.startswith("0"):
            yield _phrase(low, match.span(), (_minutes(hour, minutes, half),))
        else:
            told = _ambiguous(low, match.span(), hour, int(minutes or 0))
            plain = _clock(_minutes(hour, minutes, None))
            readings = told.readings if len(told.readings) == 1 else (plain,)
            yield TimePhrase(told.start, told.end, readings)


def _named(low: str, match: re.Match[str]) -> TimePhrase:
    """Noon; or midnight, which may be the beginning of its day or its end, unless words tell."""
    time = 60 * _NAMED[match["named"]]
    if time:
        return _phrase(low, match.span(), (time,))
    before = low[: match.start()].split()[-1:]
    if {*before} & _UP_TO or _TONIGHT.search(low):
        return _phrase(low, match.span(), (_DAY - 1,))
    return _phrase(low, match.span(), (0,) if {*before} & _FROM_ON else (0, _DAY - 1))


def _spoken(low: str) -> Iterator[TimePhrase]:
    """Times as they are said: "half past seven", "8 o'clock", "eight pm"."""
    for match in _SPOKEN.finditer(low):
        if match["h24"]:
            yield _phrase(low, match.span(), (_minutes(match["h24"], match["m24"], None),))
            continue
        hour = match["hour"] or match["clock"] or match["words"]
        half = match["ap"] or match["apc"] or match["apw"]
        shift = _MINUTES[match["part"]] if match["part"] else 0
        shift = -shift if match["side"] in ("to", "before") else shift
        if half:
            yield _phrase(low, match.span(), (_minutes(hour, None, half) + shift,))
        else:
            yield _ambiguous(low, match.span(), hour, shift)


def _bare(low: str) -> Iterator[TimePhrase]:
    for match in _AT.finditer(low):
        hour = "at" if match["at"] else "from"
        yield _ambiguous(low, _span(match, hour, "m"), match[hour], int(match["m"] or 0))


def _ambiguous(low: str, span: tuple[int, int], hour: str, shift: int) -> TimePhrase:
    """A time without a half of the day: both, unless its hour or a word near it tells."""
    number = _HOURS.get(hour) or int(hour)
    if number > 12 or hour in ("0", "00"):
        return _phrase(low, span, (60 * number + shift,))
    both = tuple(60 * (number % 12 + more) + shift for more in (0, 12))
    part = _part_of_day(low, span)
    within = [time for time in both if part and {time // 60, time // 60 + 24} & {*part}]
    if number == 12 and not part:
        within = [60 * 12 + shift]  # twelve is noon, unless it is said to be at night
    return _phrase(low, span, tuple(within) if len(within) == 1 else both)


def _part_of_day(low: str, span: tuple[int, int]) -> range | None:
    """The part of the day that the nearest word of the same sentence tells."""
    start = max((m.end() for m in _SENTENCE.finditer(low, 0, span[0])), default=0)
    stop = _SENTENCE.search(low, span[1])
    near = [
        (max(match.start() - span[1], span[0] - match.end()), match["word"])
        for match in _PART.finditer(low, start, stop.start() if stop else len(low))
    ]
    return HOURS_OF[min(near)[1]] if near else None


def _span(match: re.Match[str], *groups: str) -> tuple[int, int]:
    """From the first group to the end of the last that is there."""
    return match.start(groups[0]), max(match.end(group) for group in groups)


def _minutes(hour: str, minutes: str | None, half: str | None) -> int:
    """Minutes from midnight."""
    number = _HOURS.get(hour) or int(hour)
    if half and number <= 12:
        number = number % 12 + (12 if half == "p" else 0)
    return 60 * number + int(minutes or 0)


def _phrase(low: str, span: tuple[int, int], minutes: tuple[int, ...]) -> TimePhrase:
    return TimePhrase(*span, tuple(map(_clock, minutes)))


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
