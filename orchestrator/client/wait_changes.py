"""Changes that make an open page read itself again: of what waits for people, and of one mission.

Nothing is replayed, as for a feed of events. A look at what waits costs one search, whatever the
number of readers; a mission is followed by long polls.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.adapters.temporal.search_attributes import REQUESTER
from orchestrator.client.connection import Connection
from orchestrator.client.waits import WAITING_QUERY, waits_in
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core.errors import OrchestratorError
from orchestrator.messages import names

EVERY_S: Final = 0.5
"""Seconds between two looks."""
_NEXT_RUN_S: Final = 2.0
"""Seconds between two looks whether there is a new run, such as a rollback that begins."""


@dataclass(frozen=True)
class WaitChange:
    """A mission whose cards, questions or pauses opened, changed or closed."""

    mission_id: str
    requester: str
    cards: tuple[ConfirmationCard, ...] = ()
    """Its open cards, before and after: they state who may decide."""


async def wait_changes(
    connection: Connection, *, every_s: float = EVERY_S
) -> AsyncIterator[tuple[WaitChange, ...]]:
    """Yield what changed between two looks, without end; the first look yields nothing."""
    before = await _look(connection, {})
    yield ()
    while True:
        await asyncio.sleep(every_s)
        now = await _look(connection, before)
        changed = sorted(
            one for one in before.keys() | now.keys() if before.get(one) is not now.get(one)
        )
        if changed:
            changes: list[WaitChange] = []
            for run_id in changed:
                seen = [one for one in (before.get(run_id), now.get(run_id)) if one is not None]
                cards = tuple(card for one in seen for card in one.cards)
                changes.append(WaitChange(seen[-1].mission_id, seen[-1].requester, cards))
            yield tuple(changes)
        before = now


@dataclass(frozen=True)
class _Seen:
    mission_id: str
    requester: str
    memo: bytes
    cards: tuple[ConfirmationCard, ...]


async def _look(connection: Connection, before: Mapping[str, _Seen]) -> dict[str, _Seen]:
    """Return what waits by run; a run whose memo is as before is the same object."""
    found: dict[str, _Seen] = {}
    with connection.explaining():
        async for run in connection.temporal.list_workflows(WAITING_QUERY):
            memo = run.raw_info.memo.SerializeToString(deterministic=True)
            known = before.get(run.run_id)
            if known is None or known.memo != memo:
                try:
                    cards = (await waits_in(run)).cards
                except OrchestratorError:  # a key that is unavailable here
                    cards = ()
                requester = run.typed_search_attributes.get(REQUESTER) or ""
                known = _Seen(run.id, requester, memo, cards)
            found[run.run_id] = known
    return found


async def history_changes(
    connection: Connection, mission_id: str, *, since: datetime
) -> AsyncGenerator[None, None]:
    """Yield when the history of a mission or of its rollback has grown, without end.

    An event of the histories after the moment `since` counts as a change.
    """
    grown = asyncio.Event()
    tasks: set[asyncio.Future[Any]] = {
        asyncio.ensure_future(_follow(connection, workflow_id, since, grown))
        for workflow_id in (mission_id, names.rollback_workflow_id(mission_id))
    }
    try:
        while True:
            tasks.add(asyncio.ensure_future(grown.wait()))
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()  # it may have failed
            grown.clear()
            yield
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(
    connection: Connection, workflow_id: str, since: datetime, grown: asyncio.Event
) -> None:
    """Note when the history of a workflow grows, run after run."""
    read = ""
    while True:
        with connection.explaining(names.mission_of(workflow_id)):
            newest = await described(connection.temporal.get_workflow_handle(workflow_id))
            if newest is not None and newest.run_id not in (None, read):
                read = newest.run_id or ""
                history = connection.histories.of(workflow_id, read)
                events = await history.read(newest)
                if any(one.event_time.ToDatetime(tzinfo=UTC) > since for one in events):
                    grown.set()
                while not history.is_whole:
                    await history.grow(len(events))
                    if history.events is not events:
                        events = history.events
                        grown.set()
        await asyncio.sleep(_NEXT_RUN_S)
