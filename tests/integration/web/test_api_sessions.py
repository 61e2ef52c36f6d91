"""Sessions over HTTP: guarded calls of a program that speaks JSON alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from orchestrator.runtime.demo import DINING
from orchestrator.testing import eventually
from tests.integration.web.conftest import ANN, BO, OPS

if TYPE_CHECKING:
    from tests.integration.conftest import Witness
    from tests.integration.web.conftest import Api

SEARCH = {"city": "Lisbon", "date": DINING, "time": "20:00", "party_size": 2}


async def begun(api: httpx.AsyncClient, session: str, tool: str, arguments: Any, key: str) -> str:
    answer = await api.post(
        f"/sessions/{session}/calls",
        json={"tool": tool, "arguments": arguments},
        headers={"Idempotency-Key": key},
    )
    assert answer.status_code == 202, answer.text
    there = f"/api/v1/sessions/{session}/calls/{answer.json()['call_id']}"
    assert answer.headers["location"] == there
    return str(answer.json()["call_id"])


async def outcome(api: httpx.AsyncClient, session: str, call: str) -> Any:
    async def settled() -> Any:
        one = (await api.get(f"/sessions/{session}/calls/{call}", params={"wait_s": 5})).json()
        return one if one["outcome"] else None

    return await eventually(settled)


async def booked(api: httpx.AsyncClient, session: str) -> Any:
    """A table that is found, and reserved once a person has approved it."""
    found = await begun(api, session, "dining_search_tables", SEARCH, "search")
    slot = (await outcome(api, session, found))["body"]["tables"][0]
    call = await begun(
        api,
        session,
        "dining_reserve_table",
        {
            "table_slot_id": slot["table_slot_id"],
            "traveler_name": "pii:traveler_name",
            "traveler_phone": "pii:traveler_phone",
        },
        "reserve",
    )
    under_way = await api.get(f"/sessions/{session}/calls/{call}", params={"wait_s": 0})
    assert under_way.json()["outcome"] == ""
    shown = (await api.get(f"/sessions/{session}")).json()

    async def card() -> Any:
        cards = (await api.get("/cards", params={"mission_id": shown["saga_id"]})).json()["cards"]
        return cards[0]["card"] if cards else None

    asked = await eventually(card)
    assert isinstance(asked, dict)
    decided = await api.post(
        f"/cards/{asked['confirmation_id']}/decision",
        json={"kind": "approve", "digest": asked["digest"]},
    )
    assert decided.status_code == 200, decided.text
    return await outcome(api, session, call)


async def test_a_session_is_completed(api: Api, sandbox: Witness) -> None:
    """Its key starts one session, and each key of a call one call."""
    ann, key = api(ANN), {"Idempotency-Key": "loop 1"}
    first = await ann.post("/sessions", json={}, headers=key)
    again = await ann.post("/sessions", json={}, headers=key)
    session = first.json()["session_id"]
    call = await booked(ann, session)
    repeated = await begun(ann, session, "dining_search_tables", SEARCH, "search")
    ended = await ann.post(f"/sessions/{session}/complete")
    shown = (await ann.get(f"/sessions/{session}")).json()
    late = await ann.post(f"/sessions/{session}/calls", json={"tool": "dining_reserve_table"})

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["session_id"] == session
    assert call["outcome"] == "succeeded"
    assert len(ended.json()["result"]["calls"]) == 2
    assert repeated in {one["call_id"] for one in ended.json()["result"]["calls"]}
    assert ended.json()["result"]["status"] == shown["status"] == "completed"
    assert len(await sandbox.live(shown["saga_id"])) == 1
    assert (late.status_code, late.json()["code"]) == (409, "SessionOver")


async def test_a_session_is_rolled_back(api: Api, sandbox: Witness) -> None:
    ann = api(ANN)
    session = (await ann.post("/sessions", json={"budget": None})).json()["session_id"]
    await booked(ann, session)
    saga = (await ann.get(f"/sessions/{session}")).json()["saga_id"]
    made = len(await sandbox.live(saga))
    ended = await ann.post(f"/sessions/{session}/rollback", json={"reason": "off"})
    again = await ann.post(f"/sessions/{session}/complete")

    assert made == 1
    assert ended.json()["result"]["status"] == "rolled_back"
    assert await sandbox.live(saga) == []
    assert (again.status_code, again.json()["code"]) == (409, "SessionOver")


async def test_a_personal_value_in_the_open_begins_no_call(api: Api) -> None:
    ann = api(ANN)
    there = f"/sessions/{(await ann.post('/sessions', json={})).json()['session_id']}"
    arguments = {"table_slot_id": "t", "traveler_name": "Zephyrine Oakhollow"}
    wanted = {"tool": "dining_reserve_table", "arguments": arguments}
    refused = await ann.post(f"{there}/calls", json=wanted)
    ended = await ann.post(f"{there}/complete")

    assert refused.status_code == 400, refused.text
    assert "pii:traveler_name" in refused.json()["detail"]
    assert "Oakhollow" not in refused.text
    assert ended.json()["result"]["calls"] == []


async def test_a_session_of_another_is_not_found(api: Api) -> None:
    """An operator, who sees all, may end it."""
    session = (await api(ANN).post("/sessions", json={})).json()["session_id"]
    there = f"/sessions/{session}"
    call = {"tool": "dining_search_tables", "arguments": SEARCH}
    answers = [
        await api(BO).get(there),
        await api(BO).post(f"{there}/calls", json=call),
        await api(BO).post(f"{there}/complete"),
        await api(BO).post(f"{there}/rollback", json={}),
    ]
    ended = await api(OPS).post(f"{there}/rollback", json={})

    assert [one.status_code for one in answers] == [404] * 4
    assert {one.json()["code"] for one in answers} == {"SessionUnknown"}
    assert ended.status_code == 200


async def test_terms_that_cannot_be_are_problems(api: Api) -> None:
    ann = api(ANN)
    idle = await ann.post("/sessions", json={"idle_limit": 0})
    named = await ann.post("/sessions", json={"session_id": "a b"})
    both = await ann.post(
        "/sessions", json={"session_id": "mine-7"}, headers={"Idempotency-Key": "k"}
    )

    assert [idle.status_code, named.status_code, both.status_code] == [422, 422, 422]
