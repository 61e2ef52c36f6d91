"""Whether what was made is of the days that were asked for: pure, and replayed for ever."""

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
"""Between the earliest and the latest place: what names no zone may be meant in any."""


def agreed_days(
    arguments: JsonObject, found: Iterable[tuple[JsonObject, JsonObject]]
) -> JsonObject:
    """The days and moments that a call is about, by the names that its answer may tell them by.

    Args:
        arguments: of the call.
        found: the things that it names, as answers held them, each with what was asked for then. Of
            such a thing counts what is on a day that was asked for: not when its offer expires.
    """
    agreed: JsonObject = {}
    for item, asked in found:
        wanted = {moment.date() for _, moment in _moments(asked)}
        agreed |= {name: item[name] for name, moment in _moments(item) if moment.date() in wanted}
    return agreed | {name: arguments[name] for name, _ in _moments(arguments)}


def other_days(agreed: JsonObject, arguments: JsonObject, body: JsonValue) -> tuple[str, ...]:
    """What an answer says otherwise, in words; nothing where it may be the same.

    Args:
        agreed: as `agreed_days` has it.
        arguments: of the call: a day that they name is one that was wanted, by whatever name.
        body: of the answer.
    """
    wanted = [moment for _, moment in _moments(arguments)]
    meant = dict(_moments(agreed))
    return tuple(
        f"{name} is {answered[name]}, not {agreed[name]}"
        for answered in [_thing(body)]
        for name, moment in _moments(answered)
        if name in meant and not any(_may_be_one(moment, other) for other in (meant[name], *wanted))
    )


def _thing(body: JsonValue) -> JsonObject:
    """What an answer tells of: itself, or the one object that it holds and nothing else."""
    if not isinstance(body, dict):
        return {}
    held = [*body.values()]
    only = held[0] if len(held) == 1 else None
    return only if isinstance(only, dict) else body


def _moments(holder: JsonObject) -> Iterator[tuple[str, datetime]]:
    for name, value in holder.items():
        if isinstance(value, str) and _MOMENT.fullmatch(value):
            try:
                yield name, datetime.fromisoformat(value)
            except ValueError:  # the 30th of February
                continue


def _may_be_one(one: datetime, other: datetime) -> bool:
    """Whether both may be on one day; moments that name their zones may be the same moment."""
    if one.date() == other.date():
        return True
    if one.tzinfo is None and other.tzinfo is None:
        return False
    if one.tzinfo is not None and other.tzinfo is not None:
        return one == other
    # A day or a clock without a zone beside a moment with one.
    apart = one.replace(tzinfo=None) - other.replace(tzinfo=None)
    return abs(apart) < _ZONES
