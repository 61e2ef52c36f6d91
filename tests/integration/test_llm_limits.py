"""A model that turns in circles, or talks on, on real parts: told, ended, and cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from orchestrator.core.limits import Limits
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.testing import approve, run_to_end
from tests.integration.installations import served_by

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack

GOAL = "Message the finance team that the budget review is on Friday"


class Looper:
    """A model that makes the same search for ever; a wrong one first, each time it is asked to."""

    def __init__(self, *, errs: bool = False) -> None:
        self.prompts: list[str] = []
        self._errs = errs

    async def __call__(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        self.prompts.append(str(messages))
        wrong = self._errs and len(messages) == 1
        search = {"planet": "Mars"} if wrong else {"query": "finance"}
        call = ToolCallPart("message_find_channels", search)
        return ModelResponse(parts=[call], usage=RequestUsage(input_tokens=1_000, output_tokens=10))


async def run(stack: Stack, mind: Looper, limits: Limits) -> tuple[MissionStatus, str]:
    """The end of a mission that the model plans within limits."""
    model = LlmPlanner(default_model="a:model", models=lambda name: FunctionModel(mind))
    planner = PerAgentPlanner(RulePlanner(Router), lambda: model, default_model="a:model")
    async with served_by(stack, planner, "looping") as client:
        policy = MissionPolicy(limits=limits)
        mission = await client.start(MissionRequest(goal=GOAL, policy=policy))
        result = await run_to_end(mission, approve)
    return result.status, result.error or ""


async def test_a_model_that_loops_is_told_once_and_ended(stack: Stack) -> None:
    """Four searches, the third of which tells it; a limit that is lower ends it before."""
    looper = Looper()

    status, error = await run(stack, looper, Limits())
    told = [prompt.count("came to the same 3 times") for prompt in looper.prompts]

    assert status is MissionStatus.FAILED
    assert error == (
        "the leg turns in circles: message_find_channels with the same arguments came to the same "
        "4 times, with nothing new in between"
    )
    assert told == [0, 0, 0, 1]


async def test_answers_that_were_corrected_use_up_a_limit(stack: Stack) -> None:
    """Each step takes two requests, and no third is made where two are allowed."""
    looper = Looper(errs=True)

    status, error = await run(stack, looper, Limits(requests=3))

    assert status is MissionStatus.FAILED
    assert error == "the limit of the mission is reached: used 3 of 3 requests to models"
    assert len(looper.prompts) == 3
