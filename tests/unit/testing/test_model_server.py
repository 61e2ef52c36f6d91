"""The model server on its own: three APIs, their rules, their troubles; asked by the library."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
import pytest
from pydantic_ai.direct import model_request, model_request_stream
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
    """One whose model looks for what it is told."""
    thinks = calling(ModelCall("look", {"query": "q"}), text="So.", thought="Hm.")
    async with ModelServer(lambda asked: thinks) as running:
        yield running


async def _ask(server: ModelServer, name: str, messages: list[ModelMessage]) -> ModelResponse:
    settings = ModelSettings(max_retries=0, parallel_tool_calls=False, timeout=0.4)
    return await model_request(
        server.model(name), messages, model_settings=settings, model_request_parameters=PARAMETERS
    )


def _called(answer: ModelResponse) -> ToolCallPart:
    return next(part for part in answer.parts if isinstance(part, ToolCallPart))


@pytest.mark.parametrize("name", MODELS)
async def test_a_conversation_of_two_turns(server: ModelServer, name: str) -> None:
    """What the model said goes back with the tool's answer, and all of it is read alike."""
    answer = await _ask(server, name, HELLO)
    made = _called(answer)
    found = ToolReturnPart("look", "found it", tool_call_id=made.tool_call_id)
    await _ask(
        server, name, [*HELLO, answer, ModelRequest(parts=[found], instructions="Be brief.")]
    )

    assert made.args_as_dict() == {"query": "q"}
    first, second = server.requests
    assert (first.prompt, first.instructions, list(first.tools)) == ("hello", "Be brief.", ["look"])
    assert second.told == "found it"
    assert [(c.name, c.arguments) for c in second.calls] == [("look", {"query": "q"})]
    assert answer.usage.input_tokens > 0 < answer.usage.output_tokens


@pytest.mark.parametrize("name", MODELS)
async def test_the_same_answer_is_streamed(server: ModelServer, name: str) -> None:
    """Piece by piece it comes to what comes whole."""
    whole = await _ask(server, name, HELLO)
    stream = model_request_stream(server.model(name), HELLO, model_request_parameters=PARAMETERS)
    async with stream as events:
        async for _ in events:
            pass
        streamed = events.get()

    def told(answer: ModelResponse) -> list[Any]:
        texts = [part.content for part in answer.parts if isinstance(part, TextPart)]
        return [*texts, _called(answer).tool_name, _called(answer).args_as_dict()]

    assert told(streamed) == told(whole) == ["So.", "look", {"query": "q"}]
    assert streamed.usage.output_tokens == whole.usage.output_tokens
    assert server.requests[-1].streamed


async def test_a_thought_of_the_responses_api_is_carried(server: ModelServer) -> None:
    """Sealed, as the API asks for it; without the call that it led to it is refused."""
    answer = await _ask(server, MODELS[0], HELLO)
    thought = next(part for part in answer.parts if isinstance(part, ThinkingPart))
    assert thought.signature == "sealed-1"

    async with ModelServer() as other:
        lonely = {"type": "reasoning", "id": "rs_1", "summary": []}
        body = {"model": "m", "input": [{"role": "user", "content": "x"}, lonely]}
        status, said = await _post(other, "/v1/responses", body)
        assert status == 400 and "without its following item" in said
        other.refused.clear()


@pytest.mark.parametrize("trouble", PROVIDER_TROUBLES.values(), ids=PROVIDER_TROUBLES)
async def test_a_trouble_reaches_the_library_as_trouble(
    server: ModelServer, trouble: ModelTrouble
) -> None:
    """None of them looks like an answer; the next request meets none."""
    for name in MODELS:
        server.next(trouble)
        # The library lets a TypeError pass where an answer of the Responses API has no output.
        with pytest.raises((AgentRunError, TypeError)):
            await _ask(server, name, HELLO)

        assert _called(await _ask(server, name, HELLO)).tool_name == "look"


@pytest.mark.parametrize("name", MODELS)
async def test_bad_answers(server: ModelServer, name: str) -> None:
    """Nothing, a refusal, text, and a call that is none."""
    server.next(nothing(), refuse("No."), say("Hi."), broken_call("look", '{"query": "fl'))
    answers = [await _ask(server, name, HELLO) for _ in range(4)]

    assert not answers[0].parts
    assert answers[1].finish_reason == "content_filter"
    assert [part.content for part in answers[2].parts if isinstance(part, TextPart)] == ["Hi."]
    assert answers[3].tool_calls[0].args == '{"query": "fl'


@pytest.mark.parametrize("name", MODELS)
async def test_what_began_alike_comes_from_the_cache(name: str) -> None:
    """As the provider counts; Anthropic only where it is asked to keep something."""
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
    """And it is no breach of the rules."""
    model = server.model(MODELS[0])
    server.key = "sk-other"
    with pytest.raises(AgentRunError) as failed:
        await model_request(model, HELLO)

    assert getattr(failed.value, "status_code", None) == 401
    assert not server.requests


