"""The trip by hand on bare temporalio."""

import asyncio
import sys
from collections.abc import Awaitable
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import provider_calls as calls

QUEUE = "trips"
RETRY = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    maximum_interval=timedelta(seconds=2),
    maximum_attempts=10,
    non_retryable_error_types=["Refused"],
)


def key() -> str:
    info = activity.info()
    return f"{info.workflow_id}.{info.activity_id}"


@activity.defn
async def search_flights(m: str) -> dict:
    return await calls.search_flights(m, key())


@activity.defn
async def book_flight(m: str, offer: dict) -> dict:
    return await calls.book_flight(m, key(), offer)


@activity.defn
async def cancel_flight(m: str) -> None:
    await calls.cancel_flight(m, key())


@activity.defn
async def search_rooms(m: str) -> dict:
    return await calls.search_rooms(m, key())


@activity.defn
async def book_room(m: str, offer: dict) -> dict:
    return await calls.book_room(m, key(), offer)


@activity.defn
async def cancel_room(m: str) -> None:
    await calls.cancel_room(m, key())


@activity.defn
async def file_expense(m: str, booked: list[dict]) -> dict:
    return await calls.file_expense(m, key(), booked)


class Abandoned(Exception):
    """Another branch failed while this one waited for a person."""


async def do(name, *args):
    return await workflow.execute_activity(
        name, args=args, start_to_close_timeout=timedelta(seconds=5), retry_policy=RETRY
    )


@workflow.defn
class Trip:
    def __init__(self) -> None:
        self.cards: dict[str, dict] = {}
        self.approved: set[str] = set()
        self.failed = False
        self.undo: list = []

    @workflow.signal
    def approve(self, card: str) -> None:
        self.approved.add(card)

    @workflow.query
    def pending(self) -> dict[str, dict]:
        return (
            {} if self.failed else {c: w for c, w in self.cards.items() if c not in self.approved}
        )

    async def ask(self, card: str, what: dict) -> None:
        self.cards[card] = what
        await workflow.wait_condition(lambda: card in self.approved or self.failed)
        if self.failed:
            raise Abandoned

    async def flight(self, m: str) -> dict:
        offer = await do(search_flights, m)
        await self.ask("flight", offer)
        self.undo.append(cancel_flight)
        return await do(book_flight, m, offer)

    async def hotel(self, m: str) -> dict:
        offer = await do(search_rooms, m)
        await self.ask("hotel", offer)
        self.undo.append(cancel_room)
        return await do(book_room, m, offer)

    async def branch(self, work: Awaitable[dict]) -> dict | None:
        try:
            return await work
        except (ActivityError, Abandoned):
            self.failed = True
            return None

    @workflow.run
    async def run(self, m: str) -> str:
        booked = await asyncio.gather(self.branch(self.flight(m)), self.branch(self.hotel(m)))
        if not self.failed:
            try:
                await self.ask("expense", {"booked": booked})
                await do(file_expense, m, booked)
                return "succeeded"
            except ActivityError:
                self.failed = True
        for undo in reversed(self.undo):
            await do(undo, m)
        return "rolled_back"


async def trip(client: Client, m: str, may, poll_s: float) -> str:
    """What the caller's side needs: start, approve every card, wait."""
    handle = await client.start_workflow(Trip.run, m, id=m, task_queue=QUEUE)
    result = asyncio.create_task(handle.result())
    while not result.done():
        try:
            for card in await handle.query(Trip.pending, rpc_timeout=timedelta(seconds=3)):
                if may(m, card):
                    await handle.signal(Trip.approve, card)
        except Exception:  # no worker just now
            pass
        await asyncio.wait([result], timeout=poll_s)
    return result.result()


async def main(address: str, ready: str) -> None:
    client = await Client.connect(address)
    activities = [
        search_flights,
        book_flight,
        cancel_flight,
        search_rooms,
        book_room,
        cancel_room,
        file_expense,
    ]
    async with Worker(client, task_queue=QUEUE, workflows=[Trip], activities=activities):
        Path(ready).touch()  # noqa: ASYNC240
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
