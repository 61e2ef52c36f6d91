"""A leg: its terms, its state between two runs, its result, and its questions to people."""

from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue

from orchestrator.confirmation.asked_before import AskedCall
from orchestrator.confirmation.models import Approval, ConfirmationCard, DecisionRecord
from orchestrator.core.budget import Money, Spend, Usage
from orchestrator.core.call_ref import CallRef
from orchestrator.core.limits import LimitReached, Limits, Used
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.failure_details import ModelChange, ModelPause, ModelState
from orchestrator.messages.hold import Hold
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.messages.names import call_id
from orchestrator.messages.step import PlanStepOutput, Repeats, SelectedTools, StepRecord
from orchestrator.messages.tool_call import PreparedCall
from orchestrator.planning.models import AnswerTable, CallTool, Fact, HandOver, LegPlan, Observation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.orders import Order, WhenRead
from orchestrator.saga.outcome import FollowUp, InputWanted, OutcomeKind

if TYPE_CHECKING:
    from orchestrator.messages.question_field import QuestionField


class LegStatus(StrEnum):
    """The status of a leg."""

    WAITING = "waiting"
    RUNNING = "running"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    AWAITING_ANSWER = "awaiting_answer"
    AWAITING_MODEL = "awaiting_model"
    """The provider of its model refuses or fails: the leg retries, and nothing is cancelled."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    """A person left out this leg, or one that it depends on: the leg serves no order."""


class Question(Record):
    """A leg's question to the person who started the mission."""

    question_id: str
    mission_id: str
    leg_id: str
    question: str
    fields: dict[str, JsonObject]
    """The schemas of the answer; empty if only a confirmation is needed."""
    personal: tuple[str, ...] = ()
    """Personal fields to store in the vault before answering; no answer carries their values."""
    expires_at: datetime | None = None
    why: str = Field(default="", description="purpose of the answer")
    otherwise: str = Field(default="", description="consequence of no answer in time")
    asked_at: datetime | None = None
    """In the time zone in which the dates of the answer are read."""
    hold: Hold | None = Field(default=None, description="set before a rollback: what it is about")
    server: str = Field(default="", description="the MCP server that asks; only a person answers")

    @property
    def asks(self) -> "tuple[QuestionField, ...]":
        """Return the fields as people read them; workflow code calls `question_fields` itself."""
        # The import loads words and schemas, which most readers of legs do not need. The workflow
        # sandbox refuses an import at this point.
        from orchestrator.messages.question_field import question_fields

        return question_fields(self.fields)

    @property
    def today(self) -> date | None:
        """The date of the question, for examples."""
        return None if self.asked_at is None else self.asked_at.date()


def open_choice(options: Mapping[str, str], *, other: str = "") -> JsonObject:
    """Return the schema of a text field with listed options that may accept other texts.

    Args:
        options: the values to choose from, each with its meaning.
        other: the meaning of any other text; empty: no other text is accepted.

    Example: `open_choice({"go on": "do this", "stop": "leave it"}, other="what you want instead")`
    """
    named: list[JsonValue] = [
        {"const": value, **({"description": about} if about else {})}
        for value, about in options.items()
    ]
    if not other:
        return {"type": "string", "oneOf": named}
    free: JsonObject = {"type": "string", "minLength": 1, "description": other}
    return {"type": "string", "description": other, "anyOf": [*named, free]}


class AnswerInput(Record):
    """The answer to a leg's question."""

    question_id: str
    values: dict[str, JsonValue]
    answered_by: str = ""


class OpenCard(Record):
    """A card that waits for a decision, with the state that a new run needs to keep waiting."""

    card: ConfirmationCard
    call: PreparedCall = Field(description="the prepared call, as last amended")
    approvals: tuple[Approval, ...] = ()
    reminded: int = 0
    meanings: tuple[str, ...] = ()
    """Digests of the call as proposed and as amended, oldest first."""
    amended_inputs: tuple[str, ...] = Field(default=(), description="inputs that people changed")
    reason: str = Field(default="", description="the planner's reason for the call")


class Acting(Record):
    """A decision that is being carried out; a new run continues it."""

    planned: PlanStepOutput
    prepared: PreparedCall | None = None
    """None: the decision makes no call or several calls, or its call is prepared again."""
    done: tuple[int, ...] = ()
    """Finished parts, of several calls."""
    parts: dict[int, PreparedCall] = Field(default_factory=dict)
    """Prepared calls by part, stored after the read-only calls were made."""
    sent: PreparedCall | None = None
    """Its call, while a person decides on the overcharge or answers its server."""
    wanted: InputWanted | None = None
    """The input that the server of the call asks for."""
    due: datetime | None = None
    """The time before which its call is not prepared, as its workflow is written."""


