"""What a call came to, decided from its status or transport error: DESIGN's table of outcomes."""

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from orchestrator.budget import Money
from orchestrator.record import Record

OutcomeKind = Literal["succeeded", "rejected", "unknown"]

_NOT_FINAL = frozenset({408, 425, 429})
"""Client errors that say nothing about whether the request was processed, or that ask to wait."""


class ToolOutcome(Record):
    """What one tool call came to, after its retries."""

    kind: OutcomeKind
    status: int | None = None
    body: JsonValue = None
    reason: str | None = None
    """Why it was rejected or is unknown, in words a planner can act on."""
    contract_breach: str | None = None
    """What of the answer breaks the declared response schema; the call happened all the same."""
    price: Money | None = None
    """What the answer says it cost."""
    headers: dict[str, str] = Field(default_factory=dict)
    """The answer's headers that the tool's compensation expressions read, names in lower case."""
    answered_at: datetime | None = None
    """When the answer arrived, by the clock of the worker that received it."""
    retry_after_s: float | None = None
    """How long the provider asked to wait before the next attempt."""


def classify_status(status: int, *, in_progress: bool = False) -> OutcomeKind:
    """The outcome that an HTTP status stands for.

    Args:
        status: as received; 3xx counts as rejected, for no redirect is followed that matters here.
        in_progress: a 409 that says an earlier request with the same key is still running.
    """
    if 200 <= status < 300:
        return "succeeded"
    if status >= 500 or status in _NOT_FINAL or (status == 409 and in_progress):
        return "unknown"
    return "rejected"
