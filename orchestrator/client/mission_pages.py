"""Lists of missions in pages that cursors continue.

The order is the server's: running missions first, then those that ended last. A cursor holds the
server's own token of the next page, so that a page costs the same wherever it lies.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import Field
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.temporal.search_attributes import STATUS, quoted
from orchestrator.client.connection import Connection
from orchestrator.client.mission_list import (
    MissionSummary,
    check_status,
    family_of,
    missions_named,
    searches_for,
    summaries,
)
from orchestrator.core.errors import UsageError
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.open_waits import WaitKind
from orchestrator.messages.rollback import RollbackStatus

_SCANNED: Final = 1_000
"""Missions that are read for one page at most, where their texts are searched."""
_PAGE: Final = 200
_ANY_WAIT: Final = (
    WaitKind.CONFIRMATION,
    WaitKind.ANSWER,
    WaitKind.HOLD,
    WaitKind.MODEL,
    WaitKind.STORE,
)


@dataclass(frozen=True)
class MissionFilter:
    """Which missions a list has; what is empty or None does not matter."""

    status: str | None = None
    requester: str | None = None
    text: str = ""
    """In the goal or the id, in any case."""
    waiting: WaitKind | bool | None = None
    """What they wait for; True: for anything."""

    @property
    def conditions(self) -> str:
        """The conditions that the server can check, each with ` AND ` before it."""
        parts = []
        if self.requester is not None:
            parts.append(f"{names.REQUESTER_ATTRIBUTE} = {quoted(self.requester)}")
        if self.waiting:
            kinds = _ANY_WAIT if self.waiting is True else (self.waiting,)
            listed = ", ".join(quoted(kind) for kind in kinds)
            parts.append("ExecutionStatus = 'Running'")
            parts.append(f"{names.WAITING_FOR_ATTRIBUTE} IN ({listed})")
        return "".join(f" AND {part}" for part in parts)

    def fits(self, one: MissionSummary) -> bool:
        """Return True for a mission with this status and text."""
        text = self.text.casefold()
        return self.status in (None, one.status) and (
            not text or text in one.goal.casefold() or text in one.mission_id.casefold()
        )


class MissionPage(Record):
    """Some missions of a list."""

    missions: tuple[MissionSummary, ...] = ()
    next: str | None = Field(
        default=None,
        description="the cursor of the next page, which may be empty; None: this is the last",
    )


@dataclass(frozen=True)
class _Place:
    """Where the next page begins: in a search, at the server's token."""

    source: int = 0
    token: bytes = b""

    def __str__(self) -> str:
        token = base64.b64encode(self.token).decode()
        packed = json.dumps([self.source, token], separators=(",", ":"))
        return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")


def _read_place(cursor: str) -> _Place:
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        source, token = json.loads(packed)
        if source not in range(len(_SOURCES)):
            raise ValueError(source)
        return _Place(source, base64.b64decode(token, validate=True))
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise UsageError(
            f"{cursor[:60]!r} is no cursor of this list: give `next` of the page before, or none"
        ) from None


async def mission_page(
    connection: Connection,
    wanted: MissionFilter,
    *,
    limit: int,
    cursor: str | None = None,
) -> MissionPage:
    """Return a page of missions. See `MissionClient.mission_page`."""
    check_status(wanted.status)
    reading = _Reading(connection, wanted, limit)
    place: _Place | None = _read_place(cursor) if cursor else _Place()
    while place is not None and reading.goes_on:
        place = await _SOURCES[place.source](reading, place)
    return MissionPage(missions=tuple(reading.found), next=None if place is None else str(place))


@dataclass
class _Reading:
    """A page that is being read."""

    connection: Connection
    wanted: MissionFilter
    limit: int
    found: list[MissionSummary] = field(default_factory=list)
    scanned: int = 0

    @property
    def goes_on(self) -> bool:
        """True while the page has room and has not read too much for it."""
        return len(self.found) < self.limit and self.scanned < _SCANNED

    def take(self, lines: Sequence[MissionSummary]) -> None:
        self.scanned += len(lines)
        self.found += filter(self.wanted.fits, lines)

    async def page(
        self, query: str, place: _Place
    ) -> tuple[Sequence[WorkflowExecution], _Place | None]:
        """Return a page of the server, and the place after it."""
        # At most what still has room, as the server's token lies behind all that it returns.
        size = min(self.limit - len(self.found), _PAGE)
        pages = self.connection.temporal.list_workflows(
            query, page_size=size, next_page_token=place.token or None
        )
        with self.connection.explaining():
            await pages.fetch_next_page()
        token = pages.next_page_token
        after = replace(place, token=token) if token else _after_search(place)
        return pages.current_page or (), after


def _after_search(place: _Place) -> _Place | None:
    """Return the first page of the search after this one; None: it was the last."""
    following = place.source + 1
    return _Place(following) if following < len(_SOURCES) else None


async def _by_rollbacks(reading: _Reading, place: _Place) -> _Place | None:
    """Read the missions that their rollbacks give the status."""
    query = searches_for(reading.wanted.status).of_rollbacks
    if not query:
        return _after_search(place)
    rollbacks, after = await reading.page(query, place)
    ids = list(dict.fromkeys(names.mission_of(one.id) for one in rollbacks))
    reading.scanned += len(rollbacks)
    also = reading.wanted.conditions
    missions = await missions_named(reading.connection, ids, also=also)
    reading.take(await summaries(reading.connection, missions))
    return after


async def _by_missions(reading: _Reading, place: _Place) -> _Place | None:
    """Read the missions that have the status themselves, or had it before their rollback."""
    searches = searches_for(reading.wanted.status)
    if not searches.of_missions:
        return _after_search(place)
    missions, after = await reading.page(searches.of_missions + reading.wanted.conditions, place)
    if searches.of_rollbacks:
        family = await family_of(reading.connection, missions)
        reading.scanned += len(missions)
        status = reading.wanted.status
        missions = [one for one in missions if not _is_listed(family.rollbacks.get(one.id), status)]
    reading.take(await summaries(reading.connection, missions))
    return after


def _is_listed(rollback: WorkflowExecution | None, status: str | None) -> bool:
    """Return True if the search of rollbacks has found this one."""
    if rollback is None:
        return False
    if status == MissionStatus.ROLLED_BACK:
        return rollback.status is WorkflowExecutionStatus.COMPLETED
    is_parked = rollback.typed_search_attributes.get(STATUS) == RollbackStatus.PARKED
    return rollback.status is WorkflowExecutionStatus.RUNNING and not is_parked


_SOURCES: Final = (_by_rollbacks, _by_missions)