class LegAccount(Record):
    """The part of a leg's state that its result repeats."""

    summary: str = ""
    table: AnswerTable | None = None
    """Data of providers, for a leg that only read."""
    follow_ups: tuple[FollowUp, ...] = ()
    """Calls that its last answer makes possible, for a leg that only read."""
    unverified_ids: tuple[str, ...] = Field(default=(), description="ids of the summary, unproved")
    conditions: tuple[WhenRead, ...] = ()
    """The planner's readings of conditional orders."""
    outputs: JsonObject = Field(default_factory=dict, description="of its written workflow")
    error: str | None = None
    steps: tuple[StepRecord, ...] = Field(default=(), description="the newest steps")
    steps_before: int = Field(default=0, description="number of older steps that are left out")
    called: tuple[str, ...] = Field(default=(), description="tools of these steps, with success")
    facts: tuple[Fact, ...] = ()
    facts_before: int = Field(default=0, description="number of older facts that are left out")
    stalled: str = ""
    """The reason for waiting for state that no worker has; empty: it does not wait."""
    ledger: Ledger = Field(default_factory=Ledger)
    spend: Spend = Field(default_factory=Spend)
    usage: Usage = Field(default_factory=Usage)
    tool_calls: int = Field(default=0, description="number of calls sent")
    limit: LimitReached | None = Field(default=None, description="limit that ended the leg")
    decisions: tuple[DecisionRecord, ...] = ()
    discovered: tuple[str, ...] = Field(default=(), description="tools that its searches found")

    @property
    def taken(self) -> Spend:
        """The share of the mission's budget that is spent or reserved."""
        return Spend.total([self.spend, self.ledger.set_aside])


class LegState(LegAccount):
    """The state of a leg that survives continue-as-new."""

    step: int = 0
    part: int = Field(default=0, description="index among the parallel calls of the step")
    status: LegStatus = LegStatus.RUNNING
    observations: tuple[Observation, ...] = ()
    answers: JsonObject = Field(default_factory=dict)
    conversation: str = ""
    """The key of its conversation with the model; empty: none is stored."""
    forwarded: tuple[str, ...] = ()
    """Tools shown in previous steps, for a tool list that keeps growing."""
    handed_to: tuple[str, ...] = ()
    """Legs that did parts of it: their effects serve its orders."""
    began_at: datetime | None = Field(default=None, description="start of its first run")
    repeats: Repeats = Field(default_factory=Repeats)
    asked: tuple[AskedCall, ...] = ()
    """Questions and cards with their outcomes, the newest last."""
    model: ModelState = Field(default_factory=ModelState)
    unproved: str = ""
    """Set if no effect or answer proves its summary."""
    past: str = ""
    """The key of the stored observations; `observations` holds those of the current step that are
    not stored yet."""
    noted: tuple[str, ...] = ()
    """Refusals that its planner has received, the newest last."""
    unmade: CallTool | None = Field(default=None, description="the last call, if it failed")
    acting: Acting | None = Field(default=None, description="None: the leg thinks, or is over")
    card: OpenCard | None = Field(default=None, description="card that waits for a decision")
    question: Question | None = Field(default=None, description="question that waits for an answer")
    pause: ModelPause | None = Field(default=None, description="pause of its model")

    @property
    def used(self) -> Used:
        """The usage that limits count."""
        return Used(usage=self.usage, tool_calls=self.tool_calls, steps=self.step)


class LegInput(Record):
    """The terms and the state of a leg, from which a run of its mission continues the leg."""

    mission_id: str
    origin: str = Field(default="", description="first run id of its mission")
    mission_goal: str
    leg: LegPlan
    inputs: JsonObject = Field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    outputs_of: dict[str, JsonObject] = Field(default_factory=dict)
    """Outputs of the workflows that its own depends on, by their ids."""
    budget: Money | None = None
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    read_only: bool = Field(default=False, description="True if the mission may change nothing")
    observe: bool = Field(default=False, description="True if its calls are observed, not guarded")
    covered: tuple[Order, ...] = ()
    """Orders that a standing approval may cover: those of the rules, of an approved plan, or listed
    by the request."""
    requester: str = ""
    limits: Limits = Field(default_factory=Limits)
    """For each leg, in addition to its agent's own."""
    catalog: CatalogPin
    started_at: datetime
    state: LegState = Field(default_factory=LegState)

    @property
    def call_id(self) -> str:
        """The id of the tool call of the current step and part."""
        return call_id(self.mission_id, self.leg.leg_id, self.state.step, self.state.part)

    @property
    def brought(self) -> tuple[str, ...]:
        """The handles of the personal values that its mission was started with."""
        return tuple(str(v) for v in self.inputs.values() if is_handle(v))

    def reopened(self, **changes: object) -> "LegInput":
        """Return the terms and the state from which a repair continues a leg that was lost.

        A call that was settled is finished, and a hand-over awaited; else the leg thinks again. The
        questions and refusals before no longer count against it.
        """
        state, acting = self.state, self.state.acting
        if acting is not None:
            goes_on = acting.sent is not None or isinstance(acting.planned.decision, HandOver)
            acting = acting if goes_on else None
        model = state.model.model_copy(update={"bad_answers": 0, "passed_over": ()})
        again: dict[str, object] = {
            "status": LegStatus.RUNNING,
            "acting": acting,
            "repeats": Repeats(),
            "asked": (),
            "noted": (),
            "model": model,
            "error": None,
            "limit": None,
        }
        return self.model_copy(update={"state": state.model_copy(update={**again, **changes})})

    def call_of(self, tool: str) -> CallRef:
        """Return the reference of a call of a tool in the current step."""
        return CallRef(
            call_id=self.call_id,
            mission_id=self.mission_id,
            leg_id=self.leg.leg_id,
            tool=tool,
            catalog_digest=self.catalog.digest,
            origin=self.origin,
        )


