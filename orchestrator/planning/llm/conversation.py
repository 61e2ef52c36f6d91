"""The conversation of a model and the engine in a leg; it only grows, until it is too long.

Providers cache the beginning of a prompt, and some require their reasoning back. Therefore earlier
messages are sent again unchanged, with the model's answers as received, and news is appended. Each
exchange is stored under the digest of its content and names its predecessor: whichever worker plans
the next step continues exactly from the exchange that the leg's history names. If an exchange is
missing, the step starts a new conversation from the leg's observations.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pydantic import Field, JsonValue, ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ThinkingPart,
    ToolCallPart,
)

from orchestrator.core.errors import OrchestratorError
from orchestrator.core.record import JsonObject, Record
from orchestrator.planning.trimming import estimate_tokens

_IN_MEMORY: Final = 64
"""Conversations that are also cached in memory."""


class Pieces(Protocol):
    """A store of exchanges: byte strings of one mission, each under its own key."""

    def put(self, mission_id: str, key: str, piece: bytes) -> object:
        """Store a piece; an existing key is left unchanged."""
        ...

    def get(self, mission_id: str, key: str) -> bytes:
        """Return a stored piece; raise an `OrchestratorError` if it is missing."""
        ...


class LegExchange(Record):
    """A step: the new messages for the model, and its answer."""

    before: str = Field(default="", description="key of the previous exchange; empty for the first")
    step: int
    asked: str = Field(description="the model")
    messages: JsonValue = Field(
        default=None, description="request and answer, as pydantic-ai serialises them"
    )
    tools: tuple[str, ...] = Field(default=(), description="tools shown up to this step, in order")
    called: dict[str, str] = Field(default_factory=dict, description="tool of each called name")
    inputs: JsonObject = Field(default_factory=dict, description="values that the model has seen")
    left: str = Field(default="", description="remaining budget, as last shown")

    @property
    def key(self) -> str:
        """The digest under which it is stored."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


@dataclass(frozen=True)
class LegConversation:
    """The exchanges of a leg since the conversation began, oldest first."""

    exchanges: tuple[LegExchange, ...]
    messages: tuple[ModelMessage, ...]
    tokens: int
    """Approximate number of tokens in all its messages."""

    @property
    def last(self) -> LegExchange:
        """The newest exchange."""
        return self.exchanges[-1]

    @property
    def instructions(self) -> str:
        """The instructions as first sent, which are sent again unchanged."""
        first = self.messages[0]
        return (first.instructions or "") if isinstance(first, ModelRequest) else ""

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The calls of the last answer, each of which must be answered."""
        answer = self.messages[-1]
        return tuple(part for part in answer.parts if isinstance(part, ToolCallPart))

    def grown(self, exchange: LegExchange, messages: Sequence[ModelMessage]) -> "LegConversation":
        """Return the conversation with one more exchange."""
        return LegConversation(
            (*self.exchanges, exchange),
            (*self.messages, *messages),
            self.tokens + tokens_of(messages),
        )


NOTHING_SAID: Final = LegConversation((), (), 0)


class Conversations:
    """Loads and stores the conversations of legs; without a store each step starts a new one."""

    def __init__(self, pieces: Pieces | None = None) -> None:
        self._pieces = pieces
        self._held: OrderedDict[str, LegConversation] = OrderedDict()

    @property
    def are_kept(self) -> bool:
        """True if there is a store."""
        return self._pieces is not None

    async def recall(self, mission_id: str, key: str, *, model: str) -> LegConversation | None:
        """Return the conversation whose newest exchange has this key; None: it cannot be continued.

        Args:
            mission_id: the mission of the leg.
            key: the key in the leg's history; empty: there is none.
            model: the recipient of the next exchange. Another model's messages and reasoning are
                not reused.
        """
        found = self._held.get(key)
        if found is None and self._pieces is not None and key:
            found = await asyncio.to_thread(_read, self._pieces, mission_id, key)
        return None if found is None or found.last.asked != model else found

    async def keep(
        self,
        mission_id: str,
        before: LegConversation | None,
        exchange: LegExchange,
        messages: Sequence[ModelMessage],
    ) -> str:
        """Store one more exchange, and return its key; empty if it could not be stored."""
        if self._pieces is None:
            return ""
        written = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        exchange = exchange.model_copy(update={"messages": written})
        try:
            piece = exchange.model_dump_json().encode()
            await asyncio.to_thread(self._pieces.put, mission_id, exchange.key, piece)
        except OSError:
            return ""
        self._held.pop(exchange.before, None)
        self._held[exchange.key] = (before or NOTHING_SAID).grown(exchange, messages)
        while len(self._held) > _IN_MEMORY:
            self._held.popitem(last=False)
        return exchange.key


def tokens_of(messages: Sequence[ModelMessage]) -> int:
    """Return the approximate tokens of messages, without the reasoning, which providers count."""
    return sum(estimate_tokens(_text(message)) for message in messages)


def _text(message: ModelMessage) -> str:
    lines = [
        part.args_as_json_str()
        if isinstance(part, ToolCallPart)
        else str(getattr(part, "content", ""))
        for part in message.parts
        if not isinstance(part, ThinkingPart)
    ]
    return "\n".join(lines)


def _read(pieces: Pieces, mission_id: str, key: str) -> LegConversation | None:
    exchanges: list[LegExchange] = []
    found = NOTHING_SAID
    try:
        while key:
            exchanges.append(LegExchange.model_validate_json(pieces.get(mission_id, key)))
            key = exchanges[-1].before
        for exchange in reversed(exchanges):
            found = found.grown(
                exchange, ModelMessagesTypeAdapter.validate_python(exchange.messages)
            )
    except (OrchestratorError, OSError, ValidationError):
        return None
    is_whole = bool(found.messages) and isinstance(found.messages[-1], ModelResponse)
    return found if is_whole else None
