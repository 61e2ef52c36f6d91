"""The cards of one mission as they open: pushed by the server, and not asked for again and again.

What a mission and its legs record is followed by long polls of their histories, which cost these
histories nothing. Only where something is recorded that may have opened a card is its leg asked.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from orchestrator.client.connection import Connection, until_answered
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus, LegWaiting

_RESTS_S: Final = (0.05, 1.0)
"""At least and at most, between two long polls of a history: each thing that is recorded ends one,
and few of them open a card. What is recorded meanwhile comes at once, in one answer."""
_LONGER: Final = 0.1
"""By how much of itself a wait for a card may last longer for that: where missions are slow, for
there are many of them, the server would be busy answering polls."""
_CARD: Final = "card"
"""Of a receipt, the card that an amendment leads to."""
_NEW_RUN: Final = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW


async def opened_cards(connection: Connection, mission_id: str) -> AsyncGenerator[ConfirmationCard]:
    """Each card of a mission once, as soon as it is open; what an amendment makes of one is new.

    Ends when the mission is over. A server or a worker that is away is waited for, for minutes.
    """
    seen: set[tuple[str, str]] = set()
    async with _following(connection, mission_id) as followed:
        while await followed.has_news():
            for workflow_id in followed.news():
                card = await _card_of(connection, workflow_id)
                if card is not None and (key := (card.confirmation_id, card.digest)) not in seen:
                    seen.add(key)
                    followed.since = time.monotonic()
                    yield card


async def _card_of(connection: Connection, workflow_id: str) -> ConfirmationCard | None:
    async def ask() -> LegWaiting:
        return await connection.query(workflow_id, names.WAITING_QUERY, LegWaiting)

    return (await until_answered(ask)).card


@asynccontextmanager
async def _following(connection: Connection, mission_id: str) -> AsyncIterator["_Followed"]:
    followed = _Followed(connection, mission_id)
    try:
        yield followed
    finally:
        await followed.stop()


class _Followed:
    """The histories of a mission and its legs, and which of them may have opened a card."""

    def __init__(self, connection: Connection, mission_id: str) -> None:
        self._connection = connection
        self._news: dict[str, None] = {}
        self._changed = asyncio.Event()
        self._legs: dict[str, asyncio.Task[None]] = {}
        self.since = time.monotonic()
        """When the last card came, or following began."""
        self._mission = asyncio.create_task(self._follow(mission_id))
        self._mission.add_done_callback(lambda _: self._changed.set())

    async def has_news(self) -> bool:
        """Wait for news; false once the mission is over.

        Raises:
            OrchestratorError: the history of the mission cannot be read.
        """
        await self._changed.wait()
        if self._mission.done():
            self._mission.result()
            return False
        return True

    def news(self) -> list[str]:
        """The workflows that may have opened a card since they were last told."""
        self._changed.clear()
        changed, self._news = list(self._news), {}
        return changed

    async def stop(self) -> None:
        """Follow nothing any more."""
        tasks = [self._mission, *self._legs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, workflow_id: str) -> None:
        """Read a history to its end, whatever becomes of the connection meanwhile."""
        is_over = False
        while not is_over:
            is_over = await until_answered(lambda: self._read(workflow_id))

    async def _read(self, workflow_id: str) -> bool:
        """Read a history as it grows; whether that was its end."""
        handle = self._connection.temporal.get_workflow_handle(workflow_id)
        polls = handle.fetch_history_events(wait_new_event=True, skip_archival=True)
        last: HistoryEvent | None = None
        with self._connection.explaining(workflow_id):
            while True:
                await polls.fetch_next_page()
                for last in polls.current_page or ():
                    await self._take(workflow_id, last)
                if polls.next_page_token is None:
                    return last is not None and last.event_type != _NEW_RUN
                await asyncio.sleep(rest_after(time.monotonic() - self.since))

    async def _take(self, workflow_id: str, event: HistoryEvent) -> None:
        kind = event.WhichOneof("attributes")
        if kind == "child_workflow_execution_started_event_attributes":
            started = event.child_workflow_execution_started_event_attributes
            leg = started.workflow_execution.workflow_id
            if started.workflow_type.name == names.LEG_WORKFLOW and leg not in self._legs:
                self._legs[leg] = asyncio.create_task(self._follow(leg))
        elif _waits(event) or await self._amended(event):
            self._news[workflow_id] = None
            self._changed.set()

    async def _amended(self, event: HistoryEvent) -> bool:
        """Whether it answers a decision with another card."""
        answer = event.workflow_execution_update_completed_event_attributes.outcome.success
        if not answer.payloads:
            return False
        (told,) = await self._connection.temporal.data_converter.decode(answer.payloads)
        return isinstance(told, dict) and told.get(_CARD) is not None


def rest_after(waited_s: float) -> float:
    """How long not to poll, in seconds, for whoever has waited for a card for so long."""
    shortest, longest = _RESTS_S
    return min(max(shortest, _LONGER * waited_s), longest)


def _waits(event: HistoryEvent) -> bool:
    """Whether a wait for a decision begins with it."""
    upserted = event.upsert_workflow_search_attributes_event_attributes.search_attributes
    status = upserted.indexed_fields.get(names.STATUS_ATTRIBUTE)
    return status is not None and json.loads(status.data) == LegStatus.AWAITING_CONFIRMATION
