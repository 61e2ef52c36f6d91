"""Days and times as people type them, by a clock that the caller gives."""

import re
from datetime import datetime
from typing import Final

from orchestrator.client.typed_answers.not_read import Unread
from orchestrator.language.slots import find_slots
from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("asked")
_FILLERS: Final = _LISTS.word_set("fillers")
_MINUTES: Final = {word: int(minutes) for word, minutes in _LISTS.table("minutes").items()}
_MORNING: Final = _LISTS.word_set("morning")
_LATER: Final = _LISTS.word_set("later")
_HOURS: Final = {word: hour for hour, word in enumerate(WordLists("slots").words("counting"))}
_EITHER_WAY: Final = re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b")
_HOUR: Final = r"(?P<hour>\d{1,2}|" + "|".join(list(_HOURS)[1:13]) + r")"
_SPOKEN: Final = re.compile(
    rf"(?:(?P<part>{'|'.join(sorted(_MINUTES, key=len, reverse=True))})(?:\s+minutes)?"
    rf"\s+(?P<way>past|to)\s+)?{_HOUR}(?:\s*o'?clock)?"
    r"(?:\s*(?P<half>[ap])\.?m\.?|\s+(?:in\s+the\s+|at\s+)?(?P<named>[a-z]+))?"
)
_POLITE: Final = re.compile(r"[\s,]*\b(?:please|thanks|thank you)\W*$", re.IGNORECASE)
_DOTTED: Final = re.compile(r"\b(\d{1,2})[.h](\d{2})(?=\s*(?:[ap]\.?m|$|\s))", re.IGNORECASE)


def read_day(text: str, now: datetime) -> str:
    """The day that a text names, as ISO 8601 has it.

    Raises:
        Unread: it names none, or several, or one that can be read in two ways.
    """
    day, rest = _day_in(text, now)
    if not _is_filler(rest):
        raise Unread(f"{text!r} says more than a day")
    return day


def read_time(text: str, now: datetime) -> str:
    """The time of day that a text names, as 24 hours: "20:00".

    Raises:
        Unread: it names none, or an hour that may be before or after noon.
    """
    said = _DOTTED.sub(r"\1:\2", text)
    times = [slot for slot in find_slots(said, now=now) if slot.kind == "time"]
    if len(times) == 1:
        rest = _without(said, times[0].position, times[0].text)
        if _is_filler(rest):
            return str(times[0].value)
    return _spoken(text)


def read_moment(text: str, now: datetime) -> tuple[str, str]:
    """The day and the time that a text names.

    Raises:
        Unread: one of both is missing, or can be read in two ways.
    """
    day, rest = _day_in(text, now)
    if _is_filler(rest):
        raise Unread(f"{text!r} names a day, and no time of it")
    return day, read_time(rest, now)


def _day_in(text: str, now: datetime) -> tuple[str, str]:
    """The one day in a text, and what is left of the text."""
    for match in _EITHER_WAY.finditer(text):
        first, second = int(match[1]), int(match[2])
        if first <= 12 and second <= 12 and first != second:
            year = match[3]
            ways = f"{year}-{second:02}-{first:02}", f"{year}-{first:02}-{second:02}"
            raise Unread(f"{match[0]} may be {ways[0]} or {ways[1]}", *ways)
    text = _POLITE.sub("", text)
    days = [slot for slot in find_slots(text, now=now) if slot.kind == "date"]
    if len(days) != 1:
        raise Unread(f"{text!r} names {'several days' if days else 'no day that can be told'}")
    return str(days[0].value), _without(text, days[0].position, days[0].text)


def _without(text: str, start: int, part: str) -> str:
    return f"{text[:start]} {text[start + len(part) :]}".strip()


def _is_filler(rest: str) -> bool:
    return all(word in _FILLERS for word in re.findall(r"[\w']+", rest.lower()))


def _spoken(text: str) -> str:
    """The time of "half past seven in the evening", or of an hour that needs no half of the day."""
    words = [
        w
        for w in re.sub(r"[,!]", " ", text.lower()).split()
        if w not in _FILLERS - {"to", "in", "at", "the"}
    ]
    said = " ".join(words)
    said = re.sub(r"^(?:at|the|in)\s+", "", said)
    match = _SPOKEN.fullmatch(said.strip(" ."))
    if match is None:
        raise Unread(f"{text!r} names no time of day that can be told")
    hour = _HOURS.get(match["hour"]) or int(match["hour"]) if match["hour"] else 0
    minute = _MINUTES.get(match["part"] or "", 0)
    named = match["named"] or ""
    if hour > 23 or (named and named not in _MORNING | _LATER):
        raise Unread(f"{text!r} names no time of day that can be told")
    if match["way"] == "to":
        hour, minute = (hour - 1) % 24, 60 - minute
    return _half_of_day(text, hour, minute, half=match["half"] or "", named=named)


def _half_of_day(text: str, hour: int, minute: int, *, half: str, named: str) -> str:
    early, late = f"{hour % 12:02}:{minute:02}", f"{hour % 12 + 12:02}:{minute:02}"
    if half == "a" or named in _MORNING:
        return early
    if half == "p" or named in _LATER:
        return late
    if hour > 12:
        return f"{hour:02}:{minute:02}"
    raise Unread(f"{text!r} may be {early} or {late}", early, late)
