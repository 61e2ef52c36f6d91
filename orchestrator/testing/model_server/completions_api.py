"""OpenAI's chat completions, which many servers speak: `POST /v1/chat/completions`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.core.record import JsonObject
from orchestrator.testing.model_server.api_format import (
    Document,
    Event,
    TokenCount,
    arguments_text,
    joined_text,
    parsed_arguments,
)
from orchestrator.testing.model_server.conversation_rules import open_ai_tool_breaches, unanswered
from orchestrator.testing.model_server.received import (
    Api,
    ConversationTurn,
    ModelCall,
    ReceivedRequest,
    ShownTool,
)
from orchestrator.testing.model_server.replies import ModelAnswer
from orchestrator.testing.model_server.responses_api import open_ai_error
from orchestrator.testing.model_server.wire_troubles import StatusTrouble

_FINISHED: Final = {
    "stop": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "stop",
}
_SYSTEM: Final = ("system", "developer")


class CompletionsApi:
    """Reads and writes chat completions."""

    api: Api = "chat"
    path = "/v1/chat/completions"
    key_header = "authorization"

    def read(self, body: JsonObject, headers: Mapping[str, str], number: int) -> ReceivedRequest:
        """A request that fits the schema."""
        messages: list[dict[str, Any]] = body["messages"]  # type: ignore[assignment]
        told = [joined_text(m["content"]) for m in messages if m["role"] in _SYSTEM]
        return ReceivedRequest(
            api=self.api,
            model=str(body["model"]),
            instructions="\n\n".join(told),
            turns=tuple(_turn(m) for m in messages if m["role"] not in _SYSTEM),
            tools={tool.name: tool for tool in _tools(body)},
            body=body,
            headers=headers,
            number=number,
        )

    def breaches(self, request: ReceivedRequest) -> Iterator[str]:
        """What the provider refuses though the schema allows it."""
        tools: Any = request.body.get("tools") or []
        functions = [tool["function"] for tool in tools if tool["type"] == "function"]
        yield from open_ai_tool_breaches(functions, request.body.get("tool_choice"))
        yield from unanswered(request.turns)

    def whole(self, answer: ModelAnswer, request: ReceivedRequest, took: TokenCount) -> Document:
        """The answer as one document."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": answer.text or None,
            "refusal": answer.refusal or None,
        }
        if answer.calls:
            message["tool_calls"] = _calls(answer, request)
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _FINISHED[answer.stop_reason],
        }
        head = _head(request, "chat.completion")
        return {**head, "choices": [choice], "usage": _usage(took)}

    def events(
        self, answer: ModelAnswer, request: ReceivedRequest, took: TokenCount
    ) -> Iterator[Event]:
        """The answer as it is streamed."""
        head = _head(request, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finished: str | None = None) -> Event:
            choice = {"index": 0, "delta": delta, "finish_reason": finished}
            return "", {**head, "choices": [choice], "usage": None}

        yield chunk({"role": "assistant", "content": ""})
        if answer.text:
            yield chunk({"content": answer.text})
        if answer.refusal:
            yield chunk({"refusal": answer.refusal})
        for place, call in enumerate(_calls(answer, request)):
            yield chunk({"tool_calls": [{"index": place, **call}]})
        yield chunk({}, _FINISHED[answer.stop_reason])
        options: Any = request.body.get("stream_options") or {}
        if options.get("include_usage"):
            yield "", {**head, "choices": [], "usage": _usage(took)}

    def error(self, trouble: StatusTrouble) -> Document:
        """The body of an error."""
        return open_ai_error(trouble)


def _head(request: ReceivedRequest, kind: str) -> Document:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": kind,
        "created": 1_763_800_000,
        "model": request.model,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _turn(message: Mapping[str, Any]) -> ConversationTurn:
    text = joined_text(message.get("content"))
    if message["role"] == "tool":
        return ConversationTurn("tool", text, call_id=message["tool_call_id"])
    if message["role"] != "assistant":
        return ConversationTurn("user", text)
    made = [
        ModelCall(
            call["function"]["name"],
            parsed_arguments(call["function"]["arguments"]),
            call["id"],
        )
        for call in message.get("tool_calls") or []
    ]
    return ConversationTurn("assistant", text, tuple(made))


def _tools(body: JsonObject) -> Iterator[ShownTool]:
    tools: Any = body.get("tools") or []
    for tool in tools:
        if tool["type"] == "function":
            made = tool["function"]
            yield ShownTool(
                made["name"], made.get("description") or "", made.get("parameters") or {}
            )


def _calls(answer: ModelAnswer, request: ReceivedRequest) -> list[dict[str, Any]]:
    return [
        {
            "id": call.call_id or f"call_{request.number}_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(call)},
        }
        for place, call in enumerate(answer.calls)
    ]


def _usage(took: TokenCount) -> Document:
    return {
        "prompt_tokens": took.input_tokens,
        "completion_tokens": took.output_tokens,
        "total_tokens": took.input_tokens + took.output_tokens,
        "prompt_tokens_details": {"cached_tokens": took.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
