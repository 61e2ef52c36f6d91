"""Values as a person says them: days in words, money with its currency, numbers with their unit."""

import math
import re
from datetime import date, datetime
from typing import Final, Literal

from babel.numbers import format_decimal
from pydantic import JsonValue

from orchestrator.catalog.stated_prices import money_of
from orchestrator.core.record import JsonObject
from orchestrator.language.units import measured

Sort = Literal["money", "number", "date", "time", "moment", "flag", "text", "list"]
LONGEST: Final = 60
_LARGEST: Final = 1e15
"""Beyond it a number is told as a machine writes it: nobody reads so many digits."""
_CLOCK: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:\d{2}(\.\d+)?)?")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")
_LENGTH: Final = re.compile(
    r"P(?:(?P<year>\d+)Y)?(?:(?P<month>\d+)M)?(?:(?P<week>\d+)W)?(?:(?P<day>\d+)D)?"
    r"(?:T(?:(?P<hour>\d+)H)?(?:(?P<minute>\d+)M)?(?:(?P<second>\d+)S)?)?"
)
_SPACES: Final = re.compile(r"\s+")


def sort_of(value: JsonValue, holder: JsonObject) -> Sort | None:
    """What sort of value it is; None for what nobody tells: nothing, and objects of several."""
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return _sort_of_text(value.strip())
    if isinstance(value, dict):
        return "money" if money_of(value, holder) is not None else None
    if isinstance(value, list):
        scalars = all(isinstance(member, str | int | float) for member in value)
        return "list" if scalars and value else None
    return None


def _sort_of_text(text: str) -> Sort | None:
    if not text:
        return None
    if _DAY.fullmatch(text) and _date(text) is not None:
        return "date"
    if _CLOCK.fullmatch(text):
        return "time"
    return "moment" if _MOMENT.match(text) and _moment(text) is not None else "text"


def said_text(text: str) -> str:
    """Text of a provider on one line, and short enough for a cell."""
    flat = _SPACES.sub(" ", text).strip()
    return flat if len(flat) <= LONGEST else f"{flat[: LONGEST - 1].rstrip()}…"


def said_number(number: float, unit: str = "") -> str:
    """A number as people write it, with its unit: "10", "1,200.5", "19.2 km/h"."""
    if not math.isfinite(number) or abs(number) >= _LARGEST:
        return f"{number:g}" if isinstance(number, float) else str(number)[:LONGEST]
    if unit:
        return measured(number, unit)
    return str(format_decimal(number, locale="en"))


def said_day(text: str, now: datetime) -> str:
    """A day in words, with its year where that is not this one: "2 December"."""
    day = _date(text)
    if day is None:
        return said_text(text)
    year = f" {day.year}" if day.year != now.year else ""
    return f"{day.day} {day:%B}{year}"


def said_days(first: str, last: str, now: datetime) -> str:
    """Two days as a stretch: "3 to 6 December"."""
    one, two = _date(first), _date(last)
    if one is None or two is None or one == two:
        return said_day(first, now)
    if (one.year, one.month) == (two.year, two.month):
        return f"{one.day} to {said_day(last, now)}"
    return f"{said_day(first, now)} to {said_day(last, now)}"


def said_moment(text: str, now: datetime) -> str:
    """A moment in words: "24 November 18:00 UTC"."""
    moment = _moment(text)
    if moment is None:
        return said_text(text)
    zone = f" {moment:%Z}" if moment.tzinfo is not None else ""
    return f"{said_day(moment.date().isoformat(), now)} {moment:%H:%M}{zone}"


def said_time(text: str) -> str:
    """A time of day without its seconds."""
    return text.strip()[:5]


def said_length(text: str) -> str:
    """How long something lasts, in words: "2 hours 20 minutes" of PT2H20M."""
    found = _LENGTH.fullmatch(text.strip())
    parts = found.groupdict().items() if found else ()
    told = [measured(int(n), f"duration-{unit}") for unit, n in parts if n]
    return " ".join(told) or said_text(text)


def said_words(value: str) -> str:
    """A value that a machine named, in words: `on_the_way` is "on the way"."""
    return value.replace("_", " ") if re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)+", value) else value


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None
