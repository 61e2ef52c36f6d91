"""A mission that a model plans, on real parts; the model is a fake that reads its prompt."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from orchestrator.adapters.storage.store import Store
from orchestrator.client.mission_client import MissionClient
from orchestrator.messages.mission import MissionRequest, MissionStatus
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.rules.rule_planner import RulePlanner
from orchestrator.routing.router import Router
from orchestrator.testing import approve, run_to_end
from tests.integration.installations import served_by

if TYPE_CHECKING:
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

GOAL = "Message the finance team that the budget review is on Friday"
QUEUE = "modelled"
_CHANNEL = re.compile(r'"channel_id":"([^"]+)"')


class Mind:
    """A model that looks for a channel in two ways, writes to it and ends; it misspeaks once."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.told: list[int] = []
        """How many messages each request had."""

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.prompts.append("\n".join(map(_text, messages)))
        self.told.append(len(messages))
        calls = self._calls(self.prompts[-1], {t.name for t in info.function_tools})
        return ModelResponse(parts=calls, usage=RequestUsage(input_tokens=1_000, output_tokens=10))

    def _calls(self, prompt: str, shown: set[str]) -> list[ToolCallPart]:
        channel = _CHANNEL.search(prompt)
        if "message_send {" in prompt:
            return [ToolCallPart("part_done", {"summary": "The finance team knows."})]
        if channel is not None:
            text = {"channel_id": channel[1], "text": "The budget review is on Friday."}
            return [ToolCallPart("message_send", text)]
        if "message_get_message" not in shown:
            return [ToolCallPart("tools_discover", {"query": "get message"})]
        if "cannot be carried out" not in prompt:
            return [ToolCallPart("message_find_channels", {"planet": "Mars"})]
        queries = ("finance", "team")
        return [ToolCallPart("message_find_channels", {"query": q}) for q in queries]


def _text(message: ModelMessage) -> str:
    if not isinstance(message, ModelRequest):
        return ""
    told = (part for part in message.parts if isinstance(part, UserPromptPart | ToolReturnPart))
    return "\n".join(str(part.content) for part in told)


@pytest.fixture
def mind() -> Mind:
    """The fake model."""
    return Mind()


@pytest.fixture
async def modelled(stack: Stack, mind: Mind) -> AsyncIterator[MissionClient]:
    """A client of a task queue whose worker plans with the fake model."""
    pieces = Store(stack.settings.state_dir).observations
    model = LlmPlanner(
        default_model="a:model", models=lambda name: FunctionModel(mind), pieces=pieces
    )
    planner = PerAgentPlanner(RulePlanner(Router), lambda: model, default_model="a:model")
    async with served_by(stack, planner, QUEUE) as client:
        yield client


async def test_a_model_plans_a_mission_on_real_parts(
    modelled: MissionClient, mind: Mind, sandbox: Witness
) -> None:
    """It discovers, is corrected once, calls, waits for a person, and its tokens are counted.

    What it looks up in two ways is looked up at once; what it was told stays before what is new.
    """
    mission = await modelled.start(MissionRequest(goal=GOAL))
    result = await run_to_end(mission, approve)

    assert result.status is MissionStatus.SUCCEEDED
    assert result.summary == "The finance team knows."
    assert [effect["operation"] for effect in await sandbox.live(result.mission_id)] == [
        "message_send"
    ]
    did = [step.did.split()[0] for step in result.legs[0].steps]
    assert did == ["discover", "call", "call", "call", "finish"]
    assert [step.label for step in result.legs[0].steps] == ["1", "2", "2b", "3", "4"]
    # The corrected answer took a request of its own; the conversation goes on without it.
    assert result.usage.requests == 5 == len(mind.prompts)
    assert mind.told == [1, 3, 5, 5, 7]
    assert result.usage.input_tokens == 5_000
    assert all("<tool_output" in prompt for prompt in mind.prompts[1:])
