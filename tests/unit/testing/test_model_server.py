"""The model server on its own: three APIs, their rules and troubles, used by the real library."""

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Final

import httpx
import pytest
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from orchestrator.testing.model_server import (
    PROVIDER_TROUBLES,
    ModelCall,
    ModelServer,
    ModelTrouble,
    broken_call,
    call,
    calling,
    hang,
    nothing,
    rate_limited,
    refuse,
    say,
)

MODELS: Final = ("openai:gpt-5", "openai-chat:gpt-4o", "anthropic:claude-sonnet-5-5")
LOOK: Final = ToolDefinition(
    name="look",
    description="Look.",
    parameters_json_schema={
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    },
)
PARAMETERS: Final = ModelRequestParameters(function_tools=[LOOK], allow_text_output=False)
HELLO: Final[list[ModelMessage]] = [
    ModelRequest(parts=[UserPromptPart("hello")], instructions="Be brief.")
]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    thinks = calling(ModelCall("look", {"query": "q"}), text="So.", thought="Hm.")
    async with ModelServer(lambda asked: thinks) as running:
        yield running


async def _ask(
    server: ModelServer, name: str, messages: list[ModelMessage], *, timeout_s: float = 30
) -> ModelResponse:
    settings = ModelSettings(max_retries=0, parallel_tool_calls=False, timeout=timeout_s)
    return await model_request(
        server.model(name), messages, model_settings=settings, model_request_parameters=PARAMETERS
    )


def _called(answer: ModelResponse) -> ToolCallPart:
    return next(part for part in answer.parts if isinstance(part, ToolCallPart))


@pytest.mark.parametrize("name", MODELS)
async def test_a_conversation_of_two_turns(server: ModelServer, name: str) -> None:
    """The model's turn goes back with the tool's answer, and reads the same in each API."""
    answer = await _ask(server, name, HELLO)
    made = _called(answer)
    found = ToolReturnPart("look", "found it", tool_call_id=made.tool_call_id)
    await _ask(
        server, name, [*HELLO, answer, ModelRequest(parts=[found], instructions="Be brief.")]
    )

    assert made.args_as_dict() == {"query": "q"}
    first, second = server.requests
    assert (first.prompt, first.instructions, list(first.tools)) == ("hello", "Be brief.", ["look"])
    assert second.turns[-1].text == "found it"
    calls = [(c.name, c.arguments) for turn in second.turns for c in turn.calls]
    assert calls == [("look", {"query": "q"})]
    assert answer.usage.input_tokens > 0 < answer.usage.output_tokens


async def test_a_thought_of_the_responses_api_is_carried(server: ModelServer) -> None:
    """The encrypted reasoning is sent as the API prescribes."""
    answer = await _ask(server, MODELS[0], HELLO)
    thought = next(part for part in answer.parts if isinstance(part, ThinkingPart))
    assert thought.signature == "sealed-1"


@pytest.mark.parametrize("trouble", PROVIDER_TROUBLES.values(), ids=PROVIDER_TROUBLES)
async def test_a_trouble_reaches_the_library(server: ModelServer, trouble: ModelTrouble) -> None:
    """No trouble looks like an answer; the next request succeeds."""
    for name in MODELS:
        server.next(trouble)
        # The library lets a TypeError pass where an answer of the Responses API has no output.
        with pytest.raises((AgentRunError, TypeError)):
            await _ask(server, name, HELLO, timeout_s=0.4)

        assert _called(await _ask(server, name, HELLO)).tool_name == "look"


@pytest.mark.parametrize("name", MODELS)
async def test_bad_answers(server: ModelServer, name: str) -> None:
    """The library reads an empty answer, a refusal, text, and a call that does not parse."""
    server.next(nothing(), refuse("No."), say("Hi."), broken_call("look", '{"query": "fl'))
    answers = [await _ask(server, name, HELLO) for _ in range(4)]

    assert not answers[0].parts
    assert answers[1].finish_reason == "content_filter"
    assert [part.content for part in answers[2].parts if isinstance(part, TextPart)] == ["Hi."]
    assert answers[3].tool_calls[0].args == '{"query": "fl'


@pytest.mark.parametrize("name", MODELS)
async def test_what_began_alike_comes_from_the_cache(name: str) -> None:
    """Tokens are counted like the provider's; Anthropic caches only what is marked."""
    long: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("hello")], instructions="Be brief. " * 800)
    ]
    async with ModelServer(lambda asked: call("look", query="q")) as server:
        cold = await _ask(server, name, long)
        warm = await _ask(server, name, long)

    assert cold.usage.cache_read_tokens == 0
    assert (warm.usage.cache_read_tokens >= 1_024) == (name != MODELS[2])
    assert warm.usage.input_tokens == cold.usage.input_tokens


