"""A model cannot approve: not by arguments, forms, state, tasks, nor as somebody else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError

from orchestrator.mcp.mcp_server import mcp_server
from orchestrator.mcp.mission_tools import MISSION_TOOLS
from orchestrator.runtime.demo import LEAVING
from orchestrator.web.people import Role
from tests.integration.mcp.conftest import ERAS, INBOX, structured, until
from tests.integration.mcp.test_guarded_calls import SEARCH
from tests.integration.web.conftest import ANN, BO, LOOKS, OPS, ROOT, person, service_for

if TYPE_CHECKING:
    from orchestrator.client.mission_client import MissionClient
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness
    from tests.integration.mcp.conftest import Connect

FLIGHT = f"Book a flight from Berlin to Lisbon on {LEAVING}"
BOSS = person("boss@example.com", Role.APPROVER)
PEOPLE = {"viewer": LOOKS, "requester": BO, "approver": BOSS, "operator": OPS, "admin": ROOT}
MAY = {
    "viewer": {"get_mission", "list_waiting"},
    "requester": set(MISSION_TOOLS) - {"decide_card"},
    "approver": {"get_mission", "list_waiting", "decide_card"},
    "operator": set(MISSION_TOOLS) - {"decide_card"},
    "admin": set(MISSION_TOOLS),
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "plan_mission": {"goal": FLIGHT},
    "start_mission": {"goal": FLIGHT, "read_only": True, "wait_s": 0},
    "get_mission": {"mission_id": "unknown"},
    "list_waiting": {},
    "answer_question": {"question_id": "unknown.1", "text": "yes"},
    "decide_card": {"confirmation_id": "unknown.1-a.1", "decision": "approve"},
    "cancel_mission": {"mission_id": "unknown"},
    "roll_back_mission": {"mission_id": "unknown"},
}


async def waiting_card(mcp: Any, sandbox: Witness | None = None) -> Any:
    begun = structured(await mcp.call_tool("start_mission", {"goal": FLIGHT, "wait_s": 50}))
    (wait,) = begun["waits"]
    return wait


@pytest.mark.parametrize("role", PEOPLE)
async def test_each_role_calls_and_lists_its_tools_alone(role: str, connect: Connect) -> None:
    """Whoever may not call a tool does not see it either."""
    async with connect(PEOPLE[role]) as mcp:
        listed = {one.name for one in (await mcp.list_tools()).tools}
        refused = set()
        for name, arguments in ARGUMENTS.items():
            result = await mcp.call_tool(name, arguments)
            code = (result.structured_content or {}).get("code")
            if code == "RightMissing":
                refused.add(name)
        guarded = await mcp.call_tool("dining_search_tables", SEARCH)

    assert listed & set(MISSION_TOOLS) == MAY[role]
    assert refused == set(MISSION_TOOLS) - MAY[role]
    may_start = "start_mission" in MAY[role]
    assert ("dining_search_tables" in listed) is may_start
    assert guarded.is_error is not may_start


@pytest.mark.parametrize("era", ERAS)
async def test_no_argument_approves(era: str, connect: Connect, sandbox: Witness) -> None:
    """An approval needs its person; fields that would bring one are refused."""
    async with connect(ANN, era) as mcp:
        wait = await waiting_card(mcp)
        asked = {"confirmation_id": wait["id"], "decision": "approve"}
        plain = await mcp.call_tool("decide_card", asked)
        extra = [
            await mcp.call_tool("decide_card", {**asked, **more})
            for more in ({"digest": "0" * 64}, {"approve": True}, {"approver": "boss@example.com"})
        ]
        answered = await mcp.call_tool(
            "answer_question", {"question_id": wait["id"], "text": "approve"}
        )
        still = await until(mcp, wait["mission_id"], lambda one: one["waits"])
        await mcp.call_tool("cancel_mission", {"mission_id": wait["mission_id"]})

    assert plain.is_error
    assert plain.structured_content == {"needs_person": True, "url": wait["url"]}
    assert all(one.is_error for one in (*extra, answered))
    assert still["waits"] == [wait]
    assert await sandbox.live(wait["mission_id"]) == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_form_decides_what_an_unsigned_decision_may(
    era: str, connect: Connect, sandbox: Witness
) -> None:
    """The form shows the whole card; only its own answer counts."""
    messages: list[str] = []
    content: dict[str, Any] = {}

    async def answers(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        if isinstance(asked, types.ElicitRequestURLParams):
            return types.ElicitResult(action="decline")
        messages.append(asked.message)
        return types.ElicitResult(action="accept", content=content)

    async with connect(ANN, era, elicitation_callback=answers) as mcp:
        wait = await waiting_card(mcp)
        asked = {"confirmation_id": wait["id"], "decision": "approve"}
        unanswered = []
        for wrong in ({}, {"approve": "yes"}, {"approve": 1}, {"approve": False}):
            content = wrong
            unanswered += [await mcp.call_tool("decide_card", asked)]
        before = await sandbox.live(wait["mission_id"])
        content = {"approve": True}
        receipt = structured(await mcp.call_tool("decide_card", asked))
        over = await until(mcp, wait["mission_id"], lambda one: one["over"])

    assert all(one.is_error for one in unanswered)
    assert before == []
    assert receipt["accepted"] == "approved"
    assert over["status"] == "succeeded"
    assert all("Lisbon" in one or "LIS" in one for one in messages)


async def test_a_mission_of_somebody_else_is_not_found(connect: Connect) -> None:
    """By no tool, resource or state; its text is that of a mission that never was."""
    async with connect(ANN) as mcp, connect(BO, "2026-07-28") as other:
        wait = await waiting_card(mcp)
        mission_id, card = wait["mission_id"], wait["id"]
        tries = {
            "get_mission": {"mission_id": mission_id},
            "cancel_mission": {"mission_id": mission_id},
            "roll_back_mission": {"mission_id": mission_id},
            "answer_question": {"question_id": card, "text": "yes"},
        }
        for name, arguments in tries.items():
            seen = await other.call_tool(name, arguments)
            text = json.dumps(arguments).replace(mission_id, "never-was")
            never = await other.call_tool(name, json.loads(text))
            assert seen.is_error
            assert seen.structured_content["status"] == 404
            assert str(never.content).replace("never-was", mission_id) == str(seen.content)
        for uri in (f"mission://{mission_id}", f"mission://{mission_id}/record"):
            with pytest.raises(MCPError):
                await other.read_resource(uri)
        forged = await other.session.call_tool(
            "start_mission",
            {"goal": FLIGHT},
            request_state=json.dumps({"mission_id": mission_id, "asked": [card]}),
        )
        listed = structured(await other.call_tool("list_waiting", {}))
        resources = await other.list_resources()
        await mcp.call_tool("cancel_mission", {"mission_id": mission_id})

    assert forged.structured_content["status"] == 404
    assert card not in [one["id"] for one in listed["waits"]]
    assert mission_id not in str(resources)


async def test_a_yes_without_its_form_approves_nothing(connect: Connect, sandbox: Witness) -> None:
    """An answer without the state of its form may be to what an earlier card has shown."""

    async def answers(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    async with connect(ANN, "2026-07-28", elicitation_callback=answers) as mcp:
        wait = await waiting_card(mcp)
        result = await mcp.session.call_tool(
            "decide_card",
            {"confirmation_id": wait["id"], "decision": "approve"},
            input_responses={
                wait["id"]: types.ElicitResult(action="accept", content={"approve": True})
            },
            allow_input_required=True,
        )
        await mcp.call_tool("cancel_mission", {"mission_id": wait["mission_id"]})

    assert isinstance(result, types.InputRequiredResult)
    assert list(result.input_requests or {}) == [wait["id"]]
    assert await sandbox.live(wait["mission_id"]) == []


HOSTILE: tuple[dict[str, Any], ...] = (
    {"goal": ""},
    {"goal": "x" * 5_000},
    {"goal": 7},
    {"goal": "fly", "policy": {"auto_approve": ["*"]}},
    {"goal": "fly", "observe": True},
    {"goal": "fly", "orders": []},
    {"goal": "fly", "requester": "ann@example.com"},
    {"goal": "fly", "budgett": {"amount": "1", "currency": "EUR"}},
    {"goal": "fly", "wait_s": 1e9},
    {"goal": "fly", "idempotency_key": "a\nb"},
    {"goal": "fly", "inputs": {"x": "y" * 300_000}},
    {"goal": "half \ud800 of a character"},
)


@pytest.mark.parametrize("arguments", HOSTILE, ids=range(len(HOSTILE)))
async def test_hostile_arguments_start_nothing(arguments: dict[str, Any], connect: Connect) -> None:
    """What widens a policy, hides a requester or breaks a reader is refused in a sentence."""
    async with connect(BO) as mcp:
        result = await mcp.call_tool("start_mission", arguments)

    assert result.is_error
    assert result.structured_content["status"] in (400, 422)
    assert "Traceback" not in str(result.content)


async def test_deep_arguments_and_strange_names_are_refused(connect: Connect) -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    async with connect(BO) as mcp:
        nested = await mcp.call_tool("start_mission", {"goal": "fly", "inputs": {"x": deep}})
        strange = await mcp.call_tool("no_such\u202etool", {})
        for uri in ("mission://../x", "mission://a/b/c", "file:///etc/passwd", "mission://"):
            with pytest.raises(MCPError):
                await mcp.read_resource(uri)

    assert nested.structured_content["status"] == 422
    assert strange.structured_content["code"] == "ToolUnknown"
    assert "\u202e" not in str(strange.content[0])


async def test_a_signer_is_refused(client: MissionClient, stack: Stack) -> None:
    """The key of the service never signs what comes through a client."""
    signer: Any = object()

    with pytest.raises(ValueError, match="never signed"):
        mcp_server(service_for(client, stack, ANN, signer=signer), lambda _: ANN, inbox=INBOX)
