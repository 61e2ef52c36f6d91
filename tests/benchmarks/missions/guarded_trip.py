"""The trip as a plain workflow with a ToolSaga, and its worker: all that its author writes."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from orchestrator import MissionClient, ToolSaga
    from orchestrator.core.errors import CardUnknown
    from orchestrator.temporal import OrchestratorPlugin

PERSON = {"traveler_name": "pii:traveler_name", "traveler_email": "pii:traveler_email"}


@workflow.defn
class GuardedTrip:
    """Books a flight and a room side by side, and files the expense."""

    async def flight(self, go: str, end: str) -> Any:
        """Book the first offer."""
        to = {"origin": "Berlin", "destination": "Lisbon", "departure_date": go, "return_date": end}
        found: Any = await self.saga.call("flight_search_offers", to)
        booking = {"offer_id": found["offers"][0]["offer_id"], "traveler_id": "pii:traveler_id"}
        return await self.saga.call("flight_book_offer", booking)

    async def hotel(self, go: str, end: str) -> Any:
        """Book the first room."""
        stay = {"city": "Lisbon", "check_in": go, "check_out": end}
        found: Any = await self.saga.call("hotel_search_rooms", stay)
        room = {"room_offer_id": found["offers"][0]["room_offer_id"], **PERSON}
        return await self.saga.call("hotel_book_room", room)

    @workflow.run
    async def run(self, days: list[str]) -> str:
        """Make all calls, or leave nothing."""
        async with ToolSaga("trip", requester="ana@example.com") as self.saga:
            booked = await asyncio.gather(self.flight(*days), self.hotel(*days))
            items: list[Any] = [{"description": "Trip", **one["price"]} for one in booked]
            who = {"employee_id": "pii:employee_id"}
            await self.saga.call("expense_file_report", {**who, "items": items})
        return "succeeded"


async def trip(client: MissionClient, m: str, days: list[str]) -> str:
    """Start it, approve each card, wait for its end."""
    started = await client.temporal.start_workflow("GuardedTrip", days, id=m, task_queue="guarded")
    async for card in client.cards_of(m):
        with suppress(CardUnknown):  # it was taken, and its answer was lost
            await client.approve(card.confirmation_id, card.digest, approver="you@example.com")
    return str(await started.result())


async def main(address: str, ready: str) -> None:
    """Serve it."""
    client = await Client.connect(address, plugins=[OrchestratorPlugin()])
    async with Worker(client, task_queue="guarded", workflows=[GuardedTrip]):
        Path(ready).touch()  # noqa: ASYNC240
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
