"""The three APIs of the model server: reading of requests, answers and errors."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from orchestrator.core.record import JsonObject
from orchestrator.testing.model_server.provider_rules import (
    anthropic_breaches,
    duplicate_names,
    open_ai_tool_breaches,
    orphaned_reasoning,
    unanswered,
    unpaired,
)
from orchestrator.testing.model_server.replies import (
    Api,
    ConversationTurn,
    ModelAnswer,
    ModelCall,
    ReceivedRequest,
    ShownTool,
    StatusTrouble,
)

Document = dict[str, Any]
_CREATED: Final = 1_763_800_000
_SYSTEM: Final = ("system", "developer")
_ENCRYPTED: Final = "reasoning.encrypted_content"


class TokenCount(NamedTuple):
    """The usage that an answer states."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int


class Conversation(NamedTuple):
    """The parts of a request that all APIs share."""

    instructions: str
    turns: Sequence[ConversationTurn]
    tools: Sequence[ShownTool]


class ApiFormat(Protocol):
    """An API of the model server."""

    api: Api
    path: str

    def read(self, body: JsonObject) -> Conversation:
        """Read a request that fits the schema."""
        ...

    def breaches(self, request: ReceivedRequest) -> Iterator[str]:
        """Yield the provider's objections to a request that fits the schema."""
        ...

    def answer(self, answer: ModelAnswer, request: ReceivedRequest, used: TokenCount) -> Document:
        """Return the body of an answer."""
        ...

    def error(self, trouble: StatusTrouble) -> Document:
        """Return the body of an error."""
        ...


class _OpenAi:
    def error(self, trouble: StatusTrouble) -> Document:
        """Return the body of an error."""
        error = {"message": trouble.message, "type": trouble.kind, "code": trouble.code}
        return {"error": {**error, "param": None}}


