"""A leg: what starts it, what survives of it, its result, what it asks its mission and people."""

from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import Field, JsonValue

from orchestrator.confirmation.asked_before import AskedCall
from orchestrator.confirmation.models import ConfirmationCard, DecisionRecord
from orchestrator.core.budget import Money, Spend, Usage
from orchestrator.core.call_ref import CallRef
from orchestrator.core.limits import LimitReached, Limits, Used
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.messages.model_trouble import ModelChange, ModelPause, ModelState
from orchestrator.messages.names import call_id
from orchestrator.messages.repeats import Repeats
from orchestrator.messages.shared_limits import LegShare
from orchestrator.messages.step import StepRecord
from orchestrator.planning.models import AnswerTable, Fact, LegPlan, Observation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.orders import Order, WhenRead
from orchestrator.saga.outcome import FollowUp

if TYPE_CHECKING:
    from orchestrator.messages.question_field import QuestionField


class LegStatus(StrEnum):
    """Where a leg stands."""

    WAITING = "waiting"
    RUNNING = "running"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    AWAITING_ANSWER = "awaiting_answer"
    AWAITING_MODEL = "awaiting_model"
    """The provider of its model refuses or fails: it is asked again, and nothing is undone."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    """A person left it out, or one that it depends on: nothing of it is served by it."""


class LegState(Record):
    """All of a leg that survives continue-as-new."""

    step: int = 0
    part: int = Field(default=0, description="of the calls that the step makes at once: which")
    status: LegStatus = LegStatus.RUNNING
    observations: tuple[Observation, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    answers: JsonObject = Field(default_factory=dict)
    conversation: str = Field(
        default="", description="where what its model was told is kept; empty: nowhere"
    )
    forwarded: tuple[str, ...] = Field(
        default=(), description="tools that its steps were shown, where they stay shown"
    )
    discovered: tuple[str, ...] = ()
    handed_to: tuple[str, ...] = Field(
        default=(), description="legs that did parts of it: their effects serve its orders"
    )
    ledger: Ledger = Field(default_factory=Ledger)
    spend: Spend = Field(default_factory=Spend)
    usage: Usage = Field(default_factory=Usage)
    tool_calls: int = 0
    began_at: datetime | None = Field(default=None, description="its first run; None: not yet")
    share: LegShare = Field(
        default_factory=LegShare, description="of the limits of its mission, where it has some"
    )
    limit: LimitReached | None = Field(default=None, description="that ended it, where one did")
    repeats: Repeats = Field(
        default_factory=Repeats, description="how often the same call came to the same"
    )
    decisions: tuple[DecisionRecord, ...] = ()
    asked: tuple[AskedCall, ...] = Field(
        default=(), description="what people were asked, with what came of it, the newest last"
    )
    model: ModelState = Field(default_factory=ModelState)
    summary: str = ""
    unproved: str = Field(
        default="", description="why its summary is its planner's word alone; empty: it is not"
    )
    follow_ups: tuple[FollowUp, ...] = Field(
        default=(), description="what its last answer makes possible, where it only read"
    )
    unheld: tuple[str, ...] = Field(
        default=(), description="ids of its summary that stand in no answer"
    )
    conditions: tuple[WhenRead, ...] = Field(
        default=(), description="what its planner read of conditional orders"
    )
    table: AnswerTable | None = None
    error: str | None = None
    past: str = Field(
        default="",
        description="the key of the observations that are kept beside history; `observations` are "
        "those that are not kept yet, of the step that it is at",
    )
    facts: tuple[Fact, ...] = Field(default=(), description="what the kept observations taught")
    facts_before: int = Field(default=0, description="how many older ones there is no room for")
    told: tuple[str, ...] = Field(
        default=(), description="refusals that its planner was told of once, the newest last"
    )
    steps_before: int = Field(default=0, description="how many older steps there is no room for")
    called: tuple[str, ...] = Field(default=(), description="tools that those called with success")
    held_up: str = Field(
        default="",
        description="why it waits for what workers keep of its mission; empty: it does not",
    )

    @property
    def taken(self) -> Spend:
        """What it has taken of the mission's budget."""
        return Spend.total([self.spend, self.ledger.set_aside])

    @property
    def used(self) -> Used:
        """What it has used of what may be limited."""
        return Used(usage=self.usage, tool_calls=self.tool_calls, steps=self.step)

    @property
    def has_past(self) -> bool:
        """True if a leg in it has done something; tools that other legs discovered are none."""
        return self != LegState(discovered=self.discovered)


