"""A mission: its request, its state between two runs, and its result."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Literal, Self

from pydantic import Field, computed_field, field_validator, model_validator

from orchestrator.confirmation.models import DecisionRecord
from orchestrator.confirmation.same_again import AgainRecord
from orchestrator.core.budget import Money, Spend, Usage, overspent
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import LimitReached, Limits, Used
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.received_files import ReceivedFile, file_handles_in
from orchestrator.core.record import JsonObject, Record, shared_fields
from orchestrator.messages.hold import HoldRecord
from orchestrator.messages.leg import LegInput, LegResult, LegWaiting, Question
from orchestrator.messages.mission_policy import BeginInput, CatalogPin, MissionPolicy, OnFailure
from orchestrator.messages.receipts import (
    Cancelled,
    Left,
    Receipt,
    Unserved,
    cancelled_of,
    left_of,
    receipts_of,
)
from orchestrator.messages.rollback import RollbackReport, RollbackStatus
from orchestrator.messages.step import StepRecord
from orchestrator.planning.models import (
    CHAINING,
    Doubt,
    Fact,
    MissionPlan,
    OneCall,
    OwnPlanner,
    WorkflowSource,
    title_of,
)
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import FollowUp

MISSION_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$"
MOST_ORDERS: Final = 100
LONGEST_GOAL: Final = 4000


class MissionRequest(Record):
    """A user's request for a mission."""

    goal: str = Field(
        default="",
        max_length=LONGEST_GOAL,
        description="what is to be done; a written workflow needs none, and is titled by its own",
    )
    inputs: JsonObject = Field(default_factory=dict)
    budget: Money | None = None
    mission_id: str | None = Field(default=None, pattern=MISSION_ID_PATTERN)
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    read_only: bool = False
    """A call with a side effect is refused."""
    observe: bool = False
    """Its calls are observed and not guarded: nobody is asked, and nothing is rolled back."""
    orders: tuple[Order, ...] = Field(default=(), max_length=MOST_ORDERS)
    """Effects that the request itself lists, by tool and count: standing approvals cover these in a
    model's plan even if nobody approves the plan."""
    call: OneCall | None = None
    """A single call instead of a plan, such as a follow-up."""
    workflow: WorkflowSource | None = None
    """A written workflow instead of a plan; the goal is then its title, as the workflow's summary
    if none is given."""
    on_failure: OnFailure | None = None
    """After a final failure with effects: roll back, or ask first; None: as the policy says."""
    requester: str = Field(default="", max_length=200)
    """The name of the requester, as the client states it."""
    planner: OwnPlanner | None = None
    """The planner of agents that name none; None: the worker's planner."""
    model: str | None = Field(default=None, max_length=200)
    """The model of agents that name none; None: the worker's model."""

    @model_validator(mode="before")
    @classmethod
    def _has_a_goal(cls, given: Any) -> Any:
        """Take the title of a written workflow for a goal that is missing."""
        if not isinstance(given, dict) or given.get("goal"):
            return given
        source = given.get("workflow")
        titled = title_of(WorkflowSource.model_validate(source)) if source else ""
        return {**given, "goal": titled}

    @field_validator("goal", mode="before")
    @classmethod
    def _is_a_goal(cls, goal: object) -> object:
        """Refuse what is no goal in one sentence, without quoting it as pydantic does."""
        if not isinstance(goal, str):
            return goal
        if not goal:
            raise UsageError("goal: it says nothing; say what is to be done")
        if any("\ud800" <= character <= "\udfff" for character in goal[:LONGEST_GOAL]):
            raise UsageError("goal: it has half of a character; send it as valid Unicode text")
        if len(goal) > LONGEST_GOAL:
            raise UsageError(
                f"goal: at most {LONGEST_GOAL} characters are taken, and it has {len(goal):,}; "
                "what belongs to it can be given as an input"
            )
        return goal

    @field_validator("requester")
    @classmethod
    def _is_a_name(cls, requester: str) -> str:
        """Refuse a requester that cannot be printed on a card."""
        if not requester.isprintable():
            raise ValueError("a requester is a name of printable characters")
        return requester.strip()

    @model_validator(mode="after")
    def _chooses_once(self) -> Self:
        """Refuse a model for a planner that uses none."""
        if self.planner == CHAINING and self.model is not None:
            raise ValueError("the planner chaining asks no model: leave one of the two out")
        return self


