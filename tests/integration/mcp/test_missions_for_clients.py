"""Missions through MCP clients: started, decided by people in the inbox, read and rolled back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp import types

from orchestrator.runtime.demo import LEAVING
from tests.integration.mcp.conftest import ERAS, INBOX, structured, until
from tests.integration.web.conftest import ANN, BO, ROOT

if TYPE_CHECKING:
    from tests.integration.conftest import Witness
    from tests.integration.mcp.conftest import Connect
    from tests.integration.web.conftest import Api

FLIGHT = f"Book a flight from Berlin to Lisbon on {LEAVING}"
READS = f"Search flights from Berlin to Lisbon on {LEAVING}"


async def approve_in_inbox(api: Any, card_id: str) -> None:
    """What a person does on the card's page, by the API that the page uses too."""
    card = (await api.get(f"/cards/{card_id}")).json()["card"]
    answer = await api.post(
        f"/cards/{card_id}/decision", json={"kind": "approve", "digest": card["digest"]}
    )
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_without_elicitation_gets_the_link_of_each_card(
    era: str, connect: Connect, api: Api, sandbox: Witness
) -> None:
    """The person approves there; the mission goes on by itself, and its effect is rolled back."""
    steps: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    async with connect(ANN, era) as mcp:
        begun = structured(
            await mcp.call_tool(
                "start_mission", {"goal": FLIGHT, "wait_s": 50}, progress_callback=progress
            )
        )
        (wait,) = begun["waits"]
        listed = structured(await mcp.call_tool("list_waiting", {}))
        await approve_in_inbox(api(ANN), wait["id"])
        over = structured(
            await mcp.call_tool("get_mission", {"mission_id": begun["mission_id"], "wait_s": 50})
        )
        made = await sandbox.live(begun["mission_id"])
        page = await mcp.read_resource(f"mission://{begun['mission_id']}")
        record = await mcp.read_resource(f"mission://{begun['mission_id']}/record")

    assert (wait["kind"], wait["tool"]) == ("card", "flight_book_offer")
    assert wait["url"] == f"{INBOX}/cards/{wait['id']}"
    assert steps[-1].endswith(f"waits for card: {wait['url']}")
    assert wait["id"] in [one["id"] for one in listed["waits"]]
    assert (over["status"], over["over"]) == ("succeeded", True)
    assert [one["state"] for one in over["effects"]] == ["stands"]
    assert len(made) == 1
    assert page.contents[0].mime_type == "text/markdown"
    assert isinstance(record.contents[0], types.TextResourceContents)
    assert json.loads(record.contents[0].text)["mission_id"] == begun["mission_id"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_is_led_to_the_page_of_a_card(
    era: str, connect: Connect, api: Api, sandbox: Witness
) -> None:
    """By elicitation in URL mode; the same call goes on when the card is decided."""
    shown: list[str] = []

    async def opens(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(asked, types.ElicitRequestURLParams)
        shown.append(asked.url)
        await approve_in_inbox(api(ANN), asked.url.rpartition("/")[2])
        return types.ElicitResult(action="accept")

    async with connect(ANN, era, elicitation_callback=opens) as mcp:
        over = structured(await mcp.call_tool("start_mission", {"goal": FLIGHT, "wait_s": 50}))

    assert len(shown) == 1
    assert (over["status"], over["waits"]) == ("succeeded", [])
    assert len(await sandbox.live(over["mission_id"])) == 1


@pytest.mark.parametrize("era", ERAS)
async def test_opening_a_page_approves_nothing(
    era: str, connect: Connect, sandbox: Witness
) -> None:
    """A client may accept what it likes: the card stays open until somebody decides."""

    async def pretends(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="decline", content={"approve": True})

    async with connect(ANN, era, elicitation_callback=pretends) as mcp:
        begun = structured(await mcp.call_tool("start_mission", {"goal": FLIGHT, "wait_s": 50}))
        mission_id = begun["mission_id"]
        await mcp.call_tool("cancel_mission", {"mission_id": mission_id})
        over = await until(mcp, mission_id, lambda one: one["over"])

    assert [one["kind"] for one in begun["waits"]] == ["card"]
    assert over["status"] == "cancelled"
    assert await sandbox.live(mission_id) == []


async def test_a_rejection_needs_no_form(connect: Connect, sandbox: Witness) -> None:
    async with connect(ANN) as mcp:
        begun = structured(await mcp.call_tool("start_mission", {"goal": FLIGHT, "wait_s": 50}))
        (wait,) = begun["waits"]
        decision = {"confirmation_id": wait["id"], "decision": "reject", "then": "rollback"}
        receipt = structured(await mcp.call_tool("decide_card", decision))
        over = await until(mcp, begun["mission_id"], lambda one: one["over"])

    assert receipt["accepted"] == "rejected"
    assert over["status"] == "failed"
    assert await sandbox.live(begun["mission_id"]) == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_mission_that_succeeded_is_rolled_back_if_its_person_agrees(
    era: str, connect: Connect, api: Api, sandbox: Witness
) -> None:
    agrees = False

    async def answers(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        assert "cancelled" in asked.message
        return types.ElicitResult(action="accept", content={"approve": agrees})

    async with connect(ANN, era) as mcp:
        begun = structured(await mcp.call_tool("start_mission", {"goal": FLIGHT, "wait_s": 50}))
        mission_id = begun["mission_id"]
        await approve_in_inbox(api(ANN), begun["waits"][0]["id"])
        await until(mcp, mission_id, lambda one: one["over"])
        refused = await mcp.call_tool("roll_back_mission", {"mission_id": mission_id})
        stands = len(await sandbox.live(mission_id))
    async with connect(ANN, era, elicitation_callback=answers) as mcp:
        declined = await mcp.call_tool("roll_back_mission", {"mission_id": mission_id})
        still = len(await sandbox.live(mission_id))
        agrees = True
        report = structured(await mcp.call_tool("roll_back_mission", {"mission_id": mission_id}))

    assert refused.is_error
    assert refused.structured_content == {
        "needs_person": True,
        "url": f"{INBOX}/missions/{mission_id}/rollback",
    }
    assert declined.is_error
    assert (stands, still) == (1, 1)
    assert report["status"] == "rolled_back_after_success"
    assert await sandbox.live(mission_id) == []


async def test_one_key_starts_one_mission(connect: Connect) -> None:
    """Also one in the request's `_meta`; with another request it is refused."""
    given = {"goal": READS, "idempotency_key": "trip 4711", "wait_s": 0}
    async with connect(ANN) as mcp, connect(BO) as other:
        first = structured(await mcp.call_tool("start_mission", given))
        again = structured(await mcp.call_tool("start_mission", given))
        meta: Any = {"idempotencyKey": "trip 4711"}
        by_meta = structured(
            await mcp.call_tool("start_mission", {"goal": READS, "wait_s": 0}, meta=meta)
        )
        taken = await mcp.call_tool("start_mission", {**given, "goal": FLIGHT})
        of_bo = structured(await other.call_tool("start_mission", given))

    assert first["mission_id"] == again["mission_id"] == by_meta["mission_id"]
    assert of_bo["mission_id"] != first["mission_id"]
    assert taken.is_error
    assert taken.structured_content["code"] == "MissionIdTaken"


async def test_a_plan_starts_nothing(connect: Connect) -> None:
    async with connect(ROOT) as mcp:
        plan = structured(await mcp.call_tool("plan_mission", {"goal": FLIGHT}))

    assert plan["legs"][0]["tools"]
