"""The forms in which one value is written: accents, dates in texts, times in zones, numbers."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from pydantic import JsonValue, TypeAdapter

from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject
from orchestrator.language.slots import find_slots
from orchestrator.language.words import tokens

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK: Final = re.compile(r"(?<!\d)([01]\d|2[0-3]):[0-5]\d")
_LENGTH: Final = TypeAdapter(timedelta)
_ISO_8601: Final = re.compile(
    r"P(?=.)(?:\d{1,4}W|(?:\d{1,4}D)?(?:T(?=\d)(?:\d{1,4}H)?(?:\d{1,4}M)?)?)"
)
_PROSE: Final = re.compile(r"[^\W\d_]+\W+[^\W\d_]+|[^\W\d_]")


@dataclass(frozen=True)
class NamedValue:
    """One value, by its name and those of the objects that hold it."""

    name: str
    value: JsonValue


def scalars(value: JsonValue, name: str = "") -> Iterator[NamedValue]:
    """Every scalar of a JSON value, with its name; a list's members bear that of the list."""
    if isinstance(value, dict):
        for inner, held in value.items():
            yield from scalars(held, f"{name}.{inner}" if name else inner)
    elif isinstance(value, list):
        for held in value:
            yield from scalars(held, name)
    elif value is not None and not is_handle(value):
        yield NamedValue(name, value)


@lru_cache(maxsize=1 << 12)
def folded(text: str) -> str:
    """A text without accents, its case kept: "São" is "Sao"."""
    apart = unicodedata.normalize("NFKD", text)
    return "".join(char for char in apart if not unicodedata.combining(char))


@lru_cache(maxsize=1 << 12)
def plain_words(text: str) -> frozenset[str]:
    """The words of a text, lower case and without accents."""
    return frozenset(word.casefold() for word in tokens(folded(text)))


def stands_in(code: str, text: str) -> bool:
    """Whether a text holds an id, a file name or an address whole, and not a longer one."""
    wanted = re.escape(folded(code).casefold().lstrip("#"))
    return bool(re.search(rf"(?<![\w.-]){wanted}(?![\w-]|\.\w)", folded(text).casefold()))


@dataclass(frozen=True)
class Moments:
    """The days and the times of day that a value tells."""

    days: frozenset[str]
    clocks: frozenset[str]


@lru_cache(maxsize=1 << 10)
def moments_in(text: str, now: datetime) -> Moments:
    """The days and times of a text: as written, in the requester's zone, and as people write."""
    days, clocks = set(_DAY.findall(text)), {m.group() for m in _CLOCK.finditer(text)}
    local = _in_zone(text, now)
    if local is not None:
        days.add(local.date().isoformat())
        clocks.add(local.strftime("%H:%M"))
    if _PROSE.search(text) and not _DAY.match(text):
        for slot in find_slots(text, now=now):
            if slot.kind == "date":
                days.add(str(slot.value))
            if slot.kind == "time":
                clocks.add(str(slot.value)[:5])
    return Moments(frozenset(days), frozenset(clocks))


def moment_of_text(text: str, now: datetime) -> datetime | None:
    """The moment, or the day, that a value is as a whole, in the requester's zone."""
    if not _DAY.match(text):
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read.astimezone(now.tzinfo) if read.tzinfo else read.replace(tzinfo=now.tzinfo)


def length_of_text(text: str) -> timedelta | None:
    """How long a value says that something lasts, in ISO 8601; a month is of no one length."""
    return _LENGTH.validate_python(text) if _ISO_8601.fullmatch(text) else None


def number_of(value: JsonValue) -> Decimal | None:
    """The number that a value is, or is written as."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def list_lengths(arguments: JsonObject) -> Iterator[NamedValue]:
    """How many members each list has."""
    for name, value in arguments.items():
        if isinstance(value, list):
            yield NamedValue(name, len(value))
        elif isinstance(value, dict):
            yield from list_lengths(value)


def _in_zone(text: str, now: datetime) -> datetime | None:
    if "T" not in text and " " not in text:
        return None
    read = moment_of_text(text, now)
    return read