def request_digest(request: MissionRequest) -> str:
    """Return the SHA-256 of the request and its requester, without policy.

    Fields that requests did not have originally are covered only if they are set: a request without
    them keeps its earlier digest.
    """
    optional = ("requester", "planner", "model", "read_only", "observe", "orders", "call")
    named = {name for name in (*optional, "workflow") if getattr(request, name)}
    covered = {"goal", "inputs", "budget", *named}
    asked = request.model_dump(mode="json", include=covered)
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def begin_of(request: MissionRequest, **given: object) -> BeginInput:
    """Return the input for planning a request, as the request says and with what is given."""
    return BeginInput.model_validate({**shared_fields(request, BeginInput), **given})


class AcceptedMission(Record):
    """The request of a mission and its plan, for its record."""

    mission_id: str
    plan: MissionPlan = Field(description="its legs; None if it was refused")
    catalog: CatalogPin
    request_digest: str = Field(description="distinguishes another request under the same id")
    refusal: str | None = Field(default=None, description="reason why it could not be planned")


class MissionStatus(StrEnum):
    """The status of a mission."""

    PLANNING = "planning"
    AWAITING_ANSWER = "awaiting_answer"
    """A person is being asked about its plan."""
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    """A person has to approve its plan."""
    RUNNING = "running"
    ON_HOLD = "on_hold"
    """It failed, and a person is being asked before its effects are rolled back."""
    ROLLING_BACK = "rolling_back"
    SUCCEEDED = "succeeded"
    """Every leg ended well, and each order of the goal has its effect."""
    INCOMPLETE = "incomplete"
    """Every leg ended, and a part of the goal was not served; the effects stand."""
    FAILED = "failed"
    """It failed without effects."""
    ROLLED_BACK = "rolled_back"
    """It failed, and all its effects were cancelled."""
    PARKED = "parked"
    """It failed, and effects that could not be cancelled wait for an operator."""
    CANCELLED = "cancelled"
    """A person cancelled it, and all its effects were cancelled."""
    ROLLED_BACK_AFTER_SUCCESS = "rolled_back_after_success"
    """A person rolled it back after its success."""
    TERMINATED = "terminated"
    """It was terminated; the sweep starts its rollback."""


_AFTER_ROLLBACK = frozenset({
    MissionStatus.ROLLING_BACK, MissionStatus.PARKED, MissionStatus.ROLLED_BACK,
    MissionStatus.ROLLED_BACK_AFTER_SUCCESS, MissionStatus.CANCELLED,
})  # fmt: skip


Came = Literal["go on", "stop", "said otherwise", "expired"]


class PlanAnswer(Record):
    """A person's answer about a plan, as the mission records it."""

    id: str = Field(description="id of the question or the card")
    outcome: Came
    text: str = Field(default="", description="the reworded goal, or the reason")
    by: str = Field(default="", description="who answered: claimed, or proved by a signature")
    at: datetime
    doubts: tuple[Doubt, ...] = Field(default=(), description="doubts that the question was about")


