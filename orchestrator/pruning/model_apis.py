"""The three supported APIs: OpenAI's chat completions and responses, Anthropic's messages."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from orchestrator.core.errors import UsageError
from orchestrator.pruning.model_request import (
    FUNCTION_KINDS,
    Conversation,
    ModelApi,
    OfferedTool,
    conversation_of,
    failure_in,
    member,
    name_called,
    objects,
    offered,
    string_in,
    text_of,
)

_RESPONSE_CALLS: Final = ("function_call", "custom_tool_call")


class _ChatCompletions(ModelApi):
    """Requests to /chat/completions, which most compatible servers implement."""

    name = "chat"
    path = "/chat/completions"
    can_defer = False

    def tools_member(self, body: Mapping[str, Any]) -> str:
        """Return `functions` for requests in the format before `tools`."""
        return "functions" if "functions" in body and "tools" not in body else "tools"

    def tool(self, entry: Mapping[str, Any]) -> OfferedTool:
        """Read a function, a custom tool, or an entry of `functions`."""
        if "type" not in entry:
            return offered(entry, entry)
        is_own = entry["type"] in FUNCTION_KINDS
        return offered(entry, entry.get(entry["type"]) if is_own else None)

    def conversation(self, body: Mapping[str, Any]) -> Conversation:
        messages = list(objects(body.get("messages")))
        last = messages[-1] if messages else {}
        answered = last.get("role") in ("tool", "function")
        return conversation_of(
            messages,
            "text",
            called=chain.from_iterable(map(_chat_calls, messages)),
            last_error=failure_in(text_of(last.get("content"), "text")) if answered else None,
        )

    def calls(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield the calls of each choice, whole or as it grows."""
        for choice in objects(document.get("choices")):
            for part in ("message", "delta"):
                yield from _chat_calls(member(choice, part) or {})

    def said(self, document: Mapping[str, Any]) -> Iterator[str]:
        for choice in objects(document.get("choices")):
            yield string_in(choice, "message", "content") + string_in(choice, "delta", "content")


def _chat_calls(message: Mapping[str, Any]) -> Iterator[str]:
    yield from map(name_called, objects(message.get("tool_calls")))
    yield string_in(message, "function_call", "name")


class _Responses(ModelApi):
    """Requests to /responses."""

    name = "responses"
    path = "/responses"
    turns_member = "input"

    def tool(self, entry: Mapping[str, Any]) -> OfferedTool:
        """Read a function or a custom tool; namespaces and others are the provider's own."""
        return offered(entry, entry if entry.get("type") in FUNCTION_KINDS else None)

    def conversation(self, body: Mapping[str, Any]) -> Conversation:
        given = body.get("input")
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        items = list(objects(given))
        last = items[-1] if items else {}
        outputs = ("function_call_output", "custom_tool_call_output")
        answer = text_of(last.get("output"), "input_text", "output_text")
        conversation_id = string_in(body, "conversation") or string_in(body, "conversation", "id")
        return conversation_of(
            items,
            "input_text",
            "output_text",
            called=(string_in(i, "name") for i in items if i.get("type") in _RESPONSE_CALLS),
            last_error=failure_in(answer) if last.get("type") in outputs else None,
            instructions=string_in(body, "instructions"),
            follows=string_in(body, "previous_response_id") or conversation_id,
        )

    def search_tool(self, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        has_one = any(entry.get("type") == "tool_search" for entry in entries)
        return None if has_one else {"type": "tool_search"}

    def calls(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield the calls of an answer's output, or of an item of a stream."""
        for item in (*objects(document.get("output")), document.get("item")):
            if member(item, "type") in _RESPONSE_CALLS:
                yield string_in(item, "name")

    def said(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield the texts of an answer's messages, or a piece of one."""
        for item in objects(document.get("output")):
            yield text_of(item.get("content"), "output_text")
        if document.get("type") == "response.output_text.delta":
            yield string_in(document, "delta")

    def answer_id(self, document: Mapping[str, Any]) -> str:
        """Return the id of an answer, or of the one that a stream reports."""
        if document.get("object") == "response":
            return string_in(document, "id")
        return string_in(document, "response", "id")


class _Messages(ModelApi):
    """Requests to /messages."""

    name = "messages"
    path = "/messages"

    def tool(self, entry: Mapping[str, Any]) -> OfferedTool:
        """Read a tool of the caller; one with another type is Anthropic's own."""
        return offered(entry, entry if entry.get("type") in (None, "custom") else None)

    def conversation(self, body: Mapping[str, Any]) -> Conversation:
        messages = list(objects(body.get("messages")))
        blocks = [block for message in messages for block in objects(message.get("content"))]
        failures = []
        for block in objects(messages[-1].get("content")) if messages else ():
            if block.get("type") == "tool_result":
                answer = text_of(block.get("content"), "text")
                is_error = block.get("is_error") is True
                failures.append((answer or "it failed") if is_error else failure_in(answer))
        return conversation_of(
            messages,
            "text",
            called=(string_in(b, "name") for b in blocks if b.get("type") == "tool_use"),
            last_error=next(filter(None, failures), None),
            instructions=text_of(body.get("system"), "text"),
        )

    def search_tool(self, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        kinds = (str(entry.get("type") or "") for entry in entries)
        has_one = any(kind.startswith("tool_search_tool_") for kind in kinds)
        name = "tool_search_tool_bm25"
        return None if has_one else {"type": f"{name}_20251119", "name": name}

    def calls(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield the calls of an answer's content, or of a block that a stream begins."""
        for block in (*objects(document.get("content")), document.get("content_block")):
            if member(block, "type") == "tool_use":
                yield string_in(block, "name")

    def said(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Yield the text of an answer's content, or a piece of it."""
        yield text_of(document.get("content"), "text")
        yield string_in(document, "delta", "text")

    def error(self, message: str, kind: str) -> Mapping[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": message}}


APIS: Final[tuple[ModelApi, ...]] = (_ChatCompletions(), _Responses(), _Messages())


def api_of(path: str) -> ModelApi | None:
    """Return the API of a request's path; None for every other path."""
    return next((api for api in APIS if path.rstrip("/").endswith(api.path)), None)


def api_named(name: str) -> ModelApi:
    """Return the API of a name: chat, responses, messages; a UsageError for others."""
    known = {api.name: api for api in APIS}
    if name not in known:
        raise UsageError(f"no API is called {name!r}; name one of {', '.join(known)}")
    return known[name]


def api_of_tools(tools: Sequence[Mapping[str, Any]]) -> ModelApi:
    """Return the API in whose format tools are written."""
    if any("input_schema" in tool for tool in tools):
        return api_named("messages")
    if any(isinstance(tool.get("function"), Mapping) for tool in tools):
        return api_named("chat")
    return api_named("responses")
