"""Cursors: places in the histories of a mission's workflows, as text that nobody has to read.

A cursor names for each workflow its run, the event of its history that started the task, and how
many of the events of that task were told. It is made of ids alone.
"""

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from orchestrator.core.errors import UsageError

_RELEASE: Final = "1"
_FIELDS: Final = 4
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class HistoryPlace(NamedTuple):
    """After so many events of the task that this event of a run's history started."""

    run_id: str
    task: int
    told: int


@dataclass(frozen=True)
class Cursor:
    """A place for each workflow, or of a feed for each run, by its id.

    Of a feed: everything of before `since` was told; what had ended at `begun` is not looked at.
    """

    places: Mapping[str, HistoryPlace] = field(default_factory=dict)
    since: datetime | None = None
    begun: datetime | None = None

    def at(self, workflow_id: str, place: HistoryPlace) -> "Cursor":
        """With a later place in one workflow."""
        return replace(self, places={**self.places, workflow_id: place})

    def __str__(self) -> str:
        """As text of letters, digits, `-` and `_`."""
        lines = [_RELEASE, _written(self.since), _written(self.begun)]
        lines += [" ".join((i, *map(str, self.places[i]))) for i in sorted(self.places)]
        packed = zlib.compress("\n".join(lines).encode(), 9)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def read_cursor(text: str) -> Cursor:
    """The cursor that was written so.

    Raises:
        UsageError: it is none.
    """
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        release, since, begun, *lines = zlib.decompress(packed).decode().split("\n")
        if release != _RELEASE:
            raise ValueError(release)
        return Cursor(dict(_place(line) for line in lines), _moment(since), _moment(begun))
    except (ValueError, binascii.Error, zlib.error, OverflowError, OSError):
        raise UsageError(
            f"{text[:60]!r} is no cursor: give the `cursor` of an event, or none to begin anew"
        ) from None


def _place(line: str) -> tuple[str, HistoryPlace]:
    parts = line.rsplit(" ", _FIELDS - 1)
    if len(parts) != _FIELDS:
        raise ValueError(line)
    workflow_id, run_id, task, told = parts
    return workflow_id, HistoryPlace(run_id, int(task), int(told))


def _written(moment: datetime | None) -> str:
    return "" if moment is None else str((moment - _EPOCH) // _MICROSECOND)


def _moment(micros: str) -> datetime | None:
    return _EPOCH + int(micros) * _MICROSECOND if micros else None
