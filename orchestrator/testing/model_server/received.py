"""What a model is asked, whichever API it came by: the same shape for all three."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from pydantic import JsonValue

from orchestrator.core.record import JsonObject

Api = Literal["responses", "chat", "messages"]
"""OpenAI's Responses, its chat completions, Anthropic's messages."""


@dataclass(frozen=True)
class ShownTool:
    """A tool that the model may call."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True)
class ModelCall:
    """A call of a tool, as a model made it; arguments that are no JSON object stay text."""

    name: str
    arguments: JsonObject | str
    call_id: str = ""


@dataclass(frozen=True)
class ConversationTurn:
    """One entry of the conversation; the answer of a tool is a turn of its own."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ModelCall, ...] = ()
    call_id: str = ""
    """Of the call that a tool's answer belongs to."""


@dataclass(frozen=True)
class ReceivedRequest:
    """One request to a model."""

    api: Api
    model: str
    instructions: str
    turns: tuple[ConversationTurn, ...]
    tools: Mapping[str, ShownTool]
    body: JsonObject = field(repr=False)
    """All of it, as it came."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    number: int = 1
    """From 1, of all requests to this server."""

    @property
    def streamed(self) -> bool:
        """Whether the answer is to come as events."""
        return bool(self.body.get("stream"))

    @cached_property
    def prompt(self) -> str:
        """What the user says, all turns together."""
        return "\n\n".join(turn.text for turn in self.turns if turn.role == "user")

    @property
    def told(self) -> str:
        """What came after the model's last answer: answers of tools, corrections, new text."""
        later: list[str] = []
        for turn in reversed(self.turns):
            if turn.role == "assistant":
                break
            later.append(turn.text)
        return "\n\n".join(reversed(later))

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """The calls that the model made so far, as the conversation has them."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def output_schema(self) -> JsonValue:
        """The schema that the answer's text is to keep to; None when there is none."""
        text = self.body.get("text") or self.body.get("output_config") or {}
        wanted = self.body.get("response_format") or _member(text, "format")
        inner = _member(wanted, "json_schema") or wanted
        return _member(inner, "schema")


def _member(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, dict) else None