async def test_retry_after_in_both_forms() -> None:
    """Seconds and a date."""
    from datetime import UTC, datetime

    async with ModelServer() as server:
        server.next(rate_limited(20), rate_limited(datetime(2026, 11, 23, 9, 5, tzinfo=UTC)))
        told = []
        for _ in range(2):
            async with httpx.AsyncClient() as client:
                answer = await client.post(
                    f"{server.openai_url}/chat/completions",
                    json={"model": "m", "messages": [{"role": "user", "content": "x"}]},
                    headers={"authorization": f"Bearer {server.key}"},
                )
            told.append((answer.status_code, answer.headers["retry-after"]))

    assert told == [(429, "20"), (429, "Mon, 23 Nov 2026 09:05:00 GMT")]


USER: Final = [{"role": "user", "content": "x"}]
_CALLED: Final = {
    "role": "assistant",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    ],
}


ILL: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("/v1/chat/completions", {"model": "m"}, "messages"),
    ("/v1/chat/completions", {"model": "m", "messages": USER, "colour": 1}, "colour"),
    ("/v1/chat/completions", {"model": "m", "messages": [*USER, _CALLED]}, "not answered"),
    (
        "/v1/chat/completions",
        {"model": "m", "messages": USER, "tool_choice": "required"},
        "there are no tools",
    ),
    (
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": USER,
            "tools": [{"type": "function", "function": {"name": "a.b"}}],
        },
        "does not fit",
    ),
    ("/v1/responses", {"input": "x"}, "model"),
    ("/v1/responses", {"model": "m", "input": "x", "max_tokens": 5}, "max_tokens"),
    (
        "/v1/responses",
        {
            "model": "m",
            "input": [{"type": "function_call_output", "call_id": "c9", "output": "x"}],
        },
        "no tool call found",
    ),
    (
        "/v1/responses",
        {
            "model": "m",
            "input": "x",
            "tools": [
                {
                    "type": "function",
                    "name": "look",
                    "strict": True,
                    "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
                }
            ],
        },
        "is strict and does not",
    ),
    ("/v1/messages", {"model": "m", "messages": USER}, "max_tokens"),
    (
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": " "}]},
        "non-empty",
    ),
    (
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": "x"}]},
        "first message",
    ),
    ("/v1/files", {}, "Unknown path"),
]


async def test_what_the_provider_would_refuse_is_answered_as_it_would() -> None:
    """By its error, with the reason; none of it reaches the script."""
    async with ModelServer(lambda asked: say("x"), must_fit=False) as server:
        for path, body, reason in ILL:
            status, said = await _post(server, path, body)
            assert (status in (400, 404), reason in said) == (True, True), (path, body, said)

    assert len(server.refused) >= len(ILL)
    assert not server.requests


async def test_a_compatible_server_holds_to_the_schema_alone() -> None:
    """Servers that speak as OpenAI does take what OpenAI's own rules do not."""
    named = {"type": "function", "function": {"name": "a.b"}}
    async with ModelServer(lambda asked: say("x"), is_openai=False) as server:
        body = {"model": "m", "messages": USER, "tools": [named]}
        status, _ = await _post(server, "/v1/chat/completions", body)
        assert status == 200

        status, _ = await _post(server, "/v1/chat/completions", {**body, "colour": 1})
        assert status == 400
        server.refused.clear()


async def test_what_the_provider_would_refuse_fails_the_test() -> None:
    """Where the block is left, if nothing was said before."""
    with pytest.raises(AssertionError, match="the provider would refuse this"):
        async with ModelServer() as server:
            await _post(server, "/v1/responses", {})


async def test_the_first_failure_is_the_one_that_is_told() -> None:
    """A block that fails itself is not failed again."""
    with pytest.raises(ZeroDivisionError):
        async with ModelServer() as server:
            await _post(server, "/v1/responses", {})
            _ = 1 / 0


async def test_a_server_that_hangs_closes_at_once() -> None:
    """Nobody waits for an answer that never comes."""
    from orchestrator.testing.model_server import hang

    began = time.monotonic()
    async with ModelServer() as server:
        server.always(hang())
        with pytest.raises(AgentRunError):
            await _ask(server, MODELS[0], HELLO)

    assert time.monotonic() - began < 3


async def _post(server: ModelServer, path: str, body: dict[str, Any]) -> tuple[int, str]:
    headers = {"authorization": f"Bearer {server.key}", "anthropic-version": "2023-06-01"}
    async with httpx.AsyncClient(headers=headers) as client:
        answer = await client.post(server.url + path, json=body)
    return answer.status_code, answer.text
