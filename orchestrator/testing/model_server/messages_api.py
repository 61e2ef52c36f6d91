"""Anthropic's messages API: `POST /v1/messages`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.core.record import JsonObject
from orchestrator.testing.model_server.api_format import (
    Document,
    Event,
    TokenCount,
    arguments_text,
    joined_text,
)
from orchestrator.testing.model_server.conversation_rules import (
    anthropic_breaches,
    duplicate_names,
    unanswered,
)
from orchestrator.testing.model_server.received import (
    Api,
    ConversationTurn,
    ModelCall,
    ReceivedRequest,
    ShownTool,
)
from orchestrator.testing.model_server.replies import ModelAnswer
from orchestrator.testing.model_server.wire_troubles import StatusTrouble

_STOPPED: Final = {
    "stop": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}
_QUOTA: Final = "insufficient_quota"


class MessagesApi:
    """Reads and writes the messages API."""

    api: Api = "messages"
    path = "/v1/messages"
    key_header = "x-api-key"

    def read(self, body: JsonObject, headers: Mapping[str, str], number: int) -> ReceivedRequest:
        """A request that fits the schema."""
        messages: list[dict[str, Any]] = body["messages"]  # type: ignore[assignment]
        return ReceivedRequest(
            api=self.api,
            model=str(body["model"]),
            instructions=joined_text(body.get("system")),
            turns=tuple(turn for message in messages for turn in _turns(message)),
            tools={tool.name: tool for tool in _tools(body)},
            body=body,
            headers=headers,
            number=number,
        )

    def breaches(self, request: ReceivedRequest) -> Iterator[str]:
        """What the provider refuses though the schema allows it."""
        if "anthropic-version" not in request.headers:
            yield "anthropic-version: header is required"
        tools: Any = request.body.get("tools") or []
        yield from duplicate_names(tools)
        yield from unanswered(request.turns)
        yield from anthropic_breaches(request.body)

    def whole(self, answer: ModelAnswer, request: ReceivedRequest, took: TokenCount) -> Document:
        """The answer as one document."""
        return {
            "id": f"msg_{request.number}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": list(_blocks(answer, request)),
            "stop_reason": _STOPPED[answer.stop_reason],
            "stop_sequence": None,
            "usage": _usage(took),
        }

    def events(
        self, answer: ModelAnswer, request: ReceivedRequest, took: TokenCount
    ) -> Iterator[Event]:
        """The answer as it is streamed."""
        whole = self.whole(answer, request, took)
        begun = {**whole, "content": [], "stop_reason": None}
        told: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
        arguments = iter([arguments_text(call) for call in answer.calls])
        for index, block in enumerate(_blocks(answer, request)):
            inside = next(arguments) if block["type"] == "tool_use" else ""
            told += _block_events(index, block, inside)
        ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        told.append({"type": "message_delta", "delta": ending, "usage": _usage(took)})
        told.append({"type": "message_stop"})
        for event in told:
            yield event["type"], event

    def error(self, trouble: StatusTrouble) -> Document:
        """The body of an error."""
        kind = "rate_limit_error" if trouble.kind == _QUOTA else trouble.kind
        inner = {"type": kind, "message": trouble.message}
        return {"type": "error", "error": inner, "request_id": "req_1"}


def _turns(message: Mapping[str, Any]) -> Iterator[ConversationTurn]:
    """An answer of a tool stands in a user's message, and is a turn of its own here."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [block for block in blocks if block["type"] == "text"]
    if message["role"] == "assistant":
        calls = [b for b in blocks if b["type"] == "tool_use"]
        made = tuple(ModelCall(b["name"], b["input"], b["id"]) for b in calls)
        yield ConversationTurn("assistant", joined_text(texts), made)
        return
    for block in blocks:
        if block["type"] == "tool_result":
            text = joined_text(block.get("content"))
            yield ConversationTurn("tool", text, call_id=block["tool_use_id"])
    if texts:
        yield ConversationTurn("user", joined_text(texts))


def _tools(body: JsonObject) -> Iterator[ShownTool]:
    tools: Any = body.get("tools") or []
    for tool in tools:
        if tool.get("type") in (None, "custom"):
            yield ShownTool(tool["name"], tool.get("description") or "", tool["input_schema"])


def _blocks(answer: ModelAnswer, request: ReceivedRequest) -> Iterator[dict[str, Any]]:
    number = request.number
    if answer.thought and request.body.get("thinking"):
        yield {"type": "thinking", "thinking": answer.thought, "signature": f"signed-{number}"}
    if answer.text or answer.refusal:
        yield {"type": "text", "text": answer.text or answer.refusal, "citations": None}
    for place, call in enumerate(answer.calls):
        yield {
            "type": "tool_use",
            "id": call.call_id or f"toolu_{number}_{place}",
            "name": call.name,
            # What is no object cannot leave as one: the real API sends what it could read of it.
            "input": call.arguments if isinstance(call.arguments, dict) else {},
        }


def _usage(took: TokenCount) -> Document:
    """As Anthropic counts: what came from the cache is not among the input tokens."""
    return {
        "input_tokens": took.input_tokens - took.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": took.cached_tokens,
        "output_tokens": took.output_tokens,
    }


def _block_events(index: int, block: dict[str, Any], arguments: str) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    if block["type"] == "tool_use":
        opened = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": arguments}]
    elif block["type"] == "thinking":
        opened = {**block, "thinking": "", "signature": ""}
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    else:
        opened = {**block, "text": ""}
        deltas = [{"type": "text_delta", "text": block["text"]}]
    return [
        {"type": "content_block_start", "index": index, "content_block": opened},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]
