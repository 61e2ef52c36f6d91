"""The three APIs of the model server: requests and what providers refuse of them, answers, errors.

OpenAI and Anthropic generate the types of their client libraries from the documents of their APIs.
As JSON Schema without additional fields, these types show what the real service refuses; further
rules state what it refuses beyond them.
"""

import functools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import jsonschema_rs
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.testing.model_server.replies import (
    Api,
    ConversationTurn,
    ModelAnswer,
    ModelCall,
    ReceivedRequest,
    ShownTool,
    StatusTrouble,
)

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class _Closed(GenerateJsonSchema):
    """Schemas whose objects allow only the fields that they name."""

    def typed_dict_schema(self, schema: Any) -> JsonSchemaValue:
        made = super().typed_dict_schema(schema)
        made.setdefault("additionalProperties", False)
        return made


def schema_breaches(api: Api, body: JsonObject) -> list[str]:
    """Return the first few places where a request does not fit the provider's schema.

    Raises:
        ImportError: the provider's client library is not installed.
    """
    errors = islice(_validator(api, bool(body.get("stream"))).iter_errors(body), 5)
    return [
        f"{'/'.join(map(str, error.instance_path)) or 'the request'}: {error.message[:300]}"
        for error in errors
    ]


@functools.cache
def _validator(api: Api, is_streamed: bool) -> jsonschema_rs.Validator:
    kind = "Streaming" if is_streamed else "NonStreaming"
    named: Any
    if api == "messages":
        # The planner's client uses the beta path, whose fields are a superset.
        from anthropic.types.beta import message_create_params

        named = getattr(message_create_params, f"MessageCreateParams{kind}")
    elif api == "chat":
        from openai.types.chat import completion_create_params

        named = getattr(completion_create_params, f"CompletionCreateParams{kind}")
    else:
        from openai.types.responses import response_create_params

        named = getattr(response_create_params, f"ResponseCreateParams{kind}")
    return jsonschema_rs.validator_for(TypeAdapter(named).json_schema(schema_generator=_Closed))


def open_ai_tool_breaches(functions: Sequence[Mapping[str, Any]], choice: Any) -> Iterator[str]:
    """Yield OpenAI's objections to a list of functions and to the choice among them."""
    yield from duplicate_names(functions)
    if len(functions) > 128:
        yield f"{len(functions)} tools are more than 128"
    if choice == "required" and not functions:
        yield "tool_choice is required, and there are no tools"
    for function in functions:
        name, parameters = function["name"], function.get("parameters") or {}
        if not _NAME.fullmatch(name):
            yield f"tool name {name!r} does not match {_NAME.pattern}"
        if parameters and parameters.get("type") != "object":
            yield f"the parameters of {name} are not an object"
        for word in ("anyOf", "oneOf", "allOf", "enum", "const", "not"):
            if word in parameters:
                yield f"the parameters of {name} have {word} at the top level"
        if function.get("strict"):
            yield from _not_strict(parameters, name)


