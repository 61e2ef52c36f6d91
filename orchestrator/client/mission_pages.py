"""Lists of missions in pages that cursors continue.

The order is the server's: running missions first, then those that ended last. A cursor holds the
server's own token of the next page, so that a page costs the same wherever it lies.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
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
_SOURCES: Final = 2
"""Searches of a list: of missions that their rollbacks give the status, then of those that have it
themselves, or had it before their rollback."""
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


async def mission_page(
    connection: Connection, wanted: MissionFilter, *, limit: int, cursor: str | None = None
) -> MissionPage:
    """Return a page of missions. See `MissionClient.mission_page`."""
    check_status(wanted.status)
    searches = searches_for(wanted.status)
    source, token = _read_place(cursor) if cursor else (0, b"")
    found: list[MissionSummary] = []
    scanned = 0
    while source < _SOURCES and len(found) < limit and scanned < _SCANNED:
        if not (searches.of_missions if source else searches.of_rollbacks):
            source, token = source + 1, b""
            continue
        own = searches.of_missions + wanted.conditions
        # At most what still has room, as the server's token lies behind all that it returns.
        pages = connection.temporal.list_workflows(
            own if source else searches.of_rollbacks,
            page_size=min(limit - len(found), _PAGE),
            next_page_token=token or None,
        )
        with connection.explaining():
            await pages.fetch_next_page()
        page: Sequence[WorkflowExecution] = pages.current_page or ()
        missions = page
        if source == 0:
            ids = list(dict.fromkeys(names.mission_of(one.id) for one in page))
            missions = await missions_named(connection, ids, also=wanted.conditions)
            scanned += len(page)
        elif searches.of_rollbacks:
            rollbacks = (await family_of(connection, page)).rollbacks
            missions = [one for one in page if not _is_listed(rollbacks.get(one.id), wanted)]
            scanned += len(page)
        lines = await summaries(connection, missions)
        scanned += len(lines)
        found += filter(wanted.fits, lines)
        token = pages.next_page_token or b""
        source += not token
    if source == _SOURCES:
        return MissionPage(missions=tuple(found))
    packed = json.dumps([source, base64.b64encode(token).decode()], separators=(",", ":"))
    place = base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")
    return MissionPage(missions=tuple(found), next=place)


def _read_place(cursor: str) -> tuple[int, bytes]:
    """Return where a page begins: in which search, and at which token of the server."""
    try:
        packed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        source, token = json.loads(packed)
        if source not in range(_SOURCES):
            raise ValueError(source)
        return source, base64.b64decode(token, validate=True)
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise UsageError(
            f"{cursor[:60]!r} is no cursor of this list: give `next` of the page before, or none"
        ) from None


def _is_listed(rollback: WorkflowExecution | None, wanted: MissionFilter) -> bool:
    """Return True if the search of rollbacks has found this one."""
    if rollback is None:
        return False
    if wanted.status == MissionStatus.ROLLED_BACK:
        return rollback.status is WorkflowExecutionStatus.COMPLETED
    is_parked = rollback.typed_search_attributes.get(STATUS) == RollbackStatus.PARKED
    return rollback.status is WorkflowExecutionStatus.RUNNING and not is_parked
