"""Events over HTTP: streams that are resumed, bounded, and leave nothing behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from orchestrator.testing import eventually
from orchestrator.web.request_limits import Limits
from tests.integration.web.conftest import ANN, BO, LOOKS, ROOT
from tests.integration.web.test_api_missions import FLIGHT, READS, card_of, ended, started

if TYPE_CHECKING:
    from tests.integration.web.conftest import Api, Served

Received = dict[str, str]


async def received(
    api: httpx.AsyncClient, path: str, **headers: str
) -> AsyncGenerator[Received, None]:
    """Yield the events of a stream, as an EventSource reads them; comments as `comment`."""
    async with api.stream("GET", path, headers={"Accept": "text/event-stream", **headers}) as got:
        assert got.status_code == 200, await got.aread()
        assert got.headers["content-type"].startswith("text/event-stream")
        event: Received = {}
        async for line in got.aiter_lines():
            if not line:
                if event:
                    yield event
                event = {}
                continue
            name, _, value = line.partition(":")
            event[name or "comment"] = value.removeprefix(" ")


async def all_of(api: httpx.AsyncClient, path: str, **headers: str) -> list[Received]:
    return [one async for one in received(api, path, **headers) if "comment" not in one]


async def until(api: httpx.AsyncClient, path: str, wanted: str, **headers: str) -> list[Received]:
    """Events up to the first of a kind; the client then leaves."""
    found: list[Received] = []
    async with aclosing(received(api, path, **headers)) as events:
        async for one in events:
            found.append(one)
            if one.get("event") == wanted:
                break
    return found


async def approve(api: httpx.AsyncClient, mission_id: str) -> None:
    card = (await card_of(api, mission_id))["card"]
    answer = await api.post(
        f"/cards/{card['confirmation_id']}/decision",
        json={"kind": "approve", "digest": card["digest"]},
    )
    assert answer.status_code == 200, answer.text


async def test_a_mission_is_followed_to_its_end(served: Served) -> None:
    """Each event has an id that continues the stream; its end is an event too."""
    ann = await served(ANN)
    mission_id = await started(ann)
    there = f"/missions/{mission_id}/events"
    following = asyncio.create_task(all_of(ann, there))
    await approve(ann, mission_id)
    async with asyncio.timeout(60):
        events = await following
    *before, end = events
    kinds = [one["event"] for one in before]
    middle = len(before) // 2
    rest = await all_of(ann, there, **{"Last-Event-ID": before[middle]["id"]})
    by_query = await all_of(ann, f"{there}?after={before[middle]['id']}")

    assert (end["event"], "id" in end) == ("end", False)
    assert {"mission", "plan", "leg", "card", "decision", "call", "obligation"} <= set(kinds)
    assert rest == [*before[middle + 1 :], end]
    assert by_query == rest
    for one in before:
        content = json.loads(one["data"])
        assert content["kind"] == one["event"]
        assert content["mission_id"] == mission_id
    last = [json.loads(one["data"]) for one in before if one["event"] == "mission"][-1]
    assert (last["status"], last["over"]) == ("succeeded", True)


async def test_events_are_listed_for_programs_that_ask_again(api: Api) -> None:
    ann = api(ANN)
    mission_id = await started(ann, goal=READS)
    await ended(ann, mission_id)
    there, accept = f"/missions/{mission_id}/events", {"Accept": "application/json"}
    whole = (await ann.get(there, headers=accept)).json()
    nothing = (await ann.get(there, params={"after": whole["next"]}, headers=accept)).json()

    assert whole["events"][-1]["over"] is True
    assert nothing == {"events": [], "next": whole["next"]}


async def test_a_feed_has_the_missions_that_its_reader_sees(served: Served) -> None:
    """An approver gets the card of somebody else's mission; a stranger gets nothing of it."""
    ann, bo, looks = await served(ANN), await served(BO), await served(LOOKS)
    mission_id = await started(bo)
    card = (await card_of(bo, mission_id))["card"]

    async def cards(of: httpx.AsyncClient) -> list[Any]:
        listed = await of.get("/events", headers={"Accept": "application/json"})
        found = [e for e in listed.json()["events"] if e["mission_id"] == mission_id]
        return [{**e, "cursor": ""} for e in found]

    async def opened() -> bool:
        return bool(await cards(bo))

    await eventually(opened)
    of_bo, of_ann, of_looks = await cards(bo), await cards(ann), await cards(looks)

    assert of_bo[0]["confirmation_id"] == card["confirmation_id"]
    assert of_ann == of_bo
    assert of_looks == []
    await bo.post(f"/missions/{mission_id}/cancel")