def duplicate_names(functions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield an objection for each name that several tools have."""
    names = Counter(function["name"] for function in functions if "name" in function)
    yield from (f"{n} tools are named {name}" for name, n in names.items() if n > 1)


def unpaired(items: Sequence[Mapping[str, Any]], key: str, call: str, output: str) -> Iterator[str]:
    """Yield an objection for each call without an answer and each answer without a call."""
    made: list[str] = []
    answered: list[str] = []
    for item in items:
        if item.get("type") == call:
            made.append(item[key])
        elif item.get("type") == output:
            if item[key] not in made:
                yield f"no tool call found for {output} with {key} {item[key]}"
            answered.append(item[key])
    yield from (f"no tool output found for {call} {name}" for name in made if name not in answered)


def unanswered(turns: Sequence[ConversationTurn]) -> Iterator[str]:
    """Yield an objection for each call and answer that are not adjacent."""
    waiting: set[str] = set()
    for turn in (*turns, ConversationTurn("user")):
        if turn.role == "tool":
            if turn.call_id not in waiting:
                yield f"the answer to {turn.call_id} has no call right before it"
            waiting.discard(turn.call_id)
            continue
        yield from (f"the call {call_id} is not answered directly" for call_id in sorted(waiting))
        waiting = {call.call_id for call in turn.calls}


def anthropic_breaches(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield Anthropic's objections to a request."""
    messages = body["messages"]
    if not messages:
        yield "messages: at least one message is required"
    elif messages[0]["role"] != "user":
        yield "messages: the first message must use the user role"
    for message in messages:
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for block in blocks:
            if block.get("type") == "text" and not block["text"].strip():
                yield "messages: text content blocks must be non-empty"
    for tool in body.get("tools") or []:
        schema = tool.get("input_schema", {})
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema:
                yield f"the input_schema of {tool['name']} has {word} at the top level"
        for name in (name for inner in walk(schema) for name in properties_of(inner)):
            if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
                yield f"tool {tool['name']} has a property {name!r}"
    thinking = body.get("thinking") or {}
    if thinking.get("type") not in (None, "disabled"):
        if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
            yield "thinking may not be enabled when tool_choice forces tool use"
        if thinking.get("budget_tokens", 0) >= body["max_tokens"]:
            yield "max_tokens must be greater than thinking.budget_tokens"
        if body.get("temperature", 1) != 1:
            yield "temperature may only be 1 when thinking is enabled"
    if body["max_tokens"] < 1:
        yield "max_tokens must be at least 1"
    breakpoints = str(body).count("'cache_control': {")
    if breakpoints > 4:
        yield f"{breakpoints} blocks with cache_control are more than 4"


def _not_strict(schema: Any, place: str) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _not_strict(item, place)
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        if schema.get("additionalProperties") is not False:
            yield f"{place} is strict and does not forbid additional properties"
        if missing := sorted(set(properties) - set(schema.get("required", []))):
            yield f"{place} is strict and does not require {', '.join(missing)}"
    for name, inner in schema.items():
        yield from _not_strict(inner, f"{place}.{name}")


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
        for item, following in zip(items, [*items[1:], {}], strict=False):
            is_call = following.get("type") in ("function_call", "reasoning")
            is_followed = is_call or following.get("role") == "assistant"
            if item.get("type") == "reasoning" and not is_followed:
                yield f"reasoning item {item.get('id')} was provided without its following item"

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
            "arguments": arguments_text(call),
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
        system, turns = [], []
        for message in _listed(body["messages"]):
            role, text = message["role"], _joined_text(message.get("content"))
            if role in _SYSTEM:
                system.append(text)
            elif role == "tool":
                turns.append(ConversationTurn("tool", text, call_id=message["tool_call_id"]))
            elif role != "assistant":
                turns.append(ConversationTurn("user", text))
            else:
                made = []
                for one in message.get("tool_calls") or []:
                    called = one["function"]
                    made.append(ModelCall(called["name"], _parsed(called["arguments"]), one["id"]))
                turns.append(ConversationTurn("assistant", text, tuple(made)))
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
                    "function": {"name": call.name, "arguments": arguments_text(call)},
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


class MessagesApi:
    """Anthropic's messages API."""

    api: Api = "messages"
    path = "/v1/messages"

    def read(self, body: JsonObject) -> Conversation:
        """Read a request that fits the schema; a tool's answer is part of a user's message."""
        turns = []
        for message in _listed(body["messages"]):
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [block for block in blocks if block["type"] == "text"]
            if message["role"] == "assistant":
                calls = [b for b in blocks if b["type"] == "tool_use"]
                made = tuple(ModelCall(b["name"], b["input"], b["id"]) for b in calls)
                turns.append(ConversationTurn("assistant", _joined_text(texts), made))
                continue
            for block in blocks:
                if block["type"] == "tool_result":
                    text = _joined_text(block.get("content"))
                    turns.append(ConversationTurn("tool", text, call_id=block["tool_use_id"]))
            if texts:
                turns.append(ConversationTurn("user", _joined_text(texts)))
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


ApiFormat = ResponsesApi | CompletionsApi | MessagesApi
"""An API of the model server."""


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


def arguments_text(call: ModelCall) -> str:
    """Return the arguments of a call as the JSON text that OpenAI's APIs send."""
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
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") or block.get("content") for block in content)
    return "\n".join(
        text if isinstance(text, str) else _joined_text(text) for text in texts if text
    )