class ResponsesApi(_OpenAi):
    """OpenAI's Responses API."""

    api: Api = "responses"
    path = "/v1/responses"

    def read(self, body: JsonObject) -> Conversation:
        """Read a request that fits the schema."""
        items = _items(body)
        system = [_joined_text(i.get("content")) for i in items if i.get("role") in _SYSTEM]
        turns = [turn for item in items if (turn := _turn_of_item(item)) is not None]
        instructions = "\n\n".join([str(body.get("instructions") or ""), *system]).strip()
        return Conversation(instructions, turns, _functions(_listed(body.get("tools"))))

    def breaches(self, request: ReceivedRequest) -> Iterator[str]:
        """Yield the provider's objections to a request that fits the schema."""
        if not request.model:
            yield "missing required parameter: model"
        items = _items(request.body)
        tools = [tool for tool in _listed(request.body.get("tools")) if "name" in tool]
        yield from open_ai_tool_breaches(tools, request.body.get("tool_choice"))
        if request.body.get("previous_response_id") is None:
            yield from unpaired(items, "call_id", "function_call", "function_call_output")
        yield from orphaned_reasoning(items)

    def answer(self, answer: ModelAnswer, request: ReceivedRequest, used: TokenCount) -> Document:
        """Return the body of an answer."""
        return {
            "id": f"resp_{request.number}",
            "object": "response",
            "created_at": _CREATED,
            "status": _status(answer),
            "incomplete_details": {"reason": "max_output_tokens"} if answer.is_cut_off else None,
            "error": None,
            "model": request.model,
            "output": list(_output(answer, request)),
            "parallel_tool_calls": bool(request.body.get("parallel_tool_calls", True)),
            "tool_choice": request.body.get("tool_choice", "auto"),
            "tools": request.body.get("tools", []),
            "metadata": {},
            "usage": {
                "input_tokens": used.input_tokens,
                "input_tokens_details": {
                    "cached_tokens": used.cached_tokens,
                    "cache_write_tokens": 0,
                },
                "output_tokens": used.output_tokens,
                "output_tokens_details": {"reasoning_tokens": len(answer.thought) // 4},
                "total_tokens": used.input_tokens + used.output_tokens,
            },
        }


def _items(body: JsonObject) -> list[Document]:
    given = body.get("input")
    return [{"role": "user", "content": given}] if isinstance(given, str) else _listed(given)


def _turn_of_item(item: Mapping[str, Any]) -> ConversationTurn | None:
    kind = item.get("type", "message")
    if kind == "function_call":
        call = ModelCall(item["name"], _parsed(item["arguments"]), item["call_id"])
        return ConversationTurn("assistant", calls=(call,))
    if kind == "function_call_output":
        return ConversationTurn("tool", _joined_text(item["output"]), call_id=item["call_id"])
    if kind != "message" or item.get("role") in _SYSTEM:
        return None
    text = _joined_text(item.get("content"))
    return ConversationTurn("assistant" if item.get("role") == "assistant" else "user", text)


def _output(answer: ModelAnswer, request: ReceivedRequest) -> Iterator[Document]:
    number, status = request.number, _status(answer)
    if answer.thought:
        wanted: Any = request.body.get("include") or []
        sealed = {"encrypted_content": f"sealed-{number}"} if _ENCRYPTED in wanted else {}
        summary = [{"type": "summary_text", "text": answer.thought}]
        yield {"id": f"rs_{number}", "type": "reasoning", "summary": summary, **sealed}
    if answer.text or answer.refusal:
        content: list[Document] = []
        if answer.text:
            content.append({"type": "output_text", "text": answer.text, "annotations": []})
        if answer.refusal:
            content.append({"type": "refusal", "refusal": answer.refusal})
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant"}
        yield {**message, "status": status, "content": content}
    for place, call in enumerate(answer.calls):
        yield {
            "id": f"fc_{number}_{place}",
            "type": "function_call",
            "call_id": call.call_id or f"call_{number}_{place}",
            "name": call.name,
            "arguments": _arguments_text(call),
            "status": status,
        }


def _status(answer: ModelAnswer) -> str:
    return "incomplete" if answer.is_cut_off else "completed"


class CompletionsApi(_OpenAi):
    """OpenAI's chat completions, which many servers implement."""

    api: Api = "chat"
    path = "/v1/chat/completions"

    def read(self, body: JsonObject) -> Conversation:
        """Read a request that fits the schema."""
        messages = _listed(body["messages"])
        system = [_joined_text(m["content"]) for m in messages if m["role"] in _SYSTEM]
        turns = [_turn_of_message(m) for m in messages if m["role"] not in _SYSTEM]
        return Conversation("\n\n".join(system), turns, _functions(self._functions(body)))

    def breaches(self, request: ReceivedRequest) -> Iterator[str]:
        """Yield the provider's objections to a request that fits the schema."""
        functions = self._functions(request.body)
        yield from open_ai_tool_breaches(functions, request.body.get("tool_choice"))
        yield from unanswered(request.turns)

    def _functions(self, body: JsonObject) -> list[Document]:
        tools = _listed(body.get("tools"))
        return [{"type": "function", **t["function"]} for t in tools if t["type"] == "function"]

    def answer(self, answer: ModelAnswer, request: ReceivedRequest, used: TokenCount) -> Document:
        """Return the body of an answer."""
        message: Document = {
            "role": "assistant",
            "content": answer.text or None,
            "refusal": answer.refusal or None,
        }
        if answer.calls:
            message["tool_calls"] = [
                {
                    "id": call.call_id or f"call_{request.number}_{place}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": _arguments_text(call)},
                }
                for place, call in enumerate(answer.calls)
            ]
        reason = {"calls": "tool_calls", "length": "length"}.get(answer.stop_reason, "stop")
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            "id": f"chatcmpl-{request.number}",
            "object": "chat.completion",
            "created": _CREATED,
            "model": request.model,
            "choices": [choice],
            "usage": {
                "prompt_tokens": used.input_tokens,
                "completion_tokens": used.output_tokens,
                "total_tokens": used.input_tokens + used.output_tokens,
                "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        }


def _turn_of_message(message: Mapping[str, Any]) -> ConversationTurn:
    text = _joined_text(message.get("content"))
    if message["role"] == "tool":
        return ConversationTurn("tool", text, call_id=message["tool_call_id"])
    if message["role"] != "assistant":
        return ConversationTurn("user", text)
    calls = [(one["function"], one["id"]) for one in message.get("tool_calls") or []]
    made = tuple(ModelCall(f["name"], _parsed(f["arguments"]), call_id) for f, call_id in calls)
    return ConversationTurn("assistant", text, made)


class MessagesApi:
    """Anthropic's messages API, whose library streams long answers by itself."""

    api: Api = "messages"
    path = "/v1/messages"

    def read(self, body: JsonObject) -> Conversation:
        """Read a request that fits the schema."""
        turns = [turn for message in _listed(body["messages"]) for turn in _turns(message)]
        tools = [
            ShownTool(tool["name"], tool.get("description") or "", tool["input_schema"])
            for tool in _listed(body.get("tools"))
            if tool.get("type") in (None, "custom")
        ]
        return Conversation(_joined_text(body.get("system")), turns, tools)

    def breaches(self, request: ReceivedRequest) -> Iterator[str]:
        """Yield the provider's objections to a request that fits the schema."""
        if "anthropic-version" not in request.headers:
            yield "anthropic-version: header is required"
        yield from duplicate_names(_listed(request.body.get("tools")))
        yield from unanswered(request.turns)
        yield from anthropic_breaches(request.body)

    def answer(self, answer: ModelAnswer, request: ReceivedRequest, used: TokenCount) -> Document:
        """Return the body of an answer."""
        reasons = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens"}
        return {
            "id": f"msg_{request.number}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": list(_blocks(answer, request)),
            "stop_reason": reasons.get(answer.stop_reason, answer.stop_reason),
            "stop_sequence": None,
            "usage": {
                # Anthropic does not count cached tokens as input tokens.
                "input_tokens": used.input_tokens - used.cached_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": used.cached_tokens,
                "output_tokens": used.output_tokens,
            },
        }

    def error(self, trouble: StatusTrouble) -> Document:
        """Return the body of an error."""
        kind = "rate_limit_error" if trouble.kind == "insufficient_quota" else trouble.kind
        inner = {"type": kind, "message": trouble.message}
        return {"type": "error", "error": inner, "request_id": "req_1"}


def streamed(answer: ModelAnswer, whole: Document) -> Iterator[Document]:
    """Yield the events with which Anthropic streams an answer."""
    begun = {**whole, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun}
    arguments = iter([_arguments_text(call) for call in answer.calls])
    for index, block in enumerate(whole["content"]):
        opened, deltas = _opened(block, arguments)
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def _opened(block: Document, arguments: Iterator[str]) -> tuple[Document, list[Document]]:
    """Return a block in its initial form, and the deltas that complete it."""
    if block["type"] == "tool_use":
        delta = {"type": "input_json_delta", "partial_json": next(arguments)}
        return {**block, "input": {}}, [delta]
    if block["type"] == "thinking":
        thought = {"type": "thinking_delta", "thinking": block["thinking"]}
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [thought, signature]
    return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]


