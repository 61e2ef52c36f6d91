"""Requests to a scripted model and its replies, independent of any API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal

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
    """A call of a tool; arguments that are not a JSON object stay text."""

    name: str
    arguments: JsonObject | str
    call_id: str = ""


@dataclass(frozen=True)
class ConversationTurn:
    """An entry of the conversation; a tool's answer is a turn of its own."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ModelCall, ...] = ()
    call_id: str = ""
    """The call that a tool's answer belongs to."""


@dataclass(frozen=True)
class ReceivedRequest:
    """A request to a model, in one shape for all three APIs."""

    api: Api
    model: str
    instructions: str
    turns: tuple[ConversationTurn, ...]
    tools: Mapping[str, ShownTool]
    body: JsonObject = field(repr=False)
    """The whole request."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    number: int = 1
    """Counted from 1 over all requests to this server."""

    @cached_property
    def prompt(self) -> str:
        """The user's whole text."""
        return "\n\n".join(turn.text for turn in self.turns if turn.role == "user")


StopReason = Literal["stop", "calls", "length", "refusal"]


@dataclass(frozen=True)
class ModelAnswer:
    """A model's answer; its parts are sent in the order of these fields."""

    thought: str = ""
    """Becomes a reasoning item or a signed thinking block; chat completions have none."""
    text: str = ""
    refusal: str = ""
    calls: tuple[ModelCall, ...] = ()
    is_cut_off: bool = False
    """True if the answer reached its limit of tokens."""

    @property
    def stop_reason(self) -> StopReason:
        """The reason for the end of the answer."""
        if self.is_cut_off:
            return "length"
        if self.refusal:
            return "refusal"
        return "calls" if self.calls else "stop"


def call(name: str, /, **arguments: JsonValue) -> ModelAnswer:
    """Return an answer that calls one tool.

    Example: `call("part_done", summary="Booked.")`
    """
    return calling(ModelCall(name, arguments))


def calling(*calls: ModelCall, text: str = "", thought: str = "") -> ModelAnswer:
    """Return an answer with several calls."""
    return ModelAnswer(calls=calls, text=text, thought=thought)


def say(text: str) -> ModelAnswer:
    """Return an answer that calls nothing."""
    return ModelAnswer(text=text)


def refuse(reason: str = "I cannot help with that.") -> ModelAnswer:
    """Return a refusal."""
    return ModelAnswer(refusal=reason)


def nothing() -> ModelAnswer:
    """Return an answer without content."""
    return ModelAnswer()


def broken_call(name: str, arguments: str = '{"query": "fli') -> ModelAnswer:
    """Return a call whose arguments are not JSON."""
    return calling(ModelCall(name, arguments))


def cut_off_call(name: str, arguments: str = '{"query": "fli') -> ModelAnswer:
    """Return a call that the limit of tokens cut in two."""
    return ModelAnswer(calls=(ModelCall(name, arguments),), is_cut_off=True)


@dataclass(frozen=True)
class StatusTrouble:
    """An error status of the provider."""

    status: int
    kind: str
    """The `type` of the error, at OpenAI and Anthropic."""
    code: str | None = None
    message: str = "the model server was configured to fail"
    retry_after: str | None = None
    """Value of the header: seconds, or a date."""


@dataclass(frozen=True)
class CutBody:
    """A connection that closes after this many bytes of the answer; None: before its status."""

    after_bytes: int | None = 20


@dataclass(frozen=True)
class Hang:
    """No answer for this many seconds, or until the client disconnects."""

    seconds: float = 3600.0


@dataclass(frozen=True)
class RawBody:
    """A success whose body does not follow the API."""

    content: bytes
    media_type: str = "application/json"


ModelTrouble = StatusTrouble | CutBody | Hang | RawBody


def _retry_after(when: float | datetime | None) -> str | None:
    if isinstance(when, datetime):
        return format_datetime(when, usegmt=True)
    return None if when is None else f"{when:g}"


def unauthorized() -> StatusTrouble:
    """401: the key is not valid, or no longer."""
    return StatusTrouble(401, "authentication_error", "invalid_api_key", "Incorrect API key.")


def rate_limited(retry_after: float | datetime | None = None) -> StatusTrouble:
    """429: too many requests; `retry_after` is in seconds, or an aware date."""
    after = _retry_after(retry_after)
    return StatusTrouble(429, "rate_limit_error", "rate_limit_exceeded", "Slow down.", after)


def server_error(status: int = 500, retry_after: float | datetime | None = None) -> StatusTrouble:
    """5xx, including 529, which Anthropic sends when it is overloaded."""
    kind = "overloaded_error" if status == 529 else "api_error"
    return StatusTrouble(status, kind, "server_error", "Try again.", _retry_after(retry_after))


def bad_request(message: str) -> StatusTrouble:
    """400: the provider refuses the request."""
    return StatusTrouble(400, "invalid_request_error", "invalid_value", message)


def cut_body(after_bytes: int = 20) -> CutBody:
    """The connection closes inside the answer."""
    return CutBody(after_bytes)


def drop() -> CutBody:
    """The connection closes without an answer."""
    return CutBody(None)


def hang(seconds: float = 3600.0) -> Hang:
    """The provider accepts the request and does not answer."""
    return Hang(seconds)


def no_json() -> RawBody:
    """A gateway's HTML page instead of an answer."""
    return RawBody(b"<html><body>Bad gateway</body></html>", "text/html")


def broken_json() -> RawBody:
    """A JSON body that does not parse."""
    return RawBody(b'{"id": "x", "object": ')


PROVIDER_TROUBLES: Final[Mapping[str, ModelTrouble]] = MappingProxyType(
    {
        "401": unauthorized(),
        "402": StatusTrouble(402, "billing_error", "billing_not_active", "Account not active."),
        "403": StatusTrouble(403, "permission_error", "model_not_allowed", "No access."),
        "404": StatusTrouble(404, "not_found_error", "model_not_found", "No such model."),
        "429": rate_limited(),
        "429-retry-after": rate_limited(1),
        "quota": StatusTrouble(429, "insufficient_quota", "insufficient_quota", "Over quota."),
        "500": server_error(),
        "502": server_error(502),
        "503": server_error(503, 1),
        "529": server_error(529),
        "cut": cut_body(),
        "drop": drop(),
        "hang": hang(),
        "html": no_json(),
        "broken-json": broken_json(),
        "empty-body": RawBody(b""),
        "no-fields": RawBody(b"{}"),
    }
)
"""Each trouble once, by name, for tests that try them all."""
