"""Where models are asked, and every trouble of a provider, over the wire."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from pydantic_ai import exceptions
from pydantic_ai.models import infer_model

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import ModelRefused, ModelUnavailable, ModelUnusable
from orchestrator.planning.llm.model_asking import CAUSES, request_settings
from orchestrator.planning.llm.model_planner import LlmPlanner
from orchestrator.planning.llm.model_providers import provider_variables, redacted, trouble_with
from orchestrator.planning.metering import AnswerUnusable
from orchestrator.planning.models import AgentProfile, GiveUp, StepContext
from orchestrator.testing.model_server import (
    PROVIDER_TROUBLES,
    ModelServer,
    ModelTrouble,
    broken_call,
    call,
    rate_limited,
    say,
    unauthorized,
)
from orchestrator.testing.model_server.replies import RawBody, StatusTrouble
from tests.unit.planning.llm.test_model_planner import CONTEXT, SELECTION

MODELS: Final = ("openai:gpt-5", "openai-chat:gpt-4o", "anthropic:claude-sonnet-5-5")
KEYS: Final = dict(zip(MODELS, ("OPENAI", "OPENAI", "ANTHROPIC"), strict=True))


def _context(**agent: object) -> StepContext:
    return StepContext(
        mission_id="m",
        leg_id="trip",
        step=1,
        mission_goal="weather",
        leg_goal="weather",
        agent=AgentProfile.model_validate({"name": "trip", **agent}),
        now=datetime(2026, 11, 23, tzinfo=UTC),
        catalog_digest="d",
    )


def _planner(server: ModelServer, model: str, **sent: Any) -> LlmPlanner:
    settings = request_settings(**sent)
    return LlmPlanner(default_model=model, models=server.model, settings=settings)


@pytest.mark.parametrize("model", MODELS)
async def test_every_trouble_is_told_and_its_words_are_ours(shipped: Catalog, model: str) -> None:
    """What may pass can be retried, what must be mended names its variable; nothing is quoted."""
    async with ModelServer(lambda asked: call("part_lost", reason="so")) as server:
        patient, hasty = _planner(server, model), _planner(server, model, timeout_s=0.5)
        for name, trouble in PROVIDER_TROUBLES.items():
            server.always(trouble)
            planner = hasty if name == "hang" else patient
            with pytest.raises((ModelUnavailable, ModelRefused)) as caught:
                await planner.plan_step(_context(), SELECTION, shipped)
            told = str(caught.value)
            assert server.key not in told
            assert "Incorrect API key" not in told
            passes = name[:2] in ("50", "52") or name in ("429", "429-retry-after", "hang", "cut")
            assert isinstance(caught.value, ModelUnavailable) or not passes
            if name in ("401", "403"):
                assert f"set {KEYS[model]}_API_KEY where the worker runs" in told
                assert told.count(name) == 1
        server.always(None)
        planned = await patient.plan_step(_context(), SELECTION, shipped)

    assert planned.decision == GiveUp(reason="so")


_ENDS: Final = {"name": "part_lost", "arguments": '{"reason": "so"}'}
_CALL: Final = {"index": 0, "id": "c", "type": "function", "function": _ENDS}
_CHOICE: Final = {"index": 0, "delta": {"tool_calls": [_CALL]}, "finish_reason": "tool_calls"}
_CHUNK: Final = json.dumps(
    {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [_CHOICE]}
)


@pytest.mark.parametrize(
    ("streamed", "requests"),
    [
        pytest.param(StatusTrouble(400, "invalid_request_error"), 3, id="refused"),
        pytest.param(RawBody(b"{}"), 3, id="whole"),
        pytest.param(
            RawBody(f"data: {_CHUNK}\n\ndata: [DONE]\n\n".encode(), "text/event-stream"),
            2,
            id="without usage",
        ),
    ],
)
async def test_a_model_that_does_not_stream_is_asked_for_whole_answers(
    shipped: Catalog, streamed: ModelTrouble, requests: int
) -> None:
    """Once it is known, no further request asks for a stream; the usage counts."""
    so = call("part_lost", reason="so")
    async with ModelServer(lambda asked: streamed if asked.body.get("stream") else so) as server:
        planner = _planner(server, "openai-chat:gpt-4o")
        planned = [await planner.plan_step(_context(), SELECTION, shipped) for _ in range(2)]

    assert [one.decision for one in planned] == [GiveUp(reason="so")] * 2
    assert len(server.requests) == requests
    assert not server.requests[-1].body.get("stream")
    assert planned[-1].usage is not None
    assert planned[-1].usage.input_tokens > 0


async def test_what_a_provider_asks_to_wait_is_read_in_both_forms(shipped: Catalog) -> None:
    """Seconds, or the date of the next try."""
    async with ModelServer(lambda asked: call("part_lost", reason="so")) as server:
        waits = []
        for told in (20.0, datetime.now(UTC) + timedelta(seconds=90)):
            server.next(rate_limited(told))
            with pytest.raises(ModelUnavailable) as caught:
                await _planner(server, MODELS[0]).plan_step(_context(), SELECTION, shipped)
            waits.append(caught.value.retry_after_s)

    assert waits[0] == 20
    assert waits[1] is not None
    assert 60 < waits[1] <= 90


async def test_settings_of_requests_are_sent(shipped: Catalog) -> None:
    """Temperature and the most tokens of an answer, where they are set."""
    async with ModelServer(lambda asked: call("part_lost", reason="so")) as server:
        planner = _planner(server, "openai-chat:gpt-4o", temperature=0.2, max_tokens=4_000)
        await planner.plan_step(_context(), SELECTION, shipped)
        body = server.requests[-1].body

    assert body["temperature"] == 0.2
    assert body["max_completion_tokens"] == 4_000


@pytest.mark.parametrize("model", MODELS)
async def test_trouble_after_an_answer_of_no_use_spends_the_step(
    shipped: Catalog, model: str
) -> None:
    """So that what the first answer took is not lost; the next step meets the trouble."""
    async with ModelServer(lambda asked: call("part_lost", reason="so")) as server:
        server.next(say("Hm."), unauthorized())
        with pytest.raises(AnswerUnusable, match="calls no tool") as caught:
            await _planner(server, model).plan_step(_context(), SELECTION, shipped)

    assert caught.value.usage.requests == 1
    assert caught.value.usage.input_tokens > 0


async def test_two_answers_of_no_use_are_one_error_with_their_usage(shipped: Catalog) -> None:
    """Unparsable arguments, then words."""
    async with ModelServer(lambda asked: call("part_lost", reason="so")) as server:
        server.next(broken_call("weather_get_current"), say("Hm."))
        with pytest.raises(AnswerUnusable) as caught:
            await _planner(server, MODELS[0]).plan_step(_context(), SELECTION, shipped)

    assert caught.value.usage.requests == 2


async def test_a_server_that_nobody_finds_is_told_with_its_variable(shipped: Catalog) -> None:
    """A name without an address, for instance."""
    error = exceptions.ModelConnectionError("m", "name or service not known", phase="connect")
    told = trouble_with("openai-chat:gpt-4o", error)

    assert isinstance(told, ModelUnavailable)
    assert told.remedy == "check OPENAI_BASE_URL and the network of the worker"
    assert shipped is not None


async def test_a_model_that_cannot_be_is_trouble_and_no_end(shipped: Catalog) -> None:
    """`model: foo:bar` in a profile: the leg waits for a person to name another one."""
    planner = LlmPlanner()
    with pytest.raises(ModelRefused, match="foo"):
        await planner.plan_step(_context(model="foo:bar"), SELECTION, shipped)

    with pytest.raises(ModelUnusable, match="is called 'opnai'; did you mean openai"):
        planner.check("opnai:gpt-5")
    with pytest.raises(ModelUnusable, match="OPENAI_API_KEY"):
        planner.check("openai:gpt-5")


def test_the_variables_of_a_provider_are_read_from_its_code() -> None:
    """None is listed here; one that reads none, or is unknown, has none."""
    keys = {name: provider_variables(f"{name}:model")[0] for name in ("openai", "anthropic")}
    assert keys == {"openai": ("OPENAI_API_KEY",), "anthropic": ("ANTHROPIC_API_KEY",)}
    assert provider_variables("deepseek:chat")[0] == ("DEEPSEEK_API_KEY",)
    assert provider_variables("ollama:qwen")[1] == ("OLLAMA_BASE_URL",)
    assert provider_variables("foo:bar") == provider_variables("no-provider") == ((), ())


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (400, {"message": "tool_choice is not supported"}, "tool_choice is not supported"),
        (400, {"error": {"message": "max_tokens: 9 > 8"}}, "max_tokens: 9 > 8"),
        (404, {"detail": "no route"}, "no such model, or no such API at this address: no route"),
        (400, "<html>no</html>", "it refuses the request as it is"),
        (401, {"message": "Incorrect API key: sk-7"}, "it does not take the key"),
        (400, {"message": "filtered", "code": "content_filter"}, "content filter"),
    ],
)
def test_a_refused_request_is_explained_by_its_provider(
    status: int, body: object, told: str
) -> None:
    """In its own words, where they are about the request and not about who asks."""
    code = body.get("code") if isinstance(body, dict) else None
    error = exceptions.ModelHTTPError.for_category(
        _CATEGORY[status],
        status_code=status,
        model_name="gpt-5",
        body=body,
        provider_error_code=code,
    )

    said = str(trouble_with("openai:gpt-5", error))

    assert told in said
    assert "sk-7" not in said and "html" not in said
    assert "content filter" in CAUSES["content_filter"]


_CATEGORY: Final[dict[int, Any]] = {
    400: exceptions.ModelRequestRejectedError,
    401: exceptions.ModelAuthenticationError,
    404: exceptions.ModelNotFoundError,
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Key sk-abcdef is bad", "Key \u2026 is bad"),
        ("token eyJhbGciOiJIUzI1NiJ9abc refused", "token \u2026 refused"),
        ("of ada@example.com and 4111111111", "of \u2026 and \u2026"),
        ("message 'book a table for Zephyrine' is too long", "message \u2026 is too long"),
        ("input Zephyrine, flagged", "input \u2026 flagged"),
        ("unknown parameter: parallel_tool_calls", "unknown parameter: parallel_tool_calls"),
    ],
)
def test_nothing_of_a_prompt_or_a_key_is_quoted(text: str, shown: str) -> None:
    """The rest of a provider's sentence stays."""
    assert redacted(text, "Please book a table for Zephyrine with parallel care.") == shown


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
