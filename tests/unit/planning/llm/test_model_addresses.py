"""Where models are asked: servers of one's own, by the variables that docs/planning.md names."""

from __future__ import annotations

from typing import Final

import pytest
from pydantic_ai.models import infer_model

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.models import AgentProfile
from orchestrator.testing.model_server import ModelServer, call
from tests.unit.planning.llm.test_model_planner import CONTEXT, SELECTION

UNSET: Final = CONTEXT.model_copy(update={"agent": AgentProfile(name="weather")})
KEY: Final = "sk-of-this-server"


@pytest.mark.parametrize(
    ("model", "variable", "key_variable", "path", "api"),
    [
        ("openai:gpt-5", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", "responses"),
        ("openai-chat:gpt-5", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", "chat"),
        ("anthropic:claude-sonnet-5-5", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "", "messages"),
        ("vllm:our/own-model", "VLLM_BASE_URL", "VLLM_API_KEY", "/v1", "chat"),
        ("ollama:qwen3:32b", "OLLAMA_BASE_URL", "OLLAMA_API_KEY", "/v1", "chat"),
    ],
    ids=["responses", "LiteLLM", "messages", "vLLM", "Ollama"],
)
async def test_a_model_is_asked_where_its_variable_says(
    monkeypatch: pytest.MonkeyPatch,
    shipped: Catalog,
    model: str,
    variable: str,
    key_variable: str,
    path: str,
    api: str,
) -> None:
    """By its own name, with its own key, in the API that the server speaks."""
    async with ModelServer(lambda asked: call("weather_get_current", city="Lisbon"), key=KEY) as at:
        monkeypatch.setenv(variable, f"{at.url}{path}")
        monkeypatch.setenv(key_variable, KEY)
        async with infer_model(model) as asking:
            planner = LlmPlanner(default_model=model, models=lambda name: asking)
            answer = await planner.plan_step(UNSET, SELECTION, shipped)

    assert "weather_get_current" in repr(answer)
    [asked] = at.requests
    assert (asked.api, asked.model) == (api, model.partition(":")[2])


@pytest.mark.parametrize(
    ("model", "variable"), [("vllm:own", "VLLM_BASE_URL"), ("ollama:qwen", "OLLAMA_BASE_URL")]
)
async def test_a_server_of_ones_own_may_want_no_key(
    monkeypatch: pytest.MonkeyPatch, shipped: Catalog, model: str, variable: str
) -> None:
    """Then a placeholder is sent, and never the key of another provider."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    script = call("weather_get_current", city="Lisbon")
    async with ModelServer(lambda asked: script, key="api-key-not-set") as at:
        monkeypatch.setenv(variable, at.openai_url)
        async with infer_model(model) as asking:
            planner = LlmPlanner(default_model=model, models=lambda name: asking)
            await planner.plan_step(UNSET, SELECTION, shipped)

    assert "sk-of-openai" not in str(at.requests[0].headers)
