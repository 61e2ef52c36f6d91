"""Stretches of time that a text filters by: "in March", "next week", "before 1 December"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import chain
from typing import Final

from orchestrator.language.intent import Slot
from orchestrator.language.slots import find_slots
from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("dates")
_MONTHS: Final = [line.split() for line in _LISTS.lines("months")]
_MONTH = "|".join(chain(*_MONTHS))
_NAMED: Final = re.compile(
    rf"\b(?:in|of|for|from|during|throughout)\s+(?:the\s+month\s+of\s+)?(?P<month>{_MONTH})\b\.?"
    rf"(?:,?\s+(?P<year>\d{{4}}))?(?!\s*\d)"
    r"|\b(?P<which>this|next|last)\s+(?P<unit>week|month|year)\b"
    r"|\bin\s+(?P<only>20\d{2})\b",
    re.IGNORECASE,
)
_SURNAME: Final = re.compile(r"\s+[A-Z][a-z]+")
"""What makes a person of a month: "for Jan Kowalski"."""
_WHICH: Final = re.compile(
    r"\b(?:(?P<next>next|coming|following)|last|past|previous)\s+$", re.IGNORECASE
)
_DAYS_IN: Final = {"day": 1, "days": 1, "week": 7, "weeks": 7}
_MOST_DAYS: Final = 3660
_BEFORE: Final = frozenset({"before", "until", "till", "by"})
_AFTER: Final = frozenset({"after", "since", "from"})
_FIRST: Final = date(1, 1, 1)
_LAST: Final = date(9999, 12, 31)


@dataclass(frozen=True)
class Period:
    """Days from the first to the last, both in it, and the words that say so."""

    first: date
    last: date
    said: str

    def holds(self, day: str) -> bool:
        """Whether a day in ISO 8601 lies in it."""
        return self.first.isoformat() <= day[:10] <= self.last.isoformat()


def period_in(text: str, *, now: datetime) -> Period | None:
    """The stretch of time, or the day, that a text speaks of; None when it speaks of none."""
    match = _NAMED.search(text)
    if match is not None and not (match["month"] and _SURNAME.match(text, match.end())):
        return _named(match, now.date())
    found = find_slots(text, now=now)
    if (counted := _counted(text, found, now.date())) is not None:
        return counted
    slots = [slot for slot in found if slot.kind == "date"]
    return _bounded(slots) if slots else None


def _named(match: re.Match[str], today: date) -> Period:
    said = match.group()
    if match["only"]:
        return Period(date(int(match["only"]), 1, 1), date(int(match["only"]), 12, 31), said)
    if match["unit"]:
        first, last = _unit(match["unit"].lower(), today)
        step = {"this": 0, "next": 1, "last": -1}[match["which"].lower()]
        while step:
            edge = last + timedelta(days=1) if step > 0 else first - timedelta(days=1)
            first, last = _unit(match["unit"].lower(), edge)
            step -= 1 if step > 0 else -1
        return Period(first, last, said)
    month = next(n for n, names in enumerate(_MONTHS, 1) if match["month"].lower() in names)
    year = int(match["year"]) if match["year"] else today.year + (month < today.month)
    return Period(*_unit("month", date(year, month, 1)), said)


def _counted(text: str, slots: Sequence[Slot], today: date) -> Period | None:
    """So many days or weeks from today on, or up to today: "in the next ten days"."""
    for slot in slots:
        days = _DAYS_IN.get(slot.hint, 0) * slot.value if isinstance(slot.value, int) else 0
        before = _WHICH.search(text[: slot.position])
        if before is None or not 0 < days < _MOST_DAYS:
            continue
        end = today + timedelta(days=days if before["next"] else -days)
        return Period(min(today, end), max(today, end), f"{before.group().strip()} {slot.text}")
    return None


def _unit(unit: str, day: date) -> tuple[date, date]:
    """The first and the last day of the week, month or year that a day is in."""
    if unit == "week":
        first = day - timedelta(days=day.weekday())
        return first, first + timedelta(days=6)
    if unit == "year":
        return date(day.year, 1, 1), date(day.year, 12, 31)
    first = day.replace(day=1)
    after = (first + timedelta(days=31)).replace(day=1)
    return first, after - timedelta(days=1)


def _bounded(slots: list[Slot]) -> Period:
    days = [date.fromisoformat(str(slot.value)) for slot in slots[:2]]
    said = " and ".join(slot.text for slot in slots[:2])
    if len(days) == 2:
        return Period(min(days), max(days), said)
    hint = slots[0].hint
    if hint in _BEFORE:
        return Period(_FIRST, days[0] - timedelta(days=hint == "before"), said)
    if hint in _AFTER:
        return Period(days[0] + timedelta(days=hint == "after"), _LAST, said)
    return Period(days[0], days[0], said)
