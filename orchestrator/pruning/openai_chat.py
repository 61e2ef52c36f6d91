"""OpenAI's chat completions, which most compatible servers speak."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
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


class ChatCompletions:
    """Requests to /chat/completions."""

    name = "chat"
    path = "/chat/completions"
    turns_member = "messages"
    can_defer = False

    def tools_member(self, body: Mapping[str, Any]) -> str:
        """`functions` where a request has only those, as was usual before `tools`."""
        return "functions" if "functions" in body and "tools" not in body else "tools"

    def tool(self, entry: Mapping[str, Any]) -> OfferedTool:
        """A function, a custom tool, or a function as `functions` holds it."""
        if "type" not in entry:
            return offered(entry, entry)
        return offered(entry, entry.get(entry["type"]) if entry["type"] in _KINDS else None)

    def choice(self, body: Mapping[str, Any]) -> ToolChoice:
        """`tool_choice`, or `function_call`."""
        chosen = body.get("tool_choice", body.get("function_call"))
        if isinstance(chosen, str):
            return ToolChoice(is_none=chosen == "none")
        named = [chosen, *objects(member(chosen, "allowed_tools", "tools"))]
        return ToolChoice(names=frozenset(filter(None, map(_called, named))))

    def conversation(self, body: Mapping[str, Any]) -> Conversation:
        """What its messages tell."""
        messages = list(objects(body.get("messages")))
        last = messages[-1] if messages else {}
        answered = last.get("role") in ("tool", "function")
        return conversation_of(
            said=((m["role"], _text(m)) for m in messages if m.get("role") in SPEAKERS),
            called=chain.from_iterable(map(_calls, messages)),
            last_error=failure_in(_text(last)) if answered else None,
        )

    def search_tool(self, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """There is none in this API."""
        return None

    def calls(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Of each choice, whole or as it grows."""
        for choice in objects(document.get("choices")):
            for part in ("message", "delta"):
                yield from _calls(member(choice, part) or {})

    def said(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Of each choice, whole or as it grows."""
        for choice in objects(document.get("choices")):
            yield name_in(choice, "message", "content") + name_in(choice, "delta", "content")

    def answer_id(self, document: Mapping[str, Any]) -> str:
        """A request never goes on from an id here."""
        return ""

    def error(self, message: str, kind: str) -> Mapping[str, Any]:
        """As OpenAI writes errors."""
        return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def _text(message: Mapping[str, Any]) -> str:
    return text_of(message.get("content"), "text")


def _calls(message: Mapping[str, Any]) -> Iterator[str]:
    """Names of the tools that a message of the assistant calls."""
    yield from map(_called, objects(message.get("tool_calls")))
    yield name_in(message, "function_call", "name")


def _called(value: Any) -> str:
    """The name in a call or a choice: under its kind, or at its top."""
    named = (name_in(value, kind, "name") for kind in _KINDS)
    return next(filter(None, named), name_in(value, "name"))
