"""Stretches of time in words: "an hour and a half", "half an hour", "a fortnight"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from orchestrator.language.numbers import NUMBER_WORDS
from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("durations")
MINUTES: Final = {word: int(minutes) for word, minutes in _LISTS.table("minutes").items()}
"""How many minutes a unit is."""
_DAYS: Final = {word: int(days) for word, days in _LISTS.table("days").items()}

_LASTING: Final = _LISTS.words("lasting")
_WORD: Final = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_NUM: Final = rf"(?:\d+(?:\.\d+)?|{_WORD}|an?)"
_HOUR: Final = r"(?:(?:hours?|hrs?|h)\b|h(?=\d))"
_SHORT: Final = r"(?:minutes?|mins?)\b"
_UNIT: Final = rf"(?:{'|'.join(sorted({*MINUTES, *_DAYS}, key=len, reverse=True))})"
# None of them is without one of these.
_MARKS: Final = (
    "half",
    "quarter",
    "hour",
    " hr",
    "fortnight",
    "the night",
    *(f"{word} a" for word in _LASTING),
)
_SHORT_HOUR: Final = re.compile(r"\dh")
_PATTERN: Final = re.compile(
    rf"\b(?P<n>{_NUM})\s*(?P<unit>{_HOUR})\s*(?:(?:and\s+)?(?P<half>a\s+half\b)"
    rf"|(?:and\s+)?(?P<m>\d{{1,2}}|{_WORD})\s*{_SHORT}|(?P<h30>[0-5]\d)\b)"
    rf"|\b(?P<nh>\d+|{_WORD})\s+and\s+a\s+half\s+(?P<units>{_UNIT}s?)\b"
    rf"|\b(?P<frac>half\s+an|half|an?\s+half|a\s+quarter\s+of\s+an|three\s+quarters\s+of\s+an)"
    rf"[\s-]+(?P<of>hour)\b"
    rf"|\b(?P<dec>\d+\.\d+)\s*(?P<decunit>{_HOUR})"
    rf"|\b(?P<part>half\s+a\s+(?:day|night|week|month)|a\s+half\s+day)\b"
    rf"|\b(?:{'|'.join(_LASTING)})\s+(?P<one>(?:an?\s+(?:whole\s+|full\s+)?|the\s+(?=night\b))"
    rf"(?P<single>hour|day|night|week|fortnight|month))\b(?!['\u2019-]|\s+(?:and\s+)?(?:a\s+half|\d|(?:{_WORD})\s+min))"
    rf"|\b(?P<fn>\d+|{_WORD})\s+(?P<fortnights>fortnights?)\b"
)
STRETCH: Final = (
    rf"(?:{_NUM}|half\s+an?|a\s+half|a\s+quarter\s+of\s+an)[\s-]+"
    rf"(?:{_UNIT}s?|{_HOUR}|{_SHORT})(?:\s+and\s+a\s+half)?"
)
"""A pattern of a stretch of time in small letters or great ones: "two days", "half an hour"."""
_FRACTIONS: Final = {"half": 30, "a quarter": 15, "three quarters": 45}


@dataclass(frozen=True, slots=True)
class DurationPhrase:
    """Words for a stretch of time: `value` of `unit`; None of "half a day", which nothing tells."""

    start: int
    end: int
    value: int | None
    unit: str


def find_durations(low: str) -> Iterator[DurationPhrase]:
    """The stretches of time of a text in lower case that are more than a number and a unit."""
    if not (any(mark in low for mark in _MARKS) or _SHORT_HOUR.search(low)):
        return
    for match in _PATTERN.finditer(low):
        span = match.span("one") if match["one"] else match.span()
        value, unit = _read(match)
        yield DurationPhrase(*span, value, unit)


def _read(match: re.Match[str]) -> tuple[int | None, str]:
    if match["unit"]:
        more = 30 if match["half"] else _number(match["m"] or match["h30"])
        return int(60 * _number(match["n"]) + more), "minutes"
    if match["nh"]:
        per = MINUTES.get(match["units"])
        return (int(per * (_number(match["nh"]) + 0.5)), "minutes") if per else (None, "days")
    if match["frac"]:
        words = match["frac"].removesuffix(" an").removesuffix(" of")
        return _FRACTIONS.get(words, 30), "minutes"
    if match["dec"]:
        minutes = 60 * float(match["dec"])
        return (int(minutes) if minutes == int(minutes) else None), "minutes"
    if match["part"]:
        return None, "days"
    if match["fn"]:
        return 14 * int(_number(match["fn"])), "days"
    return (14, "days") if match["single"] == "fortnight" else (1, match["single"])


def _number(word: str) -> float:
    if word in ("a", "an"):
        return 1
    return float(NUMBER_WORDS.get(word, word))
