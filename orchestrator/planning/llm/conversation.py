"""The conversation of a model and the engine in a leg; it only grows, until it is too long.

Providers keep the beginning of a prompt that they have read, and some want their reasoning back. So
what was sent is sent again as it was, with the model's answers as they came, and what is new goes
behind. Each exchange is kept under the digest of its content and names the one before: whichever
worker plans the next step, it goes on from exactly what the leg's history names. What is missing is
not sent: the step begins a conversation of its own then, from what the leg has seen.
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
"""Conversations that are held in memory as well."""


class Pieces(Protocol):
    """Where exchanges are kept: pieces of bytes of one mission, each under a key of its own."""

    def put(self, mission_id: str, key: str, piece: bytes) -> object:
        """Keep a piece; of a key that is there already nothing is changed."""
        ...

    def get(self, mission_id: str, key: str) -> bytes:
        """Return a piece that was kept; an `OrchestratorError` where it is not here."""
        ...


class LegExchange(Record):
    """One step: what was new for the model, and what it answered."""

    before: str = Field(default="", description="the key of the exchange before; empty: the first")
    step: int
    asked: str = Field(description="which model")
    messages: JsonValue = Field(
        default=None, description="the request and the answer, as the library writes them"
    )
    tools: tuple[str, ...] = Field(default=(), description="shown up to this step, in that order")
    called: dict[str, str] = Field(
        default_factory=dict, description="of what was called, the tools by the model's names"
    )
    inputs: JsonObject = Field(default_factory=dict, description="values that it was told of")
    left: str = Field(default="", description="of the budget, as it was told last")

    @property
    def key(self) -> str:
        """The digest under which it is kept."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


@dataclass(frozen=True)
class LegConversation:
    """The exchanges of a leg since it was begun, the oldest first."""

    exchanges: tuple[LegExchange, ...]
    messages: tuple[ModelMessage, ...]
    tokens: int
    """About how many all its messages are."""

    @property
    def last(self) -> LegExchange:
        """The newest exchange."""
        return self.exchanges[-1]

    @property
    def instructions(self) -> str:
        """The instructions as they were sent first, and are sent again."""
        first = self.messages[0]
        return (first.instructions or "") if isinstance(first, ModelRequest) else ""

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The calls of the last answer: each is to be answered."""
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
    """Recalls and keeps the conversations of legs; without a store each step is the first."""

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
            mission_id: whose.
            key: as the leg's history names it; empty: there is none.
            model: whom the next exchange is for. What another one was told and reasoned is not its.
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
        """Keep one more exchange, and return its key; empty where it could not be kept."""
        if self._pieces is None:
            return ""
        written = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
        exchange = exchange.model_copy(update={"messages": written})
        try:
            piece = exchange.model_dump_json().encode()
            await asyncio.to_thread(self._pieces.put, mission_id, exchange.key, piece)
        except OSError:
            return ""
        self._hold(exchange.key, (before or NOTHING_SAID).grown(exchange, messages))
        return exchange.key

    def _hold(self, key: str, conversation: LegConversation) -> None:
        self._held.pop(conversation.last.before, None)
        self._held[key] = conversation
        while len(self._held) > _IN_MEMORY:
            self._held.popitem(last=False)


def tokens_of(messages: Sequence[ModelMessage]) -> int:
    """Return about how many tokens messages are; what providers reasoned is theirs to count."""
    return sum(estimate_tokens(_text(message)) for message in messages)


def _text(message: ModelMessage) -> str:
    told = [
        part.args_as_json_str()
        if isinstance(part, ToolCallPart)
        else str(getattr(part, "content", ""))
        for part in message.parts
        if not isinstance(part, ThinkingPart)
    ]
    return "\n".join(told)


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
    return found if _is_whole(found.messages) else None


def _is_whole(messages: Sequence[ModelMessage]) -> bool:
    return bool(messages) and isinstance(messages[-1], ModelResponse)
