"""What the model server needs of an API to speak it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from orchestrator.core.record import JsonObject
from orchestrator.testing.model_server.received import Api, ModelCall, ReceivedRequest
from orchestrator.testing.model_server.replies import ModelAnswer
from orchestrator.testing.model_server.wire_troubles import StatusTrouble

Document = dict[str, Any]
"""What goes out as JSON."""
Event = tuple[str, Mapping[str, Any]]
"""Name of a server-sent event, empty where the API names none; and its data."""


@dataclass(frozen=True)
class TokenCount:
    """What an answer is said to have taken."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int


class ApiFormat(Protocol):
    """One API: reads its requests, writes its answers, whole and as events."""

    api: Api
    path: str
    key_header: str
    """Where the key stands."""

    def read(self, body: JsonObject, headers: Mapping[str, str], number: int) -> ReceivedRequest:
        """A request that fits the schema."""
        ...

    def breaches(self, request: ReceivedRequest) -> Iterator[str]:
        """What the provider refuses though the schema allows it."""
        ...

    def whole(self, answer: ModelAnswer, request: ReceivedRequest, took: TokenCount) -> Document:
        """The answer as one document."""
        ...

    def events(
        self, answer: ModelAnswer, request: ReceivedRequest, took: TokenCount
    ) -> Iterator[Event]:
        """The answer as it is streamed."""
        ...

    def error(self, trouble: StatusTrouble) -> Document:
        """The body of an error."""
        ...


def arguments_text(call: ModelCall) -> str:
    """The arguments of a call as JSON; what is no object goes out as it is."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(call.arguments, ensure_ascii=False)


def parsed_arguments(text: Any) -> JsonObject | str:
    """The arguments that a conversation repeats."""
    try:
        made = json.loads(text)
    except (TypeError, ValueError):
        return str(text)
    return made if isinstance(made, dict) else str(text)


def joined_text(content: Any) -> str:
    """The text of a message's content: a string, or the text of its blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") or block.get("content") for block in content)
    return "\n".join(text if isinstance(text, str) else joined_text(text) for text in texts if text)