class LegInput(Record):
    """What starts a leg, or continues it in a new run."""

    mission_id: str
    mission_goal: str
    leg: LegPlan
    inputs: JsonObject = Field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    budget: Money | None = None
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    read_only: bool = Field(default=False, description="its mission may change nothing")
    covered: tuple[Order, ...] = Field(
        default=(),
        description="those of its orders that a standing approval may cover: of the rules, of an "
        "approved plan, or listed by the request",
    )
    requester: str = ""
    limits: Limits = Field(
        default_factory=Limits, description="of each leg of its mission, beside its agent's own"
    )
    shares_limits: bool = Field(
        default=False, description="its mission has limits, and is asked before they are used up"
    )
    catalog: CatalogPin
    started_at: datetime
    state: LegState = Field(default_factory=LegState)
    spending_held: bool = Field(
        default=False,
        description="an overcharge of another leg is to be decided on first",
    )

    @property
    def call_id(self) -> str:
        """The id of the tool call of the step that it is at, and of its part."""
        return call_id(self.mission_id, self.leg.leg_id, self.state.step, self.state.part)

    @property
    def brought(self) -> tuple[str, ...]:
        """The handles of the personal values that its mission was started with."""
        return tuple(str(v) for v in self.inputs.values() if is_handle(v))

    def call_of(self, tool: str) -> CallRef:
        """The call of a tool in that step."""
        return CallRef(
            call_id=self.call_id,
            mission_id=self.mission_id,
            leg_id=self.leg.leg_id,
            tool=tool,
            catalog_digest=self.catalog.digest,
        )


class LegResult(Record):
    """What became of one leg."""

    leg_id: str
    agent: str
    goal: str
    status: LegStatus
    summary: str = ""
    table: AnswerTable | None = Field(
        default=None, description="what it found, where it only read: data of providers"
    )
    unproved: bool = Field(
        default=False, description="its planner says that it is done, and no effect proves it"
    )
    unproved_why: str = Field(
        default="", description="why its summary is its planner's word alone; empty: it is not"
    )
    follow_ups: tuple[FollowUp, ...] = Field(
        default=(), description="what its last answer makes possible, where it only read"
    )
    unheld: tuple[str, ...] = Field(
        default=(), description="ids of its summary that stand in no answer"
    )
    conditions: tuple[WhenRead, ...] = Field(
        default=(), description="what its planner read of conditional orders"
    )
    error: str | None = None
    steps: tuple[StepRecord, ...] = Field(default=(), description="the newest ones, all of most")
    steps_before: int = Field(default=0, description="how many older ones there are")
    planned_by: str = Field(
        default="", description="who was to decide its steps: a model, the rules; empty: not said"
    )
    called: tuple[str, ...] = Field(default=(), description="tools that those called with success")
    facts: tuple[Fact, ...] = ()
    facts_before: int = Field(default=0, description="how many older ones there is no room for")
    held_up: str = Field(
        default="",
        description="why it waits for what workers keep of its mission; empty: it does not",
    )
    ledger: Ledger = Field(default_factory=Ledger)
    spend: Spend = Field(default_factory=Spend)
    usage: Usage = Field(default_factory=Usage)
    tool_calls: int = Field(default=0, description="that were sent")
    steps_taken: int = 0
    limit: LimitReached | None = Field(
        default=None, description="that ended it: which, whose, and how much of it was used"
    )
    decisions: tuple[DecisionRecord, ...] = ()
    discovered: tuple[str, ...] = Field(
        default=(), description="tools that searches found, its own and those of other legs"
    )
    model_changes: tuple[ModelChange, ...] = Field(
        default=(), description="where it went on with another model than its profile's, and why"
    )
    pause: ModelPause | None = Field(
        default=None, description="while it waits for the provider of its model"
    )

    @property
    def used(self) -> Used:
        """What it has used of what may be limited."""
        return Used(usage=self.usage, tool_calls=self.tool_calls, steps=self.steps_taken)

    @property
    def decided_by(self) -> str:
        """Who decides its steps now: another model than at first, where it went on with one."""
        changed = [change.model for change in self.model_changes if change.model]
        return changed[-1] if changed else self.planned_by

    @property
    def told(self) -> str:
        """Its summary, marked where it is only its planner's word."""
        unheld = f" (in no answer: {', '.join(map(repr, self.unheld))})" if self.unheld else ""
        if self.unproved and self.summary:
            return f"The planner says, unproved: {self.summary}{unheld}"
        return f"{self.summary}{unheld}"

    @property
    def taken(self) -> Spend:
        """What it has taken of the mission's budget."""
        return Spend.total([self.spend, self.ledger.set_aside])


