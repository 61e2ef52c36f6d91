"""Days and times as people type them, by a clock that the caller gives."""

import re
from datetime import datetime
from typing import Final

from orchestrator.client.typed_answers.not_read import Unread
from orchestrator.language.slots import find_slots
from orchestrator.language.times import TimePhrase, find_time_phrases
from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("asked")
_FILLERS: Final = _LISTS.word_set("fillers")
_PARTS: Final = _LISTS.word_set("parts_of_day")
_HOUR_FIRST: Final = re.compile(r"(?:\d|[a-z]+$|[a-z]+\s+in\b)", re.IGNORECASE)
_EITHER_WAY: Final = re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b")
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


def read_time(text: str) -> str:
    """The time of day that a text names, as 24 hours: "20:00".

    Raises:
        Unread: it names none, or an hour that may be before or after noon.
    """
    said = _DOTTED.sub(r"\1:\2", _POLITE.sub("", text)).strip(" .!")
    # A number alone, in answer to "at what time", is an hour.
    said = f"at {said}" if _HOUR_FIRST.match(said) else said
    found = [phrase for phrase in find_time_phrases(said) if _says_no_more(said, phrase)]
    readings = dict.fromkeys(reading for phrase in found[:1] for reading in phrase.readings)
    if len(readings) > 1:
        raise Unread(f"{text!r} may be {' or '.join(readings)}", *readings)
    if not readings:
        raise Unread(f"{text!r} names no time of day that can be told")
    return next(iter(readings))


def _says_no_more(text: str, phrase: TimePhrase) -> bool:
    """Whether nothing stands beside a time but words that say which half of the day it is in."""
    rest = f"{text[: phrase.start]} {text[phrase.end :]}".lower()
    return all(word in _FILLERS | _PARTS for word in re.findall(r"[\w']+", rest))


def read_moment(text: str, now: datetime) -> tuple[str, str]:
    """The day and the time that a text names.

    Raises:
        Unread: one of both is missing, or can be read in two ways.
    """
    day, rest = _day_in(text, now)
    if _is_filler(rest):
        raise Unread(f"{text!r} names a day, and no time of it")
    return day, read_time(rest)


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
