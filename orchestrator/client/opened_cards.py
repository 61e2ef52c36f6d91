"""Cards of one mission as they open, pushed by the server.

The mission writes its open cards into its memo. Its history records each change of the memo, and
long polls follow the history, which costs the mission nothing.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Final

from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistoryEventAsyncIterator

from orchestrator.client.connection import Connection, until_answered
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages import names
from orchestrator.messages.leg import LegWaiting
from orchestrator.messages.open_waits import waiting_of_all

_RESTS_S: Final = (0.05, 1.0)
"""Shortest and longest pause between two long polls: each event ends a poll, and few events open a
card. The next poll returns all events since the last at once."""
_LONGER: Final = 0.1
"""Pause as a share of the time waited for a card. Slow missions are polled less often, since many
of them would keep the server busy answering polls."""
_NEW_RUN: Final = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW


async def opened_cards(connection: Connection, mission_id: str) -> AsyncGenerator[ConfirmationCard]:
    """Yield each card of a mission once, as soon as it is open; an amended card is a new card.

    The generator ends when the mission is over. It waits minutes for a server that is unavailable.
    """
    following = _Following(connection, mission_id)
    seen: set[tuple[str, str]] = set()
    while not following.is_over:
        for card in await until_answered(following.open_cards):
            if (key := (card.confirmation_id, card.digest)) not in seen:
                seen.add(key)
                following.since = time.monotonic()
                yield card


class _Following:
    """Follows the history of a mission, run after run."""

    def __init__(self, connection: Connection, mission_id: str) -> None:
        self._connection = connection
        self._mission_id = mission_id
        self._polls: WorkflowHistoryEventAsyncIterator | None = None
        self._known = 0
        """Events from before following began, whose cards may be closed."""
        self._waits: dict[str, object] = {}
        self._cards: tuple[ConfirmationCard, ...] = ()
        self.is_over = False
        self.since = time.monotonic()
        """When the last card came, or following began."""

    async def open_cards(self) -> tuple[ConfirmationCard, ...]:
        """Wait for the next events; return the cards that are then open."""
        try:
            return await self._next_cards()
        except BaseException:
            self._polls = None  # the token may belong to a server that has been replaced
            raise

    async def _next_cards(self) -> tuple[ConfirmationCard, ...]:
        with self._connection.explaining(self._mission_id):
            if self._polls is None:
                self._polls = await self._begin()
            else:
                await asyncio.sleep(rest_after(time.monotonic() - self.since))
            polls, is_live = self._polls, False
            while not is_live:
                await polls.fetch_next_page()
                events = polls.current_page or ()
                await self._take(events)
                is_live = polls.next_page_token is None or _reaches(events, self._known)
        if polls.next_page_token is None:
            self._polls = None
            self.is_over = bool(events) and events[-1].event_type != _NEW_RUN
            return ()
        return self._cards

    async def _begin(self) -> WorkflowHistoryEventAsyncIterator:
        """Follow the newest run from its first event."""
        mission = await self._connection.describe(self._mission_id)
        self._known, self._cards = mission.history_length, ()
        self._waits.clear()
        handle = self._connection.temporal.get_workflow_handle(
            self._mission_id, run_id=mission.run_id
        )
        return handle.fetch_history_events(wait_new_event=True, skip_archival=True)

    async def _take(self, events: Sequence[HistoryEvent]) -> None:
        """Decode the memo changes in these events, the last change of each key."""
        written: dict[str, Payload] = {}
        for event in events:
            written |= {k: v for k, v in _memo_of(event).items() if k.startswith(names.WAITS_MEMO)}
        if not written:
            return
        converter = self._connection.temporal.data_converter
        kinds: list[type] = [LegWaiting] * len(written)
        decoded = await converter.decode(list(written.values()), kinds)
        self._waits |= dict(zip(written, decoded, strict=True))
        waits = [one for one in self._waits.values() if isinstance(one, LegWaiting)]
        self._cards = waiting_of_all(waits).cards
        for card in self._cards:
            self._connection.note_saga(card.mission_id, self._mission_id)
        if _reaches(events, self._known + 1):
            self._connection.note_worker(self._mission_id)


def _memo_of(event: HistoryEvent) -> dict[str, Payload]:
    """Return the memo fields that an event writes."""
    begun = event.workflow_execution_started_event_attributes.memo
    changed = event.workflow_properties_modified_event_attributes.upserted_memo
    return {**begun.fields, **changed.fields}


def _reaches(events: Sequence[HistoryEvent], number: int) -> bool:
    return bool(events) and events[-1].event_id >= number


def rest_after(waited_s: float) -> float:
    """Return the pause in seconds before the next poll, given the wait for the last card."""
    shortest, longest = _RESTS_S
    return min(max(shortest, _LONGER * waited_s), longest)
