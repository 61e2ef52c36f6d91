"""Compare the days of an answer with the days of its request: pure, and replayed for ever."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from pydantic import JsonValue

from orchestrator.core.record import JsonObject

_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_ZONES: Final = timedelta(hours=26)
"""The time between the earliest and the latest zone: a moment without a zone may be in any."""


def agreed_days(
    arguments: JsonObject, found: Iterable[tuple[JsonObject, JsonObject]]
) -> JsonObject:
    """Return the days and moments that a call is about, by the names that its answer may use.

    Args:
        arguments: of the call.
        found: the objects that the call names, as answers showed them, each with the arguments of
            the request that found it. Only their moments on a requested day count: the time when
            an offer expires does not.
    """
    agreed: JsonObject = {}
    for item, asked in found:
        wanted = {moment.date() for _, moment in _moments(asked)}
        agreed |= {name: item[name] for name, moment in _moments(item) if moment.date() in wanted}
    return agreed | {name: arguments[name] for name, _ in _moments(arguments)}


def other_days(agreed: JsonObject, arguments: JsonObject, body: JsonValue) -> tuple[str, ...]:
    """Return the days that an answer contradicts, in words; nothing if they may be the same.

    `agreed` is the result of `agreed_days`; any day of the arguments was requested, by any name.
    """
    wanted = [moment for _, moment in _moments(arguments)]
    meant = dict(_moments(agreed))
    answered = body if isinstance(body, dict) else {}
    if len(answered) == 1 and isinstance(only := next(iter(answered.values())), dict):
        answered = only
    return tuple(
        f"{name} is {answered[name]}, not {agreed[name]}"
        for name, moment in _moments(answered)
        if name in meant and not any(_may_be_one(moment, other) for other in (meant[name], *wanted))
    )


def _may_be_one(one: datetime, other: datetime) -> bool:
    if one.date() == other.date():
        return True
    if one.tzinfo is None and other.tzinfo is None:
        return False
    if one.tzinfo is not None and other.tzinfo is not None:
        return one == other
    # One has a zone, and the other is a day or a time without a zone.
    return abs(one.replace(tzinfo=None) - other.replace(tzinfo=None)) < _ZONES


def _moments(holder: JsonObject) -> Iterator[tuple[str, datetime]]:
    for name, value in holder.items():
        if isinstance(value, str) and _MOMENT.fullmatch(value):
            try:
                yield name, datetime.fromisoformat(value)
            except ValueError:  # for example the 30th of February
                continue
