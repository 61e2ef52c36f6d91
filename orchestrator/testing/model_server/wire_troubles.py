"""What goes wrong between a worker and the provider of its model, as each provider says it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class StatusTrouble:
    """The provider answers with an error."""

    status: int
    kind: str
    """OpenAI's `type` of it, and Anthropic's."""
    code: str | None = None
    message: str = "the model server was told to answer so"
    retry_after: str | None = None
    """The header's value: seconds, or a date."""


@dataclass(frozen=True)
class CutBody:
    """The answer ends after so many bytes, and the connection with it; None: before its status."""

    after_bytes: int | None = 20


@dataclass(frozen=True)
class Hang:
    """No answer for so long, or until whoever asked goes away."""

    seconds: float = 3600.0


@dataclass(frozen=True)
class RawBody:
    """A success whose body is not what the API promises."""

    content: bytes
    media_type: str = "application/json"


ModelTrouble = StatusTrouble | CutBody | Hang | RawBody


def _retry_after(when: float | datetime | None) -> str | None:
    if isinstance(when, datetime):
        return format_datetime(when, usegmt=True)
    return None if when is None else f"{when:g}"


def unauthorized() -> StatusTrouble:
    """401: the key is not, or no longer, valid."""
    return StatusTrouble(401, "authentication_error", "invalid_api_key", "Incorrect API key.")


def payment_required() -> StatusTrouble:
    """402: the account owes."""
    return StatusTrouble(402, "billing_error", "billing_not_active", "Your account is not active.")


def forbidden() -> StatusTrouble:
    """403: the key may not use this model."""
    return StatusTrouble(403, "permission_error", "model_not_allowed", "No access to this model.")


def no_such_model() -> StatusTrouble:
    """404: the provider has no model of that name."""
    return StatusTrouble(404, "not_found_error", "model_not_found", "The model does not exist.")


def rate_limited(retry_after: float | datetime | None = None) -> StatusTrouble:
    """429: too many requests; `retry_after` in seconds, or the date of the next try (aware)."""
    told = _retry_after(retry_after)
    return StatusTrouble(429, "rate_limit_error", "rate_limit_exceeded", "Slow down.", told)


def out_of_quota() -> StatusTrouble:
    """429 as well, but no waiting helps: the money is spent."""
    return StatusTrouble(
        429, "insufficient_quota", "insufficient_quota", "You exceeded your quota."
    )


def server_error(status: int = 500, retry_after: float | datetime | None = None) -> StatusTrouble:
    """5xx, 529 included, which is Anthropic's for being overloaded."""
    kind = "overloaded_error" if status == 529 else "api_error"
    return StatusTrouble(status, kind, "server_error", "Try again.", _retry_after(retry_after))


def bad_request(message: str = "Invalid value.") -> StatusTrouble:
    """400: the provider does not take the request."""
    return StatusTrouble(400, "invalid_request_error", "invalid_value", message)


def too_long() -> StatusTrouble:
    """400: the prompt is longer than the model's context."""
    message = "Your input exceeds the context window of this model."
    return StatusTrouble(400, "invalid_request_error", "context_length_exceeded", message)


def cut_body(after_bytes: int = 20) -> CutBody:
    """The connection ends inside the answer."""
    return CutBody(after_bytes)


def drop() -> CutBody:
    """The connection ends without an answer."""
    return CutBody(None)


def hang(seconds: float = 3600.0) -> Hang:
    """The provider takes the request and says nothing."""
    return Hang(seconds)


def no_json() -> RawBody:
    """A gateway's page in the place of an answer."""
    return RawBody(b"<html><body>Bad gateway</body></html>", "text/html")


def broken_json() -> RawBody:
    """A body that says that it is JSON and is not."""
    return RawBody(b'{"id": "x", "object": ')


def empty_body() -> RawBody:
    """A success of no bytes."""
    return RawBody(b"")


def no_fields() -> RawBody:
    """JSON in which nothing of an answer stands."""
    return RawBody(b"{}")


PROVIDER_TROUBLES: Final[Mapping[str, ModelTrouble]] = MappingProxyType(
    {
        "401": unauthorized(),
        "402": payment_required(),
        "403": forbidden(),
        "404": no_such_model(),
        "429": rate_limited(),
        "429-retry-after": rate_limited(1),
        "quota": out_of_quota(),
        "500": server_error(),
        "502": server_error(502),
        "503": server_error(503, 1),
        "529": server_error(529),
        "cut": cut_body(),
        "drop": drop(),
        "hang": hang(),
        "html": no_json(),
        "broken-json": broken_json(),
        "empty-body": empty_body(),
        "no-fields": no_fields(),
    }
)
"""Each of them once, by a name for tests that try them all."""