class LegResult(LegAccount):
    """The result of one leg."""

    leg_id: str
    agent: str
    goal: str
    status: LegStatus
    unproved: bool = False
    """The planner reports success that no effect proves."""
    unproved_why: str = ""
    """Set if no effect or answer proves its summary."""
    planned_by: str = ""
    """The planner at its start: a model, or the rules; empty: unknown."""
    steps_taken: int = 0
    model_changes: tuple[ModelChange, ...] = ()
    """Changes to another model than its profile's, with reasons."""
    pause: ModelPause | None = None

    @property
    def used(self) -> Used:
        """The usage that limits count."""
        return Used(usage=self.usage, tool_calls=self.tool_calls, steps=self.steps_taken)

    @property
    def decided_by(self) -> str:
        """The current planner: the model that it changed to, if it did."""
        changed = [change.model for change in self.model_changes if change.model]
        return changed[-1] if changed else self.planned_by

    @property
    def sentence(self) -> str:
        """The summary, marked as unproved where nothing proves it."""
        unverified_ids = (
            f" (in no answer: {', '.join(map(repr, self.unverified_ids))})"
            if self.unverified_ids
            else ""
        )
        if self.unproved and self.summary:
            return f"The planner says, unproved: {self.summary}{unverified_ids}"
        return f"{self.summary}{unverified_ids}"


class LegWaiting(Record):
    """The one thing that a leg waits for, if any."""

    card: ConfirmationCard | None = None
    question: Question | None = None
    pause: ModelPause | None = None
    stalled: str = ""
    """The reason for waiting for state that no worker has; empty: it does not wait."""


class CallMade(Record):
    """A call of the step that was sent."""

    call_id: str
    tool: str
    outcome: OutcomeKind | None = Field(default=None, description="None: it is under way")
    error: str | None = None


class LegProgress(Record):
    """A leg as watchers see it, with its whole ledger."""

    agent: str = ""
    goal: str = ""
    status: LegStatus = LegStatus.WAITING
    selection: SelectedTools | None = None
    calls: tuple[CallMade, ...] = ()
    """Calls of the current step, and some earlier ones."""
    steps: tuple[StepRecord, ...] = ()
    steps_before: int = Field(default=0, description="number of older steps")
    decisions: tuple[DecisionRecord, ...] = ()
    ledger: Ledger = Field(default_factory=Ledger)
    waiting: LegWaiting = Field(default_factory=LegWaiting)
    summary: str = ""
    error: str | None = None


class MissionProgress(Record):
    """The legs of a mission by leg id, in the order in which they started."""

    legs: dict[str, LegProgress] = Field(default_factory=dict)


class HandOverAsked(Record):
    """A leg's request to have another agent do a part of its goal."""

    hand_over_id: str = Field(description="id of the asking step")
    leg_id: str
    agent: str = Field(max_length=200)
    goal: str = Field(max_length=4000)
    orders: tuple[Order, ...] = ()
    """Orders of the leg that are not served yet."""
    output_schema: JsonObject | None = None
    """JSON Schema of the outputs, for the goal of a written workflow's step."""
    inputs: JsonObject = Field(default_factory=dict)


class HandedOver(Record):
    """The outcome of a hand-over."""

    outcome: Literal["ended", "refused"]
    leg_id: str = Field(default="", description="leg that did the work")
    status: LegStatus | None = None
    summary: str = ""
    why: str = Field(default="", description="reason of a refusal or failure")
    facts: tuple[Fact, ...] = ()
    outputs: JsonObject = Field(default_factory=dict)


class HandOverInput(Record):
    """The input for planning a hand-over as a leg."""

    mission_id: str
    asked: HandOverAsked
    asking: LegPlan
    new_leg_id: str
    catalog_digest: str


class HandOverPlan(Record):
    """The leg for a hand-over, or the reason for refusing it."""

    leg: LegPlan | None = None
    refusal: str = ""