def _turns(message: Mapping[str, Any]) -> Iterator[ConversationTurn]:
    """Yield a message's turns; a tool's answer is part of a user's message."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [block for block in blocks if block["type"] == "text"]
    if message["role"] == "assistant":
        calls = [b for b in blocks if b["type"] == "tool_use"]
        made = tuple(ModelCall(b["name"], b["input"], b["id"]) for b in calls)
        yield ConversationTurn("assistant", _joined_text(texts), made)
        return
    for block in blocks:
        if block["type"] == "tool_result":
            text = _joined_text(block.get("content"))
            yield ConversationTurn("tool", text, call_id=block["tool_use_id"])
    if texts:
        yield ConversationTurn("user", _joined_text(texts))


def _blocks(answer: ModelAnswer, request: ReceivedRequest) -> Iterator[Document]:
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
            "input": call.arguments if isinstance(call.arguments, dict) else {},
        }


def _functions(tools: Sequence[Mapping[str, Any]]) -> list[ShownTool]:
    return [
        ShownTool(tool["name"], tool.get("description") or "", tool.get("parameters") or {})
        for tool in tools
        if tool["type"] == "function"
    ]


def _listed(value: Any) -> list[Document]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _arguments_text(call: ModelCall) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False)


def _parsed(text: Any) -> JsonObject | str:
    try:
        made = json.loads(text)
    except (TypeError, ValueError):
        return str(text)
    return made if isinstance(made, dict) else str(text)


def _joined_text(content: Any) -> str:
    """Return the text of a message's content: a string, or the text of its blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") or block.get("content") for block in content)
    return "\n".join(
        text if isinstance(text, str) else _joined_text(text) for text in texts if text
    )
