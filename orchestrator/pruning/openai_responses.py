"""OpenAI's responses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.pruning.model_request import (
    SPEAKERS,
    Conversation,
    OfferedTool,
    ToolChoice,
    conversation_of,
    member,
    name_in,
    objects,
    offered,
    text_of,
)
from orchestrator.pruning.tool_failures import failure_in

_KINDS = ("function", "custom")
_CALLS = ("function_call", "custom_tool_call")
_ANSWERS = ("function_call_output", "custom_tool_call_output")
_SEARCH = "tool_search"


class Responses:
    """Requests to /responses."""

    name = "responses"
    path = "/responses"
    turns_member = "input"
    can_defer = True

    def tools_member(self, body: Mapping[str, Any]) -> str:
        """Where the tools stand."""
        return "tools"

    def tool(self, entry: Mapping[str, Any]) -> OfferedTool:
        """A function or a custom tool; namespaces and all else are the provider's to search."""
        return offered(entry, entry if entry.get("type") in _KINDS else None)

    def choice(self, body: Mapping[str, Any]) -> ToolChoice:
        """`tool_choice`."""
        chosen = body.get("tool_choice")
        if isinstance(chosen, str):
            return ToolChoice(is_none=chosen == "none")
        named = [chosen, *objects(member(chosen, "tools"))]
        return ToolChoice(names=frozenset(filter(None, (name_in(one, "name") for one in named))))

    def conversation(self, body: Mapping[str, Any]) -> Conversation:
        """What its input tells: a text, or items."""
        given = body.get("input")
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        items = list(objects(given))
        last = items[-1] if items else {}
        answer = text_of(last.get("output"), "input_text", "output_text")
        spoken = (item for item in items if item.get("role") in SPEAKERS)
        return conversation_of(
            said=(
                (item["role"], text_of(item.get("content"), "input_text", "output_text"))
                for item in spoken
            ),
            called=(name_in(item, "name") for item in items if item.get("type") in _CALLS),
            last_error=failure_in(answer) if last.get("type") in _ANSWERS else None,
            follows=name_in(body, "previous_response_id") or _conversation_id(body),
        )

    def search_tool(self, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """OpenAI's own search."""
        has_one = any(entry.get("type") == _SEARCH for entry in entries)
        return None if has_one else {"type": _SEARCH}

    def calls(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Of an answer's output, or of an item that a stream tells."""
        for item in (*objects(document.get("output")), document.get("item")):
            if member(item, "type") in _CALLS:
                yield name_in(item, "name")

    def said(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Of an answer's messages, or a piece of one."""
        for item in objects(document.get("output")):
            yield text_of(item.get("content"), "output_text")
        if document.get("type") == "response.output_text.delta":
            yield name_in(document, "delta")

    def answer_id(self, document: Mapping[str, Any]) -> str:
        """Of an answer, or of the one that a stream tells of."""
        if document.get("object") == "response":
            return name_in(document, "id")
        return name_in(document, "response", "id")

    def error(self, message: str, kind: str) -> Mapping[str, Any]:
        """As OpenAI writes errors."""
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def _conversation_id(body: Mapping[str, Any]) -> str:
    return name_in(body, "conversation") or name_in(body, "conversation", "id")
