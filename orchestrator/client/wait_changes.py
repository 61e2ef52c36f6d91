"""Changes that make an open page read itself again: of what waits for people, and of one mission.

Nothing is replayed, as for a feed of events. A look at what waits costs one search, whatever the
number of readers; a mission is followed by long polls.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from temporalio.client import WorkflowExecution, WorkflowExecutionDescription

from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.adapters.temporal.search_attributes import REQUESTER
from orchestrator.client.connection import Connection
from orchestrator.client.run_histories import RunHistory
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
    """Yield what changed between two looks, without end; the first look yields nothing.

    Raises:
        ServiceUnavailable: the server does not answer.
    """
    before = await _look(connection, {})
    yield ()
    while True:
        await asyncio.sleep(every_s)
        now = await _look(connection, before)
        changed = sorted(
            one for one in before.keys() | now.keys() if before.get(one) is not now.get(one)
        )
        if changed:
            yield tuple(_change(before.get(one), now.get(one)) for one in changed)
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
            same = known is not None and known.memo == memo
            found[run.run_id] = known if same and known else await _seen(run, memo)
    return found


async def _seen(run: WorkflowExecution, memo: bytes) -> _Seen:
    requester = run.typed_search_attributes.get(REQUESTER) or ""
    try:
        cards = (await waits_in(run)).cards
    except OrchestratorError:  # a key that is unavailable here
        cards = ()
    return _Seen(run.id, requester, memo, cards)


def _change(before: _Seen | None, now: _Seen | None) -> WaitChange:
    seen = [one for one in (before, now) if one is not None]
    cards: Iterable[ConfirmationCard] = (card for one in seen for card in one.cards)
    return WaitChange(seen[-1].mission_id, seen[-1].requester, tuple(cards))


async def history_changes(
    connection: Connection, mission_id: str, *, since: datetime
) -> AsyncGenerator[None, None]:
    """Yield when the history of a mission or of its rollback has grown, without end.

    Args:
        connection: the connection.
        mission_id: the mission.
        since: an event of the histories after this moment counts as a change.

    Raises:
        ServiceUnavailable: the server does not answer.
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
                await _follow_run(connection.histories.of(workflow_id, read), newest, since, grown)
        await asyncio.sleep(_NEXT_RUN_S)


async def _follow_run(
    history: RunHistory, run: WorkflowExecutionDescription, since: datetime, grown: asyncio.Event
) -> None:
    """Note when the history of a run grows, until it ends."""
    events = await history.read(run)
    if any(one.event_time.ToDatetime(tzinfo=UTC) > since for one in events):
        grown.set()
    while not history.is_whole:
        await history.grow(len(events))
        if history.events is not events:
            events = history.events
            grown.set()