class MissionResult(Record):
    """The result document: the same whether the mission succeeded, failed or was cancelled."""

    mission_id: str
    goal: str
    goal_became: str = ""
    """The goal as a person restated it; empty: nobody did."""
    requester: str = Field(default="", description="requester, as given at the start")
    observed: bool = Field(default=False, description="True if its calls were not guarded")
    status: MissionStatus
    error: str | None = Field(default=None, description="the first error, never a later one")
    summary: str = ""
    summary_before: str = ""
    """The summary from before the rollback."""
    legs: tuple[LegResult, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    """Orders without their effects, and why."""
    set_aside: tuple[str, ...] = ()
    """Parts of the goal that a person chose to leave out of the plan."""
    uncovered: tuple[str, ...] = ()
    """Text of the goal that no leg claims to serve."""
    ledger: Ledger = Field(default_factory=Ledger)
    budget: Money | None = None
    usage: Usage = Field(default_factory=Usage, description="usage of the models that planned it")
    limit: LimitReached | None = None
    """The limit that ended a leg, with its usage."""
    catalog_digest: str = ""
    catalog_size: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    stopped: bool = Field(default=False, description="True if a person cancelled it")
    plan_made_by: PlanOrigin = Field(default_factory=PlanOrigin)
    """The planner, with the reason if a configured model did not plan."""
    plan_waits: LegWaiting = Field(default_factory=LegWaiting)
    """An open question or card about its plan."""
    plan_answers: tuple[PlanAnswer, ...] = ()
    """Answers about its plan, in order."""
    plan_decisions: tuple[DecisionRecord, ...] = ()
    """Decisions on the cards of its plan."""
    holds: tuple[HoldRecord, ...] = ()
    """Failures that people were asked about before a rollback, in order."""
    again: tuple[AgainRecord, ...] = ()
    """Rules for later calls that people made with approvals, and what the rules approved."""
    stalled: str = ""
    """The reason for waiting for state that no worker has; empty: it does not wait."""

    @model_validator(mode="before")
    @classmethod
    def _with_answers(cls, data: Any) -> Any:
        """Return the data with the answers of effects, which `as_sent` leaves to the ledger."""
        ledger = data.get("ledger") if isinstance(data, dict) else None
        if not isinstance(ledger, dict):
            return data
        made = {one["obligation_id"]: one.get("response") for one in ledger.get("obligations", ())}

        def answered(fact: JsonObject) -> JsonObject:
            answer = made.get(f"{data['mission_id']}.{fact['source']}")
            return fact if answer is None else {"body": answer, **fact}

        legs = [
            {**leg, "facts": [*map(answered, leg["facts"])]} if leg.get("facts") else leg
            for leg in data.get("legs", ())
        ]
        return {**data, "legs": legs}

    @computed_field  # type: ignore[prop-decorator]
    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """Effects that stand."""
        return receipts_of(self.ledger)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cancelled(self) -> tuple[Cancelled, ...]:
        """Effects that its legs or its rollback cancelled."""
        return cancelled_of(self.ledger)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def left(self) -> tuple[Left, ...]:
        """Effects that stand, or may stand, after a rollback."""
        return left_of(self.ledger)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def spend(self) -> Spend:
        """Money that its effects cost."""
        return self.ledger.spent

    @computed_field  # type: ignore[prop-decorator]
    @property
    def unchecked(self) -> str:
        """Why only the planner's word says that the goal was reached; '' if more does."""
        if self.plan_made_by.planner != "one leg" or self.status is not MissionStatus.SUCCEEDED:
            return ""
        if self.ledger.obligations or self.ledger.cancels:
            return ""
        return (
            "the goal was not split, so no order was stated: nothing was changed, and nothing "
            "checked whether the goal asked for a change"
        )

    @property
    def follow_ups(self) -> tuple[FollowUp, ...]:
        """Calls that effects and answers make possible next."""
        of_effects = (follow_up for one in self.receipts for follow_up in one.follow_ups)
        of_reads = (follow_up for leg in self.legs for follow_up in leg.follow_ups)
        return (*of_effects, *of_reads)

    def follow_up(self, named: str) -> FollowUp | None:
        """Return the follow-up with an id or, for `MISSION:N`, the Nth one; None without one."""
        holder, _, number = named.rpartition(":")
        listed = self.follow_ups
        if holder == self.mission_id and number.isdecimal() and 0 < int(number) <= len(listed):
            return listed[int(number) - 1]
        return next((one for one in listed if one.id == named), None)

    @property
    def over_budget(self) -> str:
        """How its budget was, or may have been, exceeded; '' if it was not."""
        return overspent(self.budget, self.spend)

    def document(self) -> JsonObject:
        """Return the result as JSON, with all follow-ups in one list."""
        listed = [one.model_dump(mode="json") for one in self.follow_ups]
        document = {**self.model_dump(mode="json"), "over_budget": self.over_budget}
        return {**document, "follow_ups": listed}

    @property
    def files(self) -> dict[str, str]:
        """The names of all files that its legs received or sent, by handle."""
        found: dict[str, str] = {}
        for fact in (fact for leg in self.legs for fact in leg.facts):
            for handle in file_handles_in(fact.arguments):
                found.setdefault(handle, f"sent with: {fact.title or fact.tool}")
            if (received := ReceivedFile.described_by(fact.body)) is not None:
                found[received.handle] = received.name or received.content_type or "unnamed"
        return found

    def on(self, ledger: Ledger, status: MissionStatus) -> "MissionResult":
        """Return this result with a newer ledger and the status that follows from it.

        The summary from before the rollback is stored apart from the current one.
        """
        changed = self.model_copy(update={"status": status, "ledger": ledger})
        if status not in _AFTER_ROLLBACK or not self.summary or self.summary_before:
            return changed
        counts = {"cancelled": len(changed.cancelled), "left standing": len(changed.left)}
        counts["still to be cancelled"] = len(changed.receipts)
        counted = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
        named = status.value.replace("_", " ").capitalize()
        said = {
            "summary": f"{named}: {counted or 'nothing of it stood'}.",
            "summary_before": self.summary,
        }
        return changed.model_copy(update=said)


def final_status(
    *,
    failed: bool,
    cancelled: bool,
    ledger: Ledger,
    incomplete: bool = False,
    observed: bool = False,
) -> MissionStatus:
    """Return the final status of a mission, from the state of its ledger.

    Nothing of an observed mission is cancelled or parked: it failed, and its effects stand.
    """
    states = {o.state for o in ledger.obligations}
    if not failed and not cancelled:
        return MissionStatus.INCOMPLETE if incomplete else MissionStatus.SUCCEEDED
    if observed:
        return MissionStatus.CANCELLED if cancelled else MissionStatus.FAILED
    if any(o.is_live for o in ledger.obligations):
        return MissionStatus.PARKED
    if cancelled:
        return MissionStatus.CANCELLED
    if states & {ObligationState.CANCELLED, ObligationState.ACCEPTED}:
        return MissionStatus.ROLLED_BACK
    return MissionStatus.FAILED


class BegunPlan(MissionPlan):
    """A plan that its worker has accepted."""

    needs_approval: bool = False
    limits: Limits = Field(default_factory=Limits)
    """Limits of the mission, the tighter of both policies."""
    leg_limits: Limits = Field(default_factory=Limits)
    """Limits of each leg, the tighter of both policies."""
    hold_limit: timedelta | None = None
    """The worker's, if it is shorter than the mission's."""
    most: Limits = Field(default_factory=Limits)
    """The worker's limits of a mission, up to which a person may raise those that were reached."""
    most_of_leg: Limits = Field(default_factory=Limits)
    """The worker's limits of each leg, up to which a person may raise those that were reached."""


class CarriedMission(Record):
    """The state of a mission between two of its runs."""

    started_at: datetime
    catalog: CatalogPin
    plan: BegunPlan
    goal: str = Field(description="the goal, as last reworded")
    said_at: datetime
    answers: tuple[PlanAnswer, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    planning: Used = Field(default_factory=Used, description="usage before its legs began")
    legs: tuple[LegInput, ...] = Field(default=(), description="legs under way, by their start")
    results: tuple[LegResult, ...] = Field(default=(), description="results of ended legs")
    taken: dict[str, Spend] = Field(default_factory=dict)
    """Money spent or reserved, by leg."""
    overcharges: dict[str, str] = Field(default_factory=dict)
    """Undecided overcharges: call ids by leg."""
    handed: dict[str, str] = Field(default_factory=dict)
    """Legs by the id of their hand-over."""
    hold: Question | None = None
    """The open question before a rollback: `legs` are those that a repair continues."""
    holds: tuple[HoldRecord, ...] = ()
    deadline: timedelta | None = Field(default=None, description="as a person raised it")
    again: tuple[AgainRecord, ...] = ()

    @property
    def ledger(self) -> Ledger:
        """The ledger of all legs, ended ones first."""
        parts = [*(one.ledger for one in self.results), *(one.state.ledger for one in self.legs)]
        return Ledger.merged(parts)


class MissionInput(Record):
    """The input of a mission's first run, or of one that continues it."""

    request: MissionRequest
    carried: CarriedMission | None = None
    """Trusted only in a run that the server reports as continued."""


LEAVES_STANDING: Final = frozenset({MissionStatus.SUCCEEDED, MissionStatus.INCOMPLETE})
"""Final statuses that leave the effects in place; a person decides on their rollback."""

_AFTER: Final[Mapping[MissionStatus, MissionStatus]] = {
    MissionStatus.SUCCEEDED: MissionStatus.ROLLED_BACK_AFTER_SUCCESS,
    MissionStatus.INCOMPLETE: MissionStatus.ROLLED_BACK,
    MissionStatus.PARKED: MissionStatus.ROLLED_BACK,
}
"""Statuses after a complete rollback, by the mission's own final status."""


def status_with(
    own: MissionStatus,
    rollback: RollbackStatus | None,
    *,
    stopped: bool = False,
    observed: bool = False,
) -> MissionStatus:
    """Return the status of a mission, given its own and that of its rollback, if there is one."""
    if rollback is None:
        return own
    if rollback is RollbackStatus.PARKED:
        return MissionStatus.PARKED
    if rollback is not RollbackStatus.ROLLED_BACK:
        return MissionStatus.ROLLING_BACK
    if own is MissionStatus.PARKED and stopped:
        return MissionStatus.CANCELLED
    if observed and own in (MissionStatus.FAILED, MissionStatus.CANCELLED):
        return MissionStatus.ROLLED_BACK
    return _AFTER.get(own, own)


def after_rollback(result: MissionResult, report: RollbackReport) -> MissionResult:
    """Return a mission's result, updated from its rollback's report."""
    ledger = result.ledger.written(*report.ledger.obligations)
    status = status_with(
        result.status, report.status, stopped=result.stopped, observed=result.observed
    )
    return result.on(ledger, status)


LARGEST_LEGS: Final = 1_000_000
"""In characters; the server accepts twice that in one message, and the result also has a ledger."""


def within_size(legs: Iterable[LegResult]) -> tuple[LegResult, ...]:
    """Return the legs; if they are too large together, without steps and facts.

    The counts of both remain. Effects that stand at providers are never left out.
    """
    summaries = tuple(legs)
    if sum(len(leg.model_dump_json()) for leg in summaries) <= LARGEST_LEGS:
        return summaries
    return tuple(
        leg.model_copy(
            update={
                "steps": (),
                "steps_before": leg.steps_before + len(leg.steps),
                "called": with_called(leg.called, leg.steps),
                "facts": (),
                "facts_before": leg.facts_before + len(leg.facts),
            }
        )
        for leg in summaries
    )


def with_called(known: tuple[str, ...], steps: Iterable[StepRecord]) -> tuple[str, ...]:
    """Return known tools and those of successful steps, without duplicates."""
    called = (step.called for step in steps if step.outcome == "succeeded")
    return tuple(dict.fromkeys([*known, *filter(None, called)]))


def as_sent(result: MissionResult) -> MissionResult:
    """Return the final result of a mission with one merged ledger, and each answer once."""
    made = {one.obligation_id: one.response for one in result.ledger.obligations}

    def bare(fact: Fact) -> Fact:
        is_in_ledger = made.get(f"{result.mission_id}.{fact.source}") == fact.body
        return fact.model_copy(update={"body": None}) if is_in_ledger else fact

    legs = (
        leg.model_copy(update={"ledger": Ledger(), "facts": tuple(map(bare, leg.facts))})
        for leg in result.legs
    )
    return result.model_copy(update={"legs": within_size(legs)})
