"""Outcomes of calls and compensations; a call's outcome follows from its status or fault."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from orchestrator.core.budget import Money
from orchestrator.core.record import BodyRef, JsonObject, Record

OutcomeKind = Literal["succeeded", "rejected", "unknown"]

_TOOL_REFUSED = 422
"""Stands for an MCP tool's own error, where its document says that nothing was done then."""

_NOT_FINAL = frozenset({408, 425, 429})
"""Client errors that do not show whether the request was processed, or that ask to wait."""


FollowUpKind = Literal["cancel", "read", "consequence"]


class FollowUp(Record):
    """A call that can be made next, and its known inputs."""

    id: str = Field(description="the id of the call that it follows, a colon, and a number")
    kind: FollowUpKind
    tool: str
    title: str
    inputs: JsonObject = Field(description="personal fields as handles")
    asks_for: tuple[str, ...] = Field(default=(), description="required inputs without a value")
    until: datetime | None = Field(default=None, description="end of its window; None: no end")
    fee: Money | None = Field(default=None, description="cost of cancelling")


class InputWanted(Record):
    """The input that a server asks a person for before it goes on with a call."""

    server: str
    text: str = ""
    """In the server's own words, with hidden characters escaped."""
    fields: dict[str, JsonObject] = Field(default_factory=dict)
    """Schemas of the answer; a field with a default may be left out."""
    asked: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The names of the fields of each of the server's requests, by its key."""
    state: str | None = None
    """Opaque: it goes back to the server with the answer."""
    refused: str = ""
    """The reason why nobody is asked, as the predicate of a sentence about the server."""
    round: int = 1
    """The number of times that the server has asked during this call."""
    sending: int = 0
    """`ToolCall.postponed` of the call that the server answered so."""
    sent_by: str = ""
    """The run that sent the call for the first time."""
    may_have_arrived: bool = False
    """True if an earlier attempt of that call is unclear."""

    @property
    def why_refused(self) -> str:
        """The reason why nobody is asked, in words; empty: a person is asked."""
        return self.refused and f"MCP server {self.server} {self.refused}"

    def answered(self, values: JsonObject | None, *, withdrawn: bool = False) -> "InputGiven":
        """Return the answer to the server; None for a person who declined, or did not answer."""
        answers: dict[str, JsonObject] = {}
        for key, names in self.asked.items():
            if values is None:
                answers[key] = {"action": "cancel" if withdrawn else "decline"}
                continue
            defaults = {name: self.fields[name].get("default") for name in names}
            known = {name: values.get(name, defaults[name]) for name in names}
            content: JsonObject = {name: one for name, one in known.items() if one is not None}
            answers[key] = {"action": "accept", "content": content}
        return InputGiven(answers=answers, state=self.state, round=self.round, sent_by=self.sent_by)


class InputGiven(Record):
    """The answer with which the same call goes on."""

    answers: dict[str, JsonObject]
    """By the keys of the server's requests."""
    state: str | None = None
    """As the server sent it."""
    round: int = 1
    sent_by: str = ""


