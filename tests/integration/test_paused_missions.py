"""A key that is rotated while a mission runs: what it has done stands, and it goes on with the new.

Over a real wire, with the worker that had the old key gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.runtime.demo import day_in
from orchestrator.testing import approve, eventually, run_to_end
from orchestrator.testing.model_server import ModelServer
from orchestrator.testing.model_server.rule_model import RuleModel
from tests.integration.installations import served_by

if TYPE_CHECKING:
    from orchestrator.client.mission_handle import MissionHandle
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

GOAL = f"Book a flight from Lisbon to Oslo on {day_in(50)}"


def _planner(server: ModelServer) -> PerAgentPlanner:
    model = LlmPlanner(default_model="openai:gpt-5", models=server.model)
    return PerAgentPlanner(RulePlanner(Router), lambda: model, default_model="openai:gpt-5")


async def _pause(mission: MissionHandle) -> ModelPause | None:
    for card in await mission.confirmations():
        await mission.approve(card, approver="ada@example.com")
    return next(iter(await mission.pauses()), None)


async def test_a_rotated_key_pauses_a_mission_and_cancels_nothing(
    stack: Stack, sandbox: Witness
) -> None:
    """It says which variable to set; another worker with the new key takes it to its end."""
    async with ModelServer(RuleModel(Catalog.load(stack.specs[0]))) as server:
        async with served_by(stack, _planner(server), "rotated") as client:
            mission = await client.start(MissionRequest(goal=GOAL))
            await eventually(mission.confirmations)
            server.key = "sk-rotated"
            pause = await eventually(lambda: _pause(mission))
            assert pause is not None
            shown = await mission.snapshot()
        async with served_by(stack, _planner(server), "rotated"):
            await mission.resume(pause.pause_id, by="ada")
            result = await run_to_end(mission, approve)

    assert pause.reason.startswith("401, ")
    assert pause.remedy.startswith("set OPENAI_API_KEY")
    assert shown.legs[0].status is LegStatus.AWAITING_MODEL
    assert result.status is MissionStatus.SUCCEEDED
    booked = await sandbox.live(result.mission_id)
    assert [effect["operation"] for effect in booked] == ["flight_book_offer"]
