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
    run_id, known = "", 0  # the number of the run's events whose changes of the memo are known
    waits: dict[str, LegWaiting] = {}
    before: tuple[ConfirmationCard, ...] = ()
    is_over, since = False, time.monotonic()  # when the last card came, or following began

    async def has_grown() -> bool:
        """Read changes of the memo; return False if only a description shows the waits."""
        nonlocal known
        await asyncio.sleep(rest_after(time.monotonic() - since))
        history = connection.histories.of(mission_id, run_id)
        with connection.explaining(mission_id):
            await history.grow(known)
        grown = history.events[known:]
        if history.is_whole or not grown:  # the run is over, or nothing came
            return False
        for event in grown:
            changed = event.workflow_properties_modified_event_attributes.upserted_memo.fields
            for key in filter(lambda one: one.startswith(names.WAITS_MEMO), changed):
                waits.pop(key, None)
                written = await decoded(connection.temporal, [changed[key]], LegWaiting)
                if written is not None:
                    waits[key] = written
        known += len(grown)
        return True

    async def open_cards() -> tuple[ConfirmationCard, ...]:
        """Wait until the history has grown: a description costs 3 ms of CPU."""
        nonlocal run_id, known, waits, before, is_over
        is_first = not run_id
        if is_first or not await has_grown():
            mission = await connection.describe(mission_id)
            run_id, known = mission.run_id or "", mission.history_length
            is_over = mission.status is not WorkflowExecutionStatus.RUNNING
            waits = await memo_waits(mission)
        cards = waiting_of_all(waits.values()).cards
        for card in cards:
            connection.note_saga(card.mission_id, mission_id)
        # A worker has just opened or closed one.
        if cards != before and not is_first:
            connection.note_worker(mission_id)
        before = cards
        return cards

    seen: set[tuple[str, str]] = set()
    while not is_over:
        for card in await until_answered(open_cards):
            if (key := (card.confirmation_id, card.digest)) not in seen:
                seen.add(key)
                since = time.monotonic()
                yield card


def rest_after(waited_s: float) -> float:
    """Return the pause in seconds before the next poll, given the wait for the last card."""
    shortest, longest = _RESTS_S
    return min(max(shortest, _LONGER * waited_s), longest)
