"""What calls and compensations come to; a call's outcome is decided from its status or fault."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from orchestrator.core.body_ref import BodyRef
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record

OutcomeKind = Literal["succeeded", "rejected", "unknown"]

_NOT_FINAL = frozenset({408, 425, 429})
"""Client errors that say nothing about whether the request was processed, or that ask to wait."""


FollowUpKind = Literal["cancel", "read", "consequence"]


class FollowUp(Record):
    """One call that can be made next, and the inputs that are known for it."""

    id: str = Field(description="the id of the call that it follows, a colon, and a number")
    kind: FollowUpKind
    tool: str
    title: str
    inputs: JsonObject = Field(description="personal fields as handles")
    asks_for: tuple[str, ...] = Field(
        default=(), description="required inputs of a cancel that nothing fills yet"
    )
    until: datetime | None = Field(
        default=None, description="until when the provider cancels; None: no end is declared"
    )
    fee: Money | None = Field(default=None, description="what cancelling may cost")


class ToolOutcome(Record):
    """What one tool call came to, after its retries."""

    kind: OutcomeKind
    status: int | None = None
    body: JsonValue = None
    reason: str | None = None
    """Why it was rejected or is unknown, in words a planner can act on."""
    contract_breach: str | None = None
    """Deviations of the answer from its document; on a success, in parts that nothing uses."""
    doubted: bool = False
    """Answered with a 2xx that its document, or the closed rule, calls no success: no other attempt
    ends otherwise."""
    alone: bool = False
    """No other attempt of the call can be on its way."""
    accepted: bool = False
    """The provider took it on and did not say that it is done: a 202."""
    deferred: bool = False
    """The provider did not begin and asks to come back: a 425 or 429, or a limited rate."""
    declared: bool = False
    """A refusal that the document declares by its own status, with the type and body it has."""
    price: Money | None = None
    """What the answer says it cost."""
    refund: Money | None = None
    """What the answer to a cancel says is paid back."""
    fee: Money | None = None
    """What the answer to a cancel says is kept."""
    headers: dict[str, str] = Field(default_factory=dict)
    """The answer's headers that the tool's compensation expressions read, names in lower case."""
    undo_arguments: JsonObject = Field(default_factory=dict)
    """What this call and its answer fill of the inputs of its cancel tool."""
    answered_ids: JsonObject = Field(default_factory=dict)
    """Those of them that come from the answer: what its provider calls the thing."""
    follow_ups: tuple[FollowUp, ...] = ()
    """What can be done after a consequence that took effect."""
    answered_at: datetime | None = None
    """When the answer arrived, by the clock of the worker that received it."""
    retry_after_s: float | None = None
    """How long the provider asked to wait before the next attempt."""
    body_ref: BodyRef | None = None
    """Where the whole body is kept; the one above is a shortened form of it then."""

    @property
    def is_unproved(self) -> bool:
        """Whether it was answered with a 2xx, and with nothing that proves that it is done."""
        return self.kind == "unknown" and self.status is not None and 200 <= self.status < 300


class CompensationOutcome(Record):
    """What one attempt to take an obligation back came to; a `CompensationFailure` when unclear."""

    state: Literal["cancelled", "void", "parked"]
    note: str = ""
    refund: Money | None = None
    fee: Money | None = Field(default=None, description="what its provider keeps, as answered")


class CompensationFailure(Record):
    """An attempt to take an obligation back that came to nothing clear."""

    reason: str
    counts: bool = Field(
        default=True, description="the provider may have worked on it, so it is one of the attempts"
    )
    arrived: bool = Field(
        default=True, description="the cancel may have been carried out, and only its answer lost"
    )
    answered: bool = Field(
        default=False,
        description="a cancel was answered with a status of success that was not believed",
    )
    settles_after: timedelta | None = Field(
        default=None, description="it is looked for again, and void once missing for so long"
    )
    final: bool = Field(default=False, description="no further attempt can end otherwise")
    retry_after_s: float | None = Field(default=None, description="as the provider asked")
    held_up: bool = Field(
        default=False,
        description="no worker had what it needs; its provider has no part in it",
    )


class TransportFault(StrEnum):
    """How a call can end without an answer, in words."""

    ADDRESS = "the address is not one of HTTP"
    NAME = "the host's name could not be resolved"
    CONNECT = "the connection was refused or failed"
    CONNECT_TIMEOUT = "the connection was not made in time"
    TLS = "no secure connection could be made"
    POOL = "no connection was free in time"
    PROXY = "the proxy refused the connection"
    REQUEST = "the request could not be written"
    DEADLINE_BEFORE_SENDING = "its time was over before it was sent"
    SEND = "the connection broke while sending"
    SEND_TIMEOUT = "the request could not be sent in time"
    PROTOCOL = "the server broke off or did not speak HTTP"
    READ = "the connection broke before the answer was complete"
    READ_TIMEOUT = "the answer did not come in time"
    DEADLINE = "no complete answer came within its time"
    ANSWER = "the answer could not be read"
    OTHER = "the exchange failed"


_NEVER_LEFT = frozenset(
    {
        TransportFault.ADDRESS,
        TransportFault.NAME,
        TransportFault.CONNECT,
        TransportFault.CONNECT_TIMEOUT,
        TransportFault.TLS,
        TransportFault.POOL,
        TransportFault.PROXY,
        TransportFault.REQUEST,
        TransportFault.DEADLINE_BEFORE_SENDING,
    }
)
"""Faults before the first byte of a request is sent: the provider cannot have acted."""

_NOT_WORKED_ON = frozenset({425, 429})
"""Answers of a provider that did not begin: it asks to come back."""

_DONE_ELSEWHERE = frozenset({302, 303})
"""Redirects that providers also use to say "done, look there" after a request that they carried
out; the others say that the request itself should have gone somewhere else."""


def classify(
    ended: int | TransportFault, *, in_progress: bool = False, changes: bool = False
) -> OutcomeKind:
    """What one attempt to call a tool came to.

    Args:
        ended: the status that was received, or the fault that it ended with; an informational
            status is no answer.
        in_progress: a 409 says that an earlier request with the same key is still running.
        changes: the tool may change something, so that a redirect may mean that it did.

    Returns:
        "rejected" only when the attempt can have had no effect at the provider; "succeeded" as far
        as the status goes, what the document says of the answer is looked at apart.
    """
    if isinstance(ended, TransportFault):
        return "rejected" if ended in _NEVER_LEFT else "unknown"
    if 200 <= ended < 300:
        return "succeeded"
    if ended < 200 or ended >= 500 or ended in _NOT_FINAL:
        return "unknown"
    if (ended == 409 and in_progress) or (ended in _DONE_ELSEWHERE and changes):
        return "unknown"
    return "rejected"


def is_not_worked_on(status: int | None) -> bool:
    """Whether an answer with this status says that the provider did not begin."""
    return status in _NOT_WORKED_ON
