"""OpenAI's Responses API: `POST /v1/responses`."""

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
from orchestrator.testing.model_server.conversation_rules import open_ai_tool_breaches, unpaired
from orchestrator.testing.model_server.received import (
    Api,
    ConversationTurn,
    ModelCall,
    ReceivedRequest,
    ShownTool,
)
from orchestrator.testing.model_server.replies import ModelAnswer
from orchestrator.testing.model_server.wire_troubles import StatusTrouble


class ResponsesApi:
    """Reads and writes the Responses API."""

    api: Api = "responses"
    path = "/v1/responses"
    key_header = "authorization"

    def read(self, body: JsonObject, headers: Mapping[str, str], number: int) -> ReceivedRequest:
        """A request that fits the schema."""
        turns = [turn for item in _items(body) if (turn := _turn(item)) is not None]
        system = [joined_text(i.get("content")) for i in _items(body) if _is_instruction(i)]
        return ReceivedRequest(
            api=self.api,
            model=str(body.get("model", "")),
            instructions="\n\n".join([str(body.get("instructions") or ""), *system]).strip(),
            turns=tuple(turns),
            tools={tool.name: tool for tool in _tools(body)},
            body=body,
            headers=headers,
            number=number,
        )

    def breaches(self, request: ReceivedRequest) -> Iterator[str]:
        """What the provider refuses though the schema allows it."""
        if not request.model:
            yield "missing required parameter: model"
        items = _items(request.body)
        tools = [tool for tool in _listed(request.body.get("tools")) if "name" in tool]
        yield from open_ai_tool_breaches(tools, request.body.get("tool_choice"))
        if request.body.get("previous_response_id") is None:
            yield from unpaired(items, "call_id", "function_call", "function_call_output")
        yield from _orphaned_reasoning(items)

    def whole(self, answer: ModelAnswer, request: ReceivedRequest, took: TokenCount) -> Document:
        """The answer as one document."""
        return {
            "id": f"resp_{request.number}",
            "object": "response",
            "created_at": 1_763_800_000,
            "status": "incomplete" if answer.is_cut_off else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if answer.is_cut_off else None,
            "error": None,
            "model": request.model,
            "output": list(_output(answer, request)),
            "parallel_tool_calls": bool(request.body.get("parallel_tool_calls", True)),
            "tool_choice": request.body.get("tool_choice", "auto"),
            "tools": request.body.get("tools", []),
            "metadata": {},
            "usage": {
                "input_tokens": took.input_tokens,
                "input_tokens_details": {
                    "cached_tokens": took.cached_tokens,
                    "cache_write_tokens": 0,
                },
                "output_tokens": took.output_tokens,
                "output_tokens_details": {"reasoning_tokens": len(answer.thought) // 4},
                "total_tokens": took.input_tokens + took.output_tokens,
            },
        }

    def events(
        self, answer: ModelAnswer, request: ReceivedRequest, took: TokenCount
    ) -> Iterator[Event]:
        """The answer as it is streamed."""
        whole = self.whole(answer, request, took)
        begun = {**whole, "output": [], "status": "in_progress", "usage": None}
        told: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(_output(answer, request)):
            told += _item_events(index, item)
        ending = "response.incomplete" if answer.is_cut_off else "response.completed"
        told.append({"type": ending, "response": whole})
        for number, event in enumerate(told):
            yield event["type"], {**event, "sequence_number": number}

    def error(self, trouble: StatusTrouble) -> Document:
        """The body of an error."""
        return open_ai_error(trouble)


def open_ai_error(trouble: StatusTrouble) -> Document:
    """An error as both of OpenAI's APIs say it."""
    return {
        "error": {
            "message": trouble.message,
            "type": trouble.kind,
            "param": None,
            "code": trouble.code,
        }
    }


def _items(body: JsonObject) -> list[dict[str, Any]]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return _listed(given)


def _listed(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _is_instruction(item: Mapping[str, Any]) -> bool:
    return item.get("role") in ("system", "developer")


def _turn(item: Mapping[str, Any]) -> ConversationTurn | None:
    kind = item.get("type", "message")
    if kind == "function_call":
        arguments = parsed_arguments(item["arguments"])
        made = ModelCall(str(item["name"]), arguments, str(item["call_id"]))
        return ConversationTurn("assistant", calls=(made,))
    if kind == "function_call_output":
        text = joined_text(item["output"])
        return ConversationTurn("tool", text, call_id=str(item["call_id"]))
    if kind != "message" or _is_instruction(item):
        return None
    text = joined_text(item.get("content"))
    return ConversationTurn("assistant" if item.get("role") == "assistant" else "user", text)


def _tools(body: JsonObject) -> Iterator[ShownTool]:
    for tool in _listed(body.get("tools")):
        if tool["type"] == "function":
            yield ShownTool(
                tool["name"], tool.get("description") or "", tool.get("parameters") or {}
            )


def _orphaned_reasoning(items: list[dict[str, Any]]) -> Iterator[str]:
    """A reasoning item goes back only with the item that it led to, right after it."""
    after: list[dict[str, Any]] = [*items[1:], {}]
    for item, following in zip(items, after, strict=False):
        kind = following.get("type")
        is_followed = kind in ("function_call", "reasoning") or following.get("role") == "assistant"
        if item.get("type") == "reasoning" and not is_followed:
            yield f"reasoning item {item.get('id')} was provided without its following item"


def _output(answer: ModelAnswer, request: ReceivedRequest) -> Iterator[dict[str, Any]]:
    number = request.number
    status = "incomplete" if answer.is_cut_off else "completed"
    if answer.thought:
        wanted: Any = request.body.get("include") or []
        sealed = {"encrypted_content": f"sealed-{number}"} if _REASONING in wanted else {}
        summary = [{"type": "summary_text", "text": answer.thought}]
        yield {"id": f"rs_{number}", "type": "reasoning", "summary": summary, **sealed}
    if answer.text or answer.refusal:
        content: list[dict[str, Any]] = []
        if answer.text:
            content.append({"type": "output_text", "text": answer.text, "annotations": []})
        if answer.refusal:
            content.append({"type": "refusal", "refusal": answer.refusal})
        yield {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content,
        }
    for place, call in enumerate(answer.calls):
        yield {
            "id": f"fc_{number}_{place}",
            "type": "function_call",
            "call_id": call.call_id or f"call_{number}_{place}",
            "name": call.name,
            "arguments": arguments_text(call),
            "status": status,
        }


_REASONING: Final = "reasoning.encrypted_content"


def _item_events(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    place = {"output_index": index, "item_id": item["id"]}
    inside: list[dict[str, Any]] = []
    opened = dict(item)
    if item["type"] == "function_call":
        opened["arguments"] = ""
        kind, text = "response.function_call_arguments", item["arguments"]
        inside = [
            {"type": f"{kind}.delta", **place, "delta": text},
            {"type": f"{kind}.done", **place, "arguments": text, "name": item["name"]},
        ]
    elif item["type"] == "message":
        opened["content"] = []
        for number, part in enumerate(item["content"]):
            inside += _part_events({**place, "content_index": number}, part)
    return [
        {"type": "response.output_item.added", "output_index": index, "item": opened},
        *inside,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def _part_events(place: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    field = "text" if part["type"] == "output_text" else "refusal"
    kind = "response.output_text" if field == "text" else "response.refusal"
    logged: dict[str, Any] = {"logprobs": []} if field == "text" else {}
    return [
        {"type": "response.content_part.added", **place, "part": {**part, field: ""}},
        {"type": f"{kind}.delta", **place, "delta": part[field], **logged},
        {"type": f"{kind}.done", **place, field: part[field], **logged},
        {"type": "response.content_part.done", **place, "part": part},
    ]
