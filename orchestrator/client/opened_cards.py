"""Cards of one mission as they open, pushed by the server.

The mission writes its open cards into its memo. Long polls return when its history has grown, which
costs the mission nothing; the memo is read then.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Final

from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from orchestrator.client.connection import Connection, until_answered
from orchestrator.client.waits import waits_in
from orchestrator.confirmation.models import ConfirmationCard

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
        self._run: WorkflowExecutionDescription | None = None
        self._cards: tuple[ConfirmationCard, ...] = ()
        self.is_over = False
        self.since = time.monotonic()
        """When the last card came, or following began."""

    async def open_cards(self) -> tuple[ConfirmationCard, ...]:
        """Wait until the history has grown; return the cards that are then open."""
        before = self._run
        if before is not None:
            await asyncio.sleep(rest_after(time.monotonic() - self.since))
            history = self._connection.histories.of(self._mission_id, before.run_id or "")
            with self._connection.explaining(self._mission_id):
                await history.grow(before.history_length)
        self._run = mission = await self._connection.describe(self._mission_id)
        self.is_over = mission.status is not WorkflowExecutionStatus.RUNNING
        cards = (await waits_in(mission)).cards
        for card in cards:
            self._connection.note_saga(card.mission_id, self._mission_id)
        # A worker has just opened or closed one.
        if cards != self._cards and before is not None:
            self._connection.note_worker(self._mission_id)
        self._cards = cards
        return cards


def rest_after(waited_s: float) -> float:
    """Return the pause in seconds before the next poll, given the wait for the last card."""
    shortest, longest = _RESTS_S
    return min(max(shortest, _LONGER * waited_s), longest)
