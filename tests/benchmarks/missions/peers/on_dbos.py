"""The trip on DBOS Transact: durable functions, recv/send for approvals, saga by hand."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import provider_calls as calls
from dbos import DBOS, DBOSConfig, SetWorkflowID
from provider_calls import Refused
from spoken import hold, lines, say

STEP = {
    "retries_allowed": True,
    "interval_seconds": 0.2,
    "max_attempts": 10,
    "should_retry": lambda e: not isinstance(e, Refused),
}
DAY = 86_400


def key() -> str:
    return f"{DBOS.workflow_id}.{DBOS.step_id}"


@DBOS.step(**STEP)
async def search_flights(m: str) -> dict:
    return await calls.search_flights(m, key())


@DBOS.step(**STEP)
async def book_flight(m: str, offer: dict) -> dict:
    return await calls.book_flight(m, key(), offer)


@DBOS.step(**STEP)
async def cancel_flight(m: str) -> None:
    await calls.cancel_flight(m, key())


@DBOS.step(**STEP)
async def search_rooms(m: str) -> dict:
    return await calls.search_rooms(m, key())


@DBOS.step(**STEP)
async def book_room(m: str, offer: dict) -> dict:
    return await calls.book_room(m, key(), offer)


@DBOS.step(**STEP)
async def cancel_room(m: str) -> None:
    await calls.cancel_room(m, key())


@DBOS.step(**STEP)
async def file_expense(m: str, booked: list[dict]) -> dict:
    return await calls.file_expense(m, key(), booked)


async def ask(what: object) -> bool:
    await DBOS.set_event_async("card", what)
    return bool(await DBOS.recv_async("approval", timeout_seconds=DAY))


async def branch(m: str, search, book, sibling: str) -> dict | None:
    """What was booked, or None; a failing branch ends its sibling's wait."""
    try:
        offer = await search(m)
        return await book(m, offer) if await ask(offer) else None
    except Exception:  # whatever ends this branch for good ends the trip, which is taken back
        await DBOS.send_async(sibling, False, "approval")
        return None


@DBOS.workflow()
async def flight(m: str) -> dict | None:
    return await branch(m, search_flights, book_flight, f"{m}.hotel")


@DBOS.workflow()
async def hotel(m: str) -> dict | None:
    return await branch(m, search_rooms, book_room, f"{m}.flight")


@DBOS.workflow()
async def trip(m: str) -> str:
    with SetWorkflowID(f"{m}.flight"):
        flying = await DBOS.start_workflow_async(flight, m)
    with SetWorkflowID(f"{m}.hotel"):
        sleeping = await DBOS.start_workflow_async(hotel, m)
    booked = [await flying.get_result(), await sleeping.get_result()]
    if None not in booked:
        # A step that has failed for good is taken back below, as a refusal is, whatever it raised.
        with suppress(Exception):
            if await ask(booked):
                await file_expense(m, booked)
                return "succeeded"
    await cancel_room(m)
    await cancel_flight(m)
    return "rolled_back"


async def approve(m: str, card: str) -> None:
    workflow_id = m if card == "expense" else f"{m}.{card}"
    if not hold(m, card) and await DBOS.get_event_async(workflow_id, "card", DAY):
        await DBOS.send_async(workflow_id, True, "approval", idempotency_key=f"{workflow_id}.yes")
        say(approved=m, card=card)


async def watch(m: str, handle) -> None:
    """Approve every card, and tell the end."""
    approvals = [asyncio.create_task(approve(m, card)) for card in ("flight", "hotel", "expense")]
    say(mission=m, status=await handle.get_result())
    for task in approvals:
        task.cancel()


async def main(database: str, ready: str) -> None:
    DBOS(
        config=DBOSConfig(
            name="trips", system_database_url=database, log_level="WARNING", run_admin_server=False
        )
    )
    DBOS.launch()  # takes up what was pending
    tasks = set()
    for status in await DBOS.list_workflows_async(status=["PENDING", "ENQUEUED"], name="trip"):
        tasks.add(
            asyncio.create_task(
                watch(status.workflow_id, await DBOS.retrieve_workflow_async(status.workflow_id))
            )
        )
    Path(ready).touch()  # noqa: ASYNC240
    async for m in lines():
        with SetWorkflowID(m):
            tasks.add(asyncio.create_task(watch(m, await DBOS.start_workflow_async(trip, m))))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
