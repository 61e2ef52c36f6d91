"""Cards of one mission as they open, pushed by the server.

The mission writes its open cards into its memo. Long polls return when its history has grown, which
costs the mission nothing; the new events show how the memo changed.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Final

from temporalio.client import WorkflowExecutionStatus

from orchestrator.adapters.temporal.raw_history import decoded
from orchestrator.client.connection import Connection, until_answered
from orchestrator.client.waits import memo_waits
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
    """Follows a mission, run after run."""

    def __init__(self, connection: Connection, mission_id: str) -> None:
        self._connection = connection
        self._mission_id = mission_id
        self._run_id = ""
        self._seen = 0
        """The number of the run's events whose changes of the memo are known."""
        self._waits: dict[str, LegWaiting] = {}
        self._cards: tuple[ConfirmationCard, ...] = ()
        self.is_over = False
        self.since = time.monotonic()
        """When the last card came, or following began."""

    async def open_cards(self) -> tuple[ConfirmationCard, ...]:
        """Wait until the history has grown; return the cards that are then open."""
        is_first = not self._run_id
        if is_first or not await self._has_grown():
            mission = await self._connection.describe(self._mission_id)
            self._run_id, self._seen = mission.run_id or "", mission.history_length
            self.is_over = mission.status is not WorkflowExecutionStatus.RUNNING
            self._waits = await memo_waits(mission)
        cards = waiting_of_all(self._waits.values()).cards
        for card in cards:
            self._connection.note_saga(card.mission_id, self._mission_id)
        # A worker has just opened or closed one.
        if cards != self._cards and not is_first:
            self._connection.note_worker(self._mission_id)
        self._cards = cards
        return cards

    async def _has_grown(self) -> bool:
        """Wait for events, and read their changes of the memo: a description costs 3 ms of CPU.

        Returns:
            False if only a description shows the waits: the run is over, or nothing came.
        """
        await asyncio.sleep(rest_after(time.monotonic() - self.since))
        history = self._connection.histories.of(self._mission_id, self._run_id)
        with self._connection.explaining(self._mission_id):
            await history.grow(self._seen)
        grown = history.events[self._seen :]
        if history.is_whole or not grown:
            return False
        for event in grown:
            changed = event.workflow_properties_modified_event_attributes.upserted_memo.fields
            for key in filter(lambda one: one.startswith(names.WAITS_MEMO), changed):
                self._waits.pop(key, None)
                waits = await decoded(self._connection.temporal, [changed[key]], LegWaiting)
                if waits is not None:
                    self._waits[key] = waits
        self._seen += len(grown)
        return True


def rest_after(waited_s: float) -> float:
    """Return the pause in seconds before the next poll, given the wait for the last card."""
    shortest, longest = _RESTS_S
    return min(max(shortest, _LONGER * waited_s), longest)