class ToolOutcome(Record):
    """The outcome of one tool call, after its retries."""

    kind: OutcomeKind
    status: int | None = None
    body: JsonValue = None
    reason: str | None = None
    """The reason why it was rejected or is unknown, in words that a planner can act on."""
    contract_breach: str | None = None
    """Deviations of the answer from its document; on a success, in parts that nothing uses."""
    doubted: bool = False
    """A 2xx that its document, or the closed rule, calls no success; another try ends alike."""
    alone: bool = False
    """True if no other attempt of the call can still arrive."""
    accepted: bool = False
    """True for a 202: the provider accepted the call and did not say that it is done."""
    deferred: bool = False
    """True if the provider did not begin and asks for a later attempt: 425, 429, rate limit."""
    declared: bool = False
    """True for a refusal that the document declares by its status, with its type and body."""
    price: Money | None = None
    """The price that the answer states."""
    named: tuple[Money, ...] = ()
    """Amounts of which none is declared to count: the largest of an answer without a declared
    charge; those of the answer to a cancel that names no refund and no fee."""
    refund: Money | None = None
    """The refund that the answer to a cancel states."""
    fee: Money | None = None
    """The fee that the answer to a cancel states."""
    headers: dict[str, str] = Field(default_factory=dict)
    """The answer's headers that the tool's compensation expressions read, names in lower case."""
    cancel_inputs: JsonObject = Field(default_factory=dict)
    """The inputs of its cancel tool that this call and its answer fill."""
    answered_ids: JsonObject = Field(default_factory=dict)
    """The inputs that come from the answer: the provider's ids of the resource."""
    follow_ups: tuple[FollowUp, ...] = ()
    """Calls that can follow a consequence that took effect."""
    answered_at: datetime | None = None
    """The time of the answer, by the clock of the worker that received it."""
    retry_after_s: float | None = None
    """The wait that the provider asked for before the next attempt."""
    body_ref: BodyRef | None = None
    """The place of the whole body, of which `body` is then a shortened form."""
    wanted: InputWanted | None = None
    """Set if its server asks for input: the call is neither done nor refused."""

    @property
    def asks(self) -> InputWanted | None:
        """The input that a person is asked for; None: the call goes on in no way."""
        return None if self.wanted is None or self.wanted.refused else self.wanted

    def after_input(self, given: InputGiven | None) -> "ToolOutcome":
        """Return the outcome; only the tool's own refusal settles a call that its server began."""
        if given is None or self.kind != "rejected" or self.status == _TOOL_REFUSED:
            return self
        reason = f"{self.why}; the server had begun, and asked for input"
        return self.model_copy(update={"kind": "unknown", "reason": reason, "deferred": False})

    @property
    def why(self) -> str:
        """Its reason, or else its status."""
        return self.reason or f"HTTP {self.status}"

    @property
    def is_unproved(self) -> bool:
        """True for a 2xx without proof that the call is done."""
        return self.kind == "unknown" and self.status is not None and 200 <= self.status < 300


class CompensationOutcome(Record):
    """The outcome of one attempt to cancel an obligation; a `CompensationFailure` if unclear."""

    state: Literal["cancelled", "void", "parked"]
    note: str = ""
    refund: Money | None = None
    fee: Money | None = Field(default=None, description="that the provider keeps, by its answer")
    named: tuple[Money, ...] = Field(default=(), description="amounts in the answer to the cancel")


class CompensationFailure(Record):
    """An attempt to cancel an obligation that settled nothing."""

    reason: str
    counts: bool = Field(default=True, description="it uses up an attempt: it may be worked on")
    arrived: bool = Field(default=True, description="the cancel may be done, its answer lost")
    answered: bool = Field(default=False, description="a success that was not believed")
    doubted: bool = Field(default=False, description="the answer says that it was not done")
    settles_after: timedelta | None = Field(default=None, description="it is only looked up so far")
    final: bool = Field(default=False, description="True if another attempt cannot end differently")
    retry_after_s: float | None = Field(default=None, description="that the provider asks for")
    stalled: bool = Field(default=False, description="True if no worker had the required state")


class TransportFault(StrEnum):
    """The ways in which a call can end without an answer, in words."""

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


_F = TransportFault
_NEVER_LEFT = frozenset({
    _F.ADDRESS, _F.NAME, _F.CONNECT, _F.CONNECT_TIMEOUT, _F.TLS, _F.POOL, _F.PROXY, _F.REQUEST,
    _F.DEADLINE_BEFORE_SENDING,
})  # fmt: skip
"""Faults before the first byte of a request is sent: the provider cannot have acted."""

_NOT_WORKED_ON = frozenset({425, 429})
"""Statuses of a provider that did not begin and asks for a later attempt."""

_DONE_ELSEWHERE = frozenset({302, 303})
"""Redirects that also say "done, look there"; the others want the request sent elsewhere."""


def classify(
    ended: int | TransportFault, *, in_progress: bool = False, changes: bool = False
) -> OutcomeKind:
    """Return the kind of outcome of one attempt to call a tool.

    Args:
        ended: the status that was received, or the fault that it ended with; an informational
            status is no answer.
        in_progress: a 409 says that an earlier request with the same key is still running.
        changes: the tool may change something, so that a redirect may mean that it did.

    Returns:
        "rejected" only if the attempt can have had no effect at the provider; "succeeded" by the
        status alone: the answer is checked against its document elsewhere.
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
    """Return True if an answer with this status says that the provider did not begin."""
    return status in _NOT_WORKED_ON
