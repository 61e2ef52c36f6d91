"""Steps of written workflows that are left to a planner: a scripted model, and failures."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.arazzo.arazzo_files import load_contents
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.record import JsonObject
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.llm.splitting import ModelSplitter
from orchestrator.planning.models import WorkflowSource
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.runtime.demo import LEAVING, RETURNING
from orchestrator.runtime.devserver import Stack
from orchestrator.testing import assert_nothing_left, run_to_end
from orchestrator.testing.model_server import ModelAnswer, ModelServer, ReceivedRequest, call
from tests.integration.conftest import Witness
from tests.integration.installations import served_by

ROOM = Path(__file__).parents[2] / "docs" / "examples" / "written" / "room.arazzo.yaml"
SEARCH = "hotel_search_rooms"
NAME = "anthropic:claude-sonnet-5-5"
INPUTS: JsonObject = {"city": "Lisbon", "check_in": LEAVING, "check_out": RETURNING}


def choosing(asked: ReceivedRequest) -> ModelAnswer:
    """Search, end without the output, then end with it."""
    said = " ".join(turn.text for turn in asked.turns)
    found = re.search(r"room_offer_id\W+([\w-]*\d[\w-]*)", said)
    if found is None:
        return call(SEARCH, city="Lisbon", check_in=LEAVING, check_out=RETURNING)
    if "do not fit" not in said:
        return call("part_done", summary="A room is found.", outputs={"room": "the best"})
    outputs: JsonObject = {"room_offer_id": found[1]}
    return call("part_done", summary="A room is found.", outputs=outputs)


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    """A provider with that model."""
    async with ModelServer(choosing) as running:
        yield running


@pytest.fixture
async def asking(stack: Stack, server: ModelServer) -> AsyncIterator[MissionClient]:
    """A client of a task queue whose worker asks that provider."""
    model = LlmPlanner(default_model=NAME, models=server.model)
    planner = PerAgentPlanner(
        RulePlanner(Router),
        lambda: model,
        default_model=NAME,
        splitter=lambda: ModelSplitter(server.model),
    )
    async with served_by(stack, planner, "goals-by-a-model") as served:
        yield served


def room(**changes: Any) -> MissionRequest:
    """A request for the example's workflow, its first step changed."""
    content, _ = load_contents(ROOM)
    workflow: Any = content["workflows"]
    workflow[0]["steps"][0] |= changes
    source = WorkflowSource(document=content)
    return MissionRequest(goal="A room", workflow=source, inputs=INPUTS)


async def test_a_model_gives_the_outputs_that_the_schema_wants(
    asking: MissionClient, server: ModelServer, sandbox: Witness
) -> None:
    """An ending whose outputs do not fit is answered with the fault; the step takes the next."""
    mission = await asking.start(room())
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert len(server.requests) >= 3
    ending = server.requests[0].tools["part_done"].parameters
    assert "room_offer_id" in str(ending)
    made = await sandbox.made(mission.mission_id, "hotel_book_room")
    assert made["room_offer_id"] == result.legs[1].outputs["room_offer_id"]


async def test_a_goal_that_is_not_reached_fails_its_step(
    client: MissionClient, sandbox: Witness
) -> None:
    """Its onFailure applies, as to a call; nothing is booked and nothing is left."""
    wants: JsonObject = {
        "type": "object",
        "required": ["no_such_field"],
        "properties": {"no_such_field": {"type": "string"}, "room_offer_id": {}},
    }
    content = {"x-orchet-outputs": wants, "onFailure": [{"name": "stop", "type": "end"}]}
    mission = await client.start(room(**content))
    result = await run_to_end(mission)

    assert result.status is MissionStatus.SUCCEEDED, result.error
    assert "no_such_field" in str(result.legs[1].error)
    assert not result.ledger.obligations
    await assert_nothing_left(sandbox, mission)


async def test_a_goal_without_orders_changes_nothing(
    client: MissionClient, sandbox: Witness
) -> None:
    """A planner of a reading goal that would book is refused, whatever it wants."""
    booking = "Book the cheapest hotel room in Lisbon"
    mission = await client.start(room(**{"x-orchet-goal": booking}))
    result = await run_to_end(mission)

    assert result.status is not MissionStatus.SUCCEEDED
    assert not await sandbox.live(mission.mission_id)


async def test_a_goal_has_the_effects_that_its_step_orders(
    client: MissionClient, sandbox: Witness
) -> None:
    """They are confirmed, recorded under the goal's leg, and cancelled with the mission."""
    booking: JsonObject = {
        "x-orchet-goal": "Book the cheapest hotel room",
        "x-orchet-orders": ["hotel_book_room"],
        "x-orchet-outputs": {
            "type": "object",
            "required": ["hotel_booking_id"],
            "properties": {"hotel_booking_id": {"type": "string"}},
        },
        "outputs": {"room_offer_id": "$response.body#/hotel_booking_id"},
    }
    mission = await client.start(room(**booking))
    result = await run_to_end(mission)

    # The second step takes a booking's id for an offer's, which the provider refuses.
    assert result.status is MissionStatus.ROLLED_BACK
    (made,) = [one for one in result.ledger.obligations if one.response]
    assert (made.leg_id, made.tool, made.state) == ("h1-1-room", "hotel_book_room", "cancelled")
    await assert_nothing_left(sandbox, mission)
