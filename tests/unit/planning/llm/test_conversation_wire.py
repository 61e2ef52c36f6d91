"""Conversations over the wire: what was said is taken again by each provider, reasoning too."""

from __future__ import annotations

import json
from typing import Final

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.llm.model_asking import request_settings
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.models import AgentProfile, CallTools, Observation
from orchestrator.testing.model_server import (
    ModelAnswer,
    ModelCall,
    ModelServer,
    ReceivedRequest,
    calling,
)
from tests.unit.planning.llm.test_conversation import CONTEXT, SELECTION, Kept

_STEPS: Final = 4


def _two_cities(asked: ReceivedRequest) -> ModelAnswer:
    """A thought, and two calls at once."""
    cities = (f"Porto-{asked.number}", f"Faro-{asked.number}")
    calls = (ModelCall("weather_get_current", {"city": city}) for city in cities)
    return calling(*calls, thought=f"thought number {asked.number}")


@pytest.mark.parametrize(
    "model", ["openai:gpt-5", "openai-chat:gpt-5", "anthropic:claude-sonnet-5"]
)
async def test_providers_take_a_conversation_that_another_worker_began(
    shipped: Catalog, model: str
) -> None:
    """With several calls in each answer; what was sent before is read from the cache."""
    agent = AgentProfile(name="weather", model=model, domains=("weather",))
    context = CONTEXT.model_copy(update={"agent": agent})
    kept, cached = Kept(), []
    async with ModelServer(_two_cities) as server:
        for step in range(1, _STEPS + 1):
            planner = LlmPlanner(
                models=server.model, pieces=kept, settings=request_settings(thinking="medium")
            )
            planned = await planner.plan_step(context, SELECTION, shipped)
            assert isinstance(planned.decision, CallTools)
            assert planned.usage is not None
            cached.append(planned.usage.cached_tokens)
            seen = tuple(
                Observation(
                    step=step,
                    part=part,
                    tool=call.tool,
                    arguments=call.arguments,
                    outcome="succeeded",
                    body={"condition": "sunny " * 100},
                )
                for part, call in enumerate(planned.decision.calls)
            )
            context = context.model_copy(
                update={
                    "step": step + 1,
                    "observations": (*context.observations, *seen),
                    "conversation": planned.conversation,
                }
            )
        last = json.dumps(server.requests[-1].body)

    assert server.refused == []
    for number in range(1, _STEPS):
        assert f"Porto-{number}" in last
        assert f"Faro-{number}" in last
    if model != "openai-chat:gpt-5":  # which has no words for reasoning
        assert "thought number 1" in last or "encrypted_content" in last
    assert cached[-1] > 0
