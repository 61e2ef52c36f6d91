"""Anthropic's messages."""

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

_OWN_KINDS = (None, "custom")
_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


class Messages:
    """Requests to /messages."""

    name = "messages"
    path = "/messages"
    turns_member = "messages"
    can_defer = True

    def tools_member(self, body: Mapping[str, Any]) -> str:
        """Where the tools stand."""
        return "tools"

    def tool(self, entry: Mapping[str, Any]) -> OfferedTool:
        """A tool of the caller; one with another type is Anthropic's own."""
        return offered(entry, entry if entry.get("type") in _OWN_KINDS else None)

    def choice(self, body: Mapping[str, Any]) -> ToolChoice:
        """`tool_choice`."""
        chosen = body.get("tool_choice")
        name = name_in(chosen, "name")
        return ToolChoice(
            is_none=member(chosen, "type") == "none", names=frozenset([name] if name else [])
        )

    def conversation(self, body: Mapping[str, Any]) -> Conversation:
        """What its messages tell."""
        messages = list(objects(body.get("messages")))
        blocks = [block for message in messages for block in objects(message.get("content"))]
        last = list(objects(messages[-1].get("content"))) if messages else []
        spoken = (message for message in messages if message.get("role") in SPEAKERS)
        return conversation_of(
            said=((turn["role"], text_of(turn.get("content"), "text")) for turn in spoken),
            called=(name_in(block, "name") for block in blocks if block.get("type") == "tool_use"),
            last_error=next(filter(None, map(_failure, last)), None),
        )

    def search_tool(self, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Anthropic's search by words."""
        kinds = (str(entry.get("type") or "") for entry in entries)
        return None if any(kind.startswith("tool_search_tool_") for kind in kinds) else _SEARCH

    def calls(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Of an answer's content, or of a block that a stream begins."""
        for block in (*objects(document.get("content")), document.get("content_block")):
            if member(block, "type") == "tool_use":
                yield name_in(block, "name")

    def said(self, document: Mapping[str, Any]) -> Iterator[str]:
        """Of an answer's content, or a piece of it."""
        yield text_of(document.get("content"), "text")
        yield name_in(document, "delta", "text")

    def answer_id(self, document: Mapping[str, Any]) -> str:
        """A request never goes on from an id here."""
        return ""

    def error(self, message: str, kind: str) -> Mapping[str, Any]:
        """As Anthropic writes errors."""
        return {"type": "error", "error": {"type": kind, "message": message}}


def _failure(block: Mapping[str, Any]) -> str | None:
    """What a tool failed with, as its result tells."""
    if block.get("type") != "tool_result":
        return None
    said = text_of(block.get("content"), "text")
    return (said or "it failed") if block.get("is_error") is True else failure_in(said)