class Question(Record):
    """What a leg asks the person who started the mission."""

    question_id: str
    mission_id: str
    leg_id: str
    question: str
    fields: dict[str, JsonObject]
    """What to answer with; empty when the answer is only that something was done."""
    personal: tuple[str, ...] = ()
    """Personal fields to store in the vault before answering; no answer carries their values."""
    expires_at: datetime | None = None
    why: str = Field(default="", description="what the answer is needed for")
    otherwise: str = Field(default="", description="what happens when nobody answers in time")
    asked_at: datetime | None = Field(
        default=None, description="when it was asked, in the time zone in which days are read"
    )

    @property
    def asks(self) -> "tuple[QuestionField, ...]":
        """Return its fields as a person reads them; a workflow calls `question_fields` itself."""
        # The import reads words and schemas, which most that read legs do not need. The sandbox of
        # workflows refuses an import at this point.
        from orchestrator.messages.question_field import question_fields

        return question_fields(self.fields)

    @property
    def today(self) -> date | None:
        """The day on which it was asked, for examples."""
        return None if self.asked_at is None else self.asked_at.date()


class AnswerInput(Record):
    """The answer to a leg's question."""

    question_id: str
    values: dict[str, JsonValue]
    answered_by: str = ""


class LegWaiting(Record):
    """What a leg waits for; at most one of them."""

    card: ConfirmationCard | None = None
    question: Question | None = None
    pause: ModelPause | None = Field(
        default=None, description="the provider of its model does not serve it"
    )
    held_up: str = Field(
        default="",
        description="why it waits for what workers keep of its mission; empty: it does not",
    )


class ReserveInput(Record):
    """A leg asks its mission to set money aside for one call, beside what it has spent so far."""

    leg_id: str
    call_id: str
    spent: Spend = Field(default_factory=Spend)
    price: Money | None = Field(default=None, description="None: it has none, or only asks")
    fee: Money | None = Field(default=None, description="what undoing the call may cost")


class ReserveOutput(Record):
    """Whether the money was set aside; `refusal` says why not."""

    call_id: str
    refusal: str | None = None


class OverchargeNews(Record):
    """A leg tells its mission of a call that cost more than was approved, or that it is settled."""

    leg_id: str
    call_id: str
    spent: Spend = Field(description="what the leg has taken of the budget by now")
    is_open: bool = Field(description="whether it is still to be decided what follows")


class SpendingHold(Record):
    """A mission tells a leg whether it may spend: not while an overcharge of another is open."""

    held: bool


class FoundTools(Record):
    """A leg tells its mission of tools that a search found, and the mission its other legs.

    A signal names no sender, and names are all that it carries: whoever sends it, each leg may use
    what is inside its own walls and nothing else.
    """

    leg_id: str = Field(default="", max_length=1000, description="whose search; told by a leg")
    tools: tuple[str, ...] = Field(max_length=20)
