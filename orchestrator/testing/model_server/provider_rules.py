"""Finds requests that a provider would refuse, by its published schema and by further rules.

OpenAI and Anthropic generate the types of their client libraries from the documents of their APIs.
As JSON Schema without additional fields, these types show what the real service refuses.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import jsonschema_rs
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, walk
from orchestrator.testing.model_server.replies import Api, ConversationTurn

_MOST_ERRORS = 5
_LONGEST = 300
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST_TOOLS: Final = 128
_NOT_AT_THE_TOP: Final = ("anyOf", "oneOf", "allOf", "enum", "const", "not")
_MOST_BREAKPOINTS: Final = 4
_KEY: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


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
    errors = _validator(api, bool(body.get("stream"))).iter_errors(body)
    return [
        f"{'/'.join(map(str, error.instance_path)) or 'the request'}: {error.message[:_LONGEST]}"
        for _, error in zip(range(_MOST_ERRORS), errors, strict=False)
    ]


@functools.cache
def _validator(api: Api, is_streamed: bool) -> jsonschema_rs.Validator:
    schema = TypeAdapter(_request_type(api, is_streamed)).json_schema(schema_generator=_Closed)
    return jsonschema_rs.validator_for(schema)


def _request_type(api: Api, is_streamed: bool) -> Any:
    """Return the type of a request; for OpenAI's APIs only unstreamed answers are served."""
    if api == "messages":
        # The planner's client uses the beta path, whose fields are a superset.
        from anthropic.types.beta import message_create_params as messages

        if is_streamed:
            return messages.MessageCreateParamsStreaming
        return messages.MessageCreateParamsNonStreaming
    if api == "chat":
        from openai.types.chat import completion_create_params as chat

        return chat.CompletionCreateParamsNonStreaming
    from openai.types.responses import response_create_params as responses

    return responses.ResponseCreateParamsNonStreaming


def open_ai_tool_breaches(functions: Sequence[Mapping[str, Any]], choice: Any) -> Iterator[str]:
    """Yield OpenAI's objections to a list of functions and to the choice among them."""
    yield from duplicate_names(functions)
    if len(functions) > _MOST_TOOLS:
        yield f"{len(functions)} tools are more than {_MOST_TOOLS}"
    if choice == "required" and not functions:
        yield "tool_choice is required, and there are no tools"
    for function in functions:
        yield from _function_breaches(function)


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


def orphaned_reasoning(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield an objection for each reasoning item without the item that followed it."""
    for item, following in zip(items, [*items[1:], {}], strict=False):
        kind = following.get("type")
        is_followed = kind in ("function_call", "reasoning") or following.get("role") == "assistant"
        if item.get("type") == "reasoning" and not is_followed:
            yield f"reasoning item {item.get('id')} was provided without its following item"


def anthropic_breaches(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield Anthropic's objections to a request."""
    messages = body["messages"]
    if not messages:
        yield "messages: at least one message is required"
    elif messages[0]["role"] != "user":
        yield "messages: the first message must use the user role"
    for message in messages:
        yield from _empty_texts(message["content"])
    for tool in body.get("tools") or []:
        for word in ("anyOf", "oneOf", "allOf"):
            if word in tool.get("input_schema", {}):
                yield f"the input_schema of {tool['name']} has {word} at the top level"
        for inner in walk(tool.get("input_schema", {})):
            wrong = [name for name in properties_of(inner) if not _KEY.fullmatch(name)]
            yield from (f"tool {tool['name']} has a property {name!r}" for name in wrong)
    yield from _thinking_breaches(body)
    if body["max_tokens"] < 1:
        yield "max_tokens must be at least 1"
    breakpoints = str(body).count("'cache_control': {")
    if breakpoints > _MOST_BREAKPOINTS:
        yield f"{breakpoints} blocks with cache_control are more than {_MOST_BREAKPOINTS}"


def _function_breaches(function: Mapping[str, Any]) -> Iterator[str]:
    name, parameters = function["name"], function.get("parameters") or {}
    if not _NAME.fullmatch(name):
        yield f"tool name {name!r} does not match {_NAME.pattern}"
    if parameters and parameters.get("type") != "object":
        yield f"the parameters of {name} are not an object"
    for word in _NOT_AT_THE_TOP:
        if word in parameters:
            yield f"the parameters of {name} have {word} at the top level"
    if function.get("strict"):
        yield from _not_strict(parameters, name)


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


def _empty_texts(content: Any) -> Iterator[str]:
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for block in blocks:
        if block.get("type") == "text" and not block["text"].strip():
            yield "messages: text content blocks must be non-empty"


def _thinking_breaches(body: Mapping[str, Any]) -> Iterator[str]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") in (None, "disabled"):
        return
    choice = (body.get("tool_choice") or {}).get("type")
    if choice in ("any", "tool"):
        yield "thinking may not be enabled when tool_choice forces tool use"
    if thinking.get("budget_tokens", 0) >= body["max_tokens"]:
        yield "max_tokens must be greater than thinking.budget_tokens"
    if body.get("temperature", 1) != 1:
        yield "temperature may only be 1 when thinking is enabled"
