"""Typed events of missions, and cursors: positions in histories from which to continue reading."""

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from pydantic import Field, TypeAdapter

from orchestrator.confirmation.same_again import SameAgain
from orchestrator.core.budget import Money
from orchestrator.core.errors import UsageError
from orchestrator.core.record import Record
from orchestrator.messages.hold import Hold

_RELEASE: Final = "1"
_LONGEST: Final = 4 * 1024 * 1024
"""Bytes of a cursor: a hundred for each run of the last minutes."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class HistoryPlace(NamedTuple):
    """The position after `number` events of the task that the history's event `task` started."""

    run_id: str
    task: int
    number: int


@dataclass(frozen=True)
class Cursor:
    """A position for each workflow, or for each run of a feed, by its id.

    For a feed: events before `since` have been read; runs that had ended at `begun` are left out.
    """

    places: Mapping[str, HistoryPlace] = field(default_factory=dict)
    since: datetime | None = None
    begun: datetime | None = None

    def at(self, workflow_id: str, place: HistoryPlace) -> "Cursor":
        """Return this cursor with a later position in one workflow."""
        return replace(self, places={**self.places, workflow_id: place})

    def __str__(self) -> str:
        """Encode the cursor as letters, digits, `-` and `_`."""
        moments = (self.since, self.begun)
        micros = ["" if at is None else str((at - _EPOCH) // _MICROSECOND) for at in moments]
        lines = [_RELEASE, *micros]
        lines += [" ".join((i, *map(str, self.places[i]))) for i in sorted(self.places)]
        packed = zlib.compress("\n".join(lines).encode(), 9)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def read_cursor(text: str) -> Cursor:
    """Return the cursor that a text encodes; UsageError: it is no cursor."""
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        reading = zlib.decompressobj()
        unpacked = reading.decompress(packed, _LONGEST)  # strangers send it: it may be a bomb
        if not reading.eof:
            raise ValueError("too long, or cut off")
        release, began, ended, *lines = unpacked.decode().split("\n")
        if release != _RELEASE:
            raise ValueError(release)
        since, begun = (_EPOCH + int(m) * _MICROSECOND if m else None for m in (began, ended))
        places = {}
        for line in lines:
            workflow_id, run_id, task, number = line.rsplit(" ", 3)
            places[workflow_id] = HistoryPlace(run_id, int(task), int(number))
        return Cursor(places, since, begun)
    except (ValueError, binascii.Error, zlib.error, OverflowError, OSError):
        raise UsageError(
            f"{text[:60]!r} is no cursor: give the `cursor` of an event, or none"
        ) from None


class Event(Record):
    """The fields of every event."""

    mission_id: str
    leg_id: str = Field(default="", description="empty for the mission itself and its rollback")
    at: datetime = Field(description="server time of the workflow task that recorded it")
    cursor: str = Field(default="", description="position from which a reader goes on after it")
    kind: str = ""


class MissionEvent(Event):
    """The mission began, moved to another status, or is over."""

    kind: Literal["mission"] = "mission"
    status: str
    goal: str = ""
    summary: str = Field(default="", description="set at its end")
    error: str | None = None
    over: bool = Field(default=False, description="True if the mission does nothing more")


class PlannedPart(Record):
    """A leg of a plan."""

    leg_id: str
    agent: str
    goal: str


class PlanEvent(Event):
    """The mission has a plan, or another one: its legs."""

    kind: Literal["plan"] = "plan"
    legs: tuple[PlannedPart, ...]


class LegEvent(Event):
    """A leg began, moved to another status, or ended."""

    kind: Literal["leg"] = "leg"
    status: str
    agent: str = ""
    goal: str = ""
    summary: str = ""
    error: str | None = None


class SelectionEvent(Event):
    """The router forwarded tools for a step."""

    kind: Literal["selection"] = "selection"
    step: int
    tools: tuple[str, ...]
    band: str
    catalog_size: int


class CallEvent(Event):
    """A call was sent, or was answered: then `outcome` says how it ended."""

    kind: Literal["call"] = "call"
    call_id: str
    tool: str
    state: Literal["sent", "answered"]
    outcome: str = Field(default="", description="succeeded, rejected, unknown")
    error: str | None = None


class StepEvent(Event):
    """A step, or one of the calls that it made at once, is done."""

    kind: Literal["step"] = "step"
    step: str = Field(description="its number; parallel calls of one step are 3, 3b, 3c")
    step_id: str = Field(default="", description="of a written workflow's step")
    did: str
    outcome: str
    error: str | None = None


class CardEvent(Event):
    """A confirmation card opened, was reminded of, or closed: decided, expired or withdrawn."""

    kind: Literal["card"] = "card"
    confirmation_id: str
    digest: str
    state: Literal[
        "opened", "reminded", "approved", "amended", "rejected", "responded", "expired", "withdrawn"
    ]
    tool: str = ""
    card_type: str = ""
    title: str = ""
    agent: str = ""
    requester: str = ""
    price: Money | None = None
    round: int = 1
    expires_at: datetime | None = None


class DecisionEvent(Event):
    """Somebody decided on a card; of a card that needs several approvals this is one of them."""

    kind: Literal["decision"] = "decision"
    confirmation_id: str
    digest: str
    decision: str = Field(
        description="approved, amended, rejected, responded; or revoked: a rule for later calls"
    )
    approver: str
    reason: str = ""
    then: str = Field(default="", description="what follows a rejection")
    again: SameAgain | None = Field(default=None, description="the rule that the approval made")
    rule: str = Field(default="", description="the rule that approved it; empty: a person did")


class QuestionEvent(Event):
    """A question opened, or closed: answered, expired or withdrawn."""

    kind: Literal["question"] = "question"
    question_id: str
    state: Literal["opened", "answered", "expired", "withdrawn"]
    question: str = ""
    fields: tuple[str, ...] = Field(default=(), description="names of the answer's fields")
    personal: tuple[str, ...] = ()
    """Personal fields to store before answering."""
    why: str = ""
    expires_at: datetime | None = None
    hold: Hold | None = Field(default=None, description="set before a rollback: what it is about")


class PauseEvent(Event):
    """A leg began, or ceased, to wait for the provider of its model."""

    kind: Literal["pause"] = "pause"
    pause_id: str
    state: Literal["opened", "retried", "closed"]
    model: str = ""
    reason: str = ""
    attempts: int = 0
    retried_at: datetime | None = None


class HeldUpEvent(Event):
    """The mission or leg began, or ceased, to wait for a worker that has its state."""

    kind: Literal["stalled"] = "stalled"
    state: Literal["opened", "closed"]
    why: str = ""


class ObligationEvent(Event):
    """An obligation was recorded, or changed its state, in a leg or in a rollback."""

    kind: Literal["obligation"] = "obligation"
    obligation_id: str
    tool: str
    state: str = Field(description="intended, committed, void, cancelled, parked, accepted")
    title: str = ""
    price: Money | None = None
    confirmed_by: str | None = None
    cancel_tool: str | None = None
    note: str = Field(default="", description="reason for its state")


class RollbackEvent(Event):
    """The rollback began, moved to another status, or has tried everything."""

    kind: Literal["rollback"] = "rollback"
    status: str = Field(description="collecting, rolling_back, parked, rolled_back")
    reason: str = ""
    parked: int = Field(default=0, description="obligations that wait for an operator")
    settled: bool = Field(default=False, description="True if every obligation was tried")


AnyEvent = Annotated[
    MissionEvent | PlanEvent | LegEvent | SelectionEvent | CallEvent | StepEvent | CardEvent
    | DecisionEvent | QuestionEvent | PauseEvent | HeldUpEvent | ObligationEvent | RollbackEvent,
    Field(discriminator="kind"),
]  # fmt: skip
"""Any event, distinguished by `kind`."""

EVENT: Final[TypeAdapter[AnyEvent]] = TypeAdapter(AnyEvent)
"""Reads one event from a line of JSON."""

EVENT_TYPES: Final[tuple[type[Event], ...]] = get_args(get_args(AnyEvent)[0])
FEED_KINDS: Final = frozenset({"card", "decision", "question"})
"""The feed of all missions: waits for people and their outcomes."""


def kind_of(event_type: type[Event]) -> str:
    """Return the `kind` of an event type."""
    kind: Any = event_type.model_fields["kind"].default
    return str(kind)