async def test_a_live_feed_brings_a_new_card(served: Served) -> None:
    """And continues after its last id with what follows, on another connection."""
    ann = await served(ANN)

    async def first_card() -> Received:
        async with aclosing(received(ann, "/events")) as events:
            async for one in events:
                if "comment" not in one and mission_id in one["data"]:
                    return one
        raise AssertionError("the feed ended")

    mission_id = await started(ann)
    async with asyncio.timeout(60):
        card = await first_card()
        await approve(ann, mission_id)
        following = received(ann, "/events", **{"Last-Event-ID": card["id"]})
        async with aclosing(following) as events:
            async for one in events:
                if "comment" not in one and mission_id in one["data"]:
                    break

    assert json.loads(card["data"])["state"] == "opened"
    assert json.loads(one["data"])["kind"] in ("decision", "card")
    assert one != card


def _tasks() -> set[str]:
    """Return the names of all functions that run as tasks; what an iterator awaits has none."""
    return {getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()}


async def test_streams_of_one_person_are_bounded_and_places_come_back(served: Served) -> None:
    """A client that leaves frees its place, and nothing of its stream goes on."""
    ann = await served(ANN, limits=Limits(streams=2, heartbeat_s=0.2))
    mission_id = await started(ann)
    there = f"/missions/{mission_id}/events"
    before = _tasks()
    first, second = received(ann, there), received(ann, there)
    await anext(first)
    await anext(second)
    third = await ann.get(there, headers={"Accept": "text/event-stream"})
    await first.aclose()
    await second.aclose()

    async def is_free() -> bool:
        kinds = [one.get("event") for one in await until(ann, there, "mission")]
        return "mission" in kinds

    assert (third.status_code, third.json()["code"]) == (429, "TooManyStreams")
    assert int(third.headers["retry-after"]) > 0
    await asyncio.sleep(0.5)
    assert await is_free()

    def left() -> set[str]:
        now = _tasks() - before
        return {name for name in now if "event" in name.lower() or "poll" in name.lower()}

    async def is_quiet() -> bool:
        return not left()

    await eventually(is_quiet)
    await ann.post(f"/missions/{mission_id}/cancel")


async def test_a_silent_stream_shows_that_it_lives(served: Served) -> None:
    """Heartbeats are comments, and a stream ends after its time without an `end`."""
    ann = await served(ANN, limits=Limits(heartbeat_s=0.1, stream_s=2))
    mission_id = await started(ann)
    await card_of(ann, mission_id)
    async with asyncio.timeout(30):
        events = [one async for one in received(ann, f"/missions/{mission_id}/events")]

    assert {"comment": "alive"} in events
    assert "end" not in {one.get("event") for one in events}
    await ann.post(f"/missions/{mission_id}/cancel")


@pytest.mark.parametrize("path", ["/events", "/missions/unknown-1/events"])
async def test_a_cursor_of_nowhere_is_a_problem_before_the_stream(api: Api, path: str) -> None:
    answer = await api(ROOT).get(path, headers={"Last-Event-ID": "no cursor"})

    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_cursor_of_another_mission_is_a_problem_event(served: Served) -> None:
    ann = await served(ANN)
    one, other = await started(ann, goal=FLIGHT), await started(ann, goal=READS)
    first = await until(ann, f"/missions/{one}/events", "mission")
    refused = await all_of(ann, f"/missions/{other}/events", **{"Last-Event-ID": first[-1]["id"]})

    of_all = await all_of(ann, "/events", **{"Last-Event-ID": first[-1]["id"]})

    for events in (refused, of_all):
        assert [event["event"] for event in events] == ["problem"]
        assert json.loads(events[0]["data"])["code"] == "UsageError"
    await ann.post(f"/missions/{one}/cancel")