async def test_a_key_that_was_rotated_is_refused(server: ModelServer) -> None:
    """An unknown key is answered by 401 and does not fail the test."""
    model = server.model(MODELS[0])
    server.key = "sk-other"
    with pytest.raises(AgentRunError) as failed:
        await model_request(model, HELLO)
    assert getattr(failed.value, "status_code", None) == 401
    assert not server.requests


async def test_retry_after_in_both_forms() -> None:
    async with ModelServer() as server:
        server.next(rate_limited(20), rate_limited(datetime(2026, 11, 23, 9, 5, tzinfo=UTC)))
        body = {"model": "m", "messages": USER}
        answers = [await _post(server, "/v1/chat/completions", body) for _ in range(2)]
    retry_after = [answer.headers["retry-after"] for answer in answers]
    assert retry_after == ["20", "Mon, 23 Nov 2026 09:05:00 GMT"]


USER: Final = [{"role": "user", "content": "x"}]
_CALLED: Final = {
    "role": "assistant",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    ],
}


_NAMED: Final = {"type": "function", "function": {"name": "a.b"}}
_OUTPUT: Final = {"type": "function_call_output", "call_id": "c9", "output": "x"}
_STRICT: Final = {
    "type": "function",
    "name": "look",
    "strict": True,
    "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
}
_REASONING: Final = {"type": "reasoning", "id": "rs_1", "summary": []}
ILL: Final[dict[str, list[tuple[dict[str, Any], str]]]] = {
    "/v1/chat/completions": [
        ({}, "messages"),
        ({"messages": USER, "colour": 1}, "colour"),
        ({"messages": [*USER, _CALLED]}, "not answered"),
        ({"messages": USER, "tool_choice": "required"}, "there are no tools"),
        ({"messages": USER, "tools": [_NAMED]}, "does not match"),
    ],
    "/v1/responses": [
        ({"model": None, "input": "x"}, "model"),
        ({"input": "x", "max_tokens": 5}, "max_tokens"),
        ({"input": [_OUTPUT]}, "no tool call found"),
        ({"input": "x", "tools": [_STRICT]}, "is strict and does not"),
        ({"input": [*USER, _REASONING]}, "without its following item"),
    ],
    "/v1/messages": [
        ({"messages": USER}, "max_tokens"),
        ({"max_tokens": 9, "messages": [{"role": "user", "content": " "}]}, "non-empty"),
        ({"max_tokens": 9, "messages": [{"role": "assistant", "content": "x"}]}, "first message"),
    ],
    "/v1/files": [({}, "Unknown path")],
}


async def test_an_invalid_request_gets_the_error_of_the_provider() -> None:
    async with ModelServer(lambda asked: say("x")) as server:
        for path, body, reason in [(at, *one) for at, several in ILL.items() for one in several]:
            sent = {name: value for name, value in {"model": "m", **body}.items() if value}
            answer = await _post(server, path, sent)
            assert answer.status_code in (400, 404), path
            assert reason in answer.text, (path, body)
        assert len(server.refused) >= len(ILL)
        assert not server.requests
        server.refused.clear()


async def test_an_invalid_request_fails_the_test() -> None:
    """The block raises at its end, unless it fails by itself."""
    with pytest.raises(AssertionError, match="the provider would refuse this"):
        async with ModelServer() as server:
            await _post(server, "/v1/responses", {})
    with pytest.raises(ZeroDivisionError):
        async with ModelServer() as server:
            await _post(server, "/v1/responses", {})
            _ = 1 / 0


async def test_a_server_that_hangs_closes_at_once() -> None:
    """Leaving the block does not wait for a hanging answer."""
    began = time.monotonic()
    async with ModelServer() as server:
        server.always(hang())
        with pytest.raises(AgentRunError):
            await _ask(server, MODELS[0], HELLO, timeout_s=0.4)

    assert time.monotonic() - began < 30


async def _post(server: ModelServer, path: str, body: dict[str, Any]) -> httpx.Response:
    headers = {"authorization": f"Bearer {server.key}", "anthropic-version": "2023-06-01"}
    async with httpx.AsyncClient(headers=headers) as client:
        return await client.post(server.url + path, json=body)
