"""The trip as a LangGraph graph with PostgresSaver, interrupts for approvals, cancel by hand."""

import asyncio
import operator
import sys
from pathlib import Path
from typing import Annotated, TypedDict

import provider_calls as calls
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt
from provider_calls import Refused
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from spoken import hold, lines, say

RETRY = RetryPolicy(
    initial_interval=0.2,
    max_interval=2,
    max_attempts=10,
    retry_on=lambda e: not isinstance(e, Refused),
)


class Trip(TypedDict, total=False):
    m: str
    flight_offer: dict
    room_offer: dict
    flight: dict
    room: dict
    failed: Annotated[list[str], operator.add]


async def search_flights(s: Trip) -> Trip:
    return {"flight_offer": await calls.search_flights(s["m"], "")}


async def search_rooms(s: Trip) -> Trip:
    return {"room_offer": await calls.search_rooms(s["m"], "")}


async def book_flight(s: Trip) -> Trip:
    interrupt({"card": "flight", "what": s["flight_offer"]})
    try:
        return {
            "flight": await calls.book_flight(s["m"], f"{s['m']}.book_flight", s["flight_offer"])
        }
    except Refused as refused:
        return {"failed": [str(refused)]}


async def book_room(s: Trip) -> Trip:
    interrupt({"card": "hotel", "what": s["room_offer"]})
    try:
        return {"room": await calls.book_room(s["m"], f"{s['m']}.book_room", s["room_offer"])}
    except Refused as refused:
        return {"failed": [str(refused)]}


async def settle(s: Trip) -> Trip:
    return {}


async def file_expense(s: Trip) -> Trip:
    interrupt({"card": "expense", "what": [s["flight"], s["room"]]})
    try:
        await calls.file_expense(s["m"], f"{s['m']}.file_expense", [s["flight"], s["room"]])
        return {}
    except Refused as refused:
        return {"failed": [str(refused)]}


async def cancel(s: Trip) -> Trip:
    await calls.cancel_room(s["m"], f"{s['m']}.cancel_room")
    await calls.cancel_flight(s["m"], f"{s['m']}.cancel_flight")
    return {}


def graph_of(saver: AsyncPostgresSaver):
    graph = StateGraph(Trip)
    for node in (
        search_flights,
        search_rooms,
        book_flight,
        book_room,
        settle,
        file_expense,
        cancel,
    ):
        graph.add_node(node.__name__, node, retry_policy=RETRY)
    graph.add_edge(START, "search_flights")
    graph.add_edge(START, "search_rooms")
    graph.add_edge("search_flights", "book_flight")
    graph.add_edge("search_rooms", "book_room")
    graph.add_edge(["book_flight", "book_room"], "settle")
    graph.add_conditional_edges(
        "settle",
        lambda s: "cancel" if s.get("failed") else "file_expense",
        ["cancel", "file_expense"],
    )
    graph.add_conditional_edges(
        "file_expense", lambda s: "cancel" if s.get("failed") else END, ["cancel", END]
    )
    graph.add_edge("cancel", END)
    return graph.compile(checkpointer=saver)


async def run(graph, pool: AsyncConnectionPool, m: str) -> None:
    """To its end, from wherever its checkpoints stand; every interrupt approved."""
    config = {"configurable": {"thread_id": m}}
    given: object = None if (await graph.aget_state(config)).values else {"m": m}
    while True:
        state = await graph.ainvoke(given, config, durability="sync")
        cards = state.get("__interrupt__", [])
        if not cards:
            break
        approved = [card for card in cards if not hold(m, card.value["card"])]
        if not approved:
            return  # somebody has to come back to it
        for card in approved:
            say(approved=m, card=card.value["card"])
        given = Command(resume={card.id: True for card in approved})
    await pool.connection_execute("UPDATE missions SET done = true WHERE id = %s", m)
    say(mission=m, status="rolled_back" if state.get("failed") else "succeeded")


class Pool(AsyncConnectionPool):
    async def connection_execute(self, sql: str, *values: object) -> list:
        async with self.connection() as connection:
            cursor = await connection.execute(sql, values)
            return await cursor.fetchall() if cursor.description else []


async def main(database: str, ready: str) -> None:
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with Pool(database, min_size=2, max_size=20, kwargs=options) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        await pool.connection_execute(
            "CREATE TABLE IF NOT EXISTS missions (id text PRIMARY KEY, done boolean DEFAULT false)"
        )
        graph, tasks = graph_of(saver), set()
        for row in await pool.connection_execute("SELECT id FROM missions WHERE NOT done"):
            tasks.add(asyncio.create_task(run(graph, pool, row["id"])))
        Path(ready).touch()  # noqa: ASYNC240
        async for m in lines():
            await pool.connection_execute(
                "INSERT INTO missions (id) VALUES (%s) ON CONFLICT DO NOTHING", m
            )
            tasks.add(asyncio.create_task(run(graph, pool, m)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
