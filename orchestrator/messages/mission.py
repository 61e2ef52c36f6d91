"""A mission: what is asked for, what was taken on, and what came of it."""

import hashlib
import json
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from pydantic import Field, field_validator, model_validator

from orchestrator.confirmation.models import DecisionRecord
from orchestrator.core.budget import Money, Spend, Usage
from orchestrator.core.errors import UsageError
from orchestrator.core.limits import LimitReached
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.received_files import ReceivedFile, file_handles_in
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.leg import LegResult, LegWaiting
from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy
from orchestrator.messages.plan_answers import LONGEST_GOAL, PlanAnswer
from orchestrator.messages.receipts import (
    Cancelled,
    Left,
    Receipt,
    cancelled_of,
    left_of,
    receipts_of,
    spend_of,
)
from orchestrator.messages.replanned import Replanned
from orchestrator.messages.unserved import Unserved
from orchestrator.planning.models import CHAINING, MissionPlan, OneCall, OwnPlanner
from orchestrator.saga.ledger import Ledger, ObligationState
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import FollowUp

MISSION_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$"


LONGEST_TENANT: Final = 64
"""Bytes of a fairness key of Temporal."""
MOST_ORDERS: Final = 100
LEAST_URGENT: Final = 5
"""Of Temporal's priorities, where its server is not told otherwise."""


class MissionRequest(Record):
    """What a user asks for."""

    goal: str = Field(min_length=1, max_length=LONGEST_GOAL)
    inputs: JsonObject = Field(default_factory=dict)
    budget: Money | None = None
    mission_id: str | None = Field(default=None, pattern=MISSION_ID_PATTERN)
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    read_only: bool = Field(
        default=False, description="a call that would change something is refused"
    )
    orders: tuple[Order, ...] = Field(
        default=(),
        max_length=MOST_ORDERS,
        description="consequences that the request itself lists, by tool and count: standing "
        "approvals cover these of a model's plan without anybody approving the plan",
    )
    call: OneCall | None = Field(
        default=None, description="all that is to be done, such as a follow-up; None: the goal says"
    )
    requester: str = Field(
        default="", max_length=200, description="who asks, as whoever starts it says"
    )
    planner: OwnPlanner | None = Field(
        default=None, description="for agents that name none; None: the worker's"
    )
    model: str | None = Field(
        default=None,
        max_length=200,
        description="that plans for agents that name none; None: the worker's",
    )

    tenant: str = Field(
        default="",
        description="whose work it is: while tasks wait, each tenant has its share of the workers",
    )
    priority: int | None = Field(
        default=None,
        ge=1,
        le=LEAST_URGENT,
        description="while tasks wait, those of smaller numbers go first; None: the middle",
    )

    @field_validator("goal", mode="before")
    @classmethod
    def _is_a_goal(cls, goal: object) -> object:
        """Refuse a document for a goal in one sentence, without quoting it as pydantic does."""
        if isinstance(goal, str) and len(goal) > LONGEST_GOAL:
            raise UsageError(
                f"goal: at most {LONGEST_GOAL} characters are taken, and it has {len(goal):,}; "
                "what belongs to it can be given as an input"
            )
        return goal

    @field_validator("requester")
    @classmethod
    def _is_a_name(cls, requester: str) -> str:
        """A name that a person can read on a card."""
        if not requester.isprintable():
            raise ValueError("a requester is a name of printable characters")
        return requester.strip()

    @field_validator("tenant")
    @classmethod
    def _is_a_key(cls, tenant: str) -> str:
        """As short as the server keeps it."""
        if not tenant.isprintable() or len(tenant.encode()) > LONGEST_TENANT:
            raise ValueError(f"a tenant is a name of at most {LONGEST_TENANT} bytes, printable")
        return tenant.strip()

    @model_validator(mode="after")
    def _chooses_once(self) -> Self:
        """A model that would never be asked was meant to be."""
        if self.planner == CHAINING and self.model is not None:
            raise ValueError("the planner chaining asks no model: leave one of the two out")
        return self


class MissionInput(Record):
    """What starts a mission."""

    request: MissionRequest


def request_digest(request: MissionRequest) -> str:
    """SHA-256 of what is asked for, and by whom; not how long to wait for whom.

    What requests did not name from the beginning is covered where it is named: a request without
    it keeps the digest that it had before.
    """
    optional = ("requester", "planner", "model", "read_only", "orders", "call")
    named = {name for name in optional if getattr(request, name)}
    covered = {"goal", "inputs", "budget", *named}
    asked = request.model_dump(mode="json", include=covered)
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


class AcceptedMission(Record):
    """A mission that was taken on, and what it is going to do."""

    mission_id: str
    plan: MissionPlan = Field(description="its legs; none when it was refused")
    catalog: CatalogPin
    request_digest: str = Field(description="tells another request under the same id apart")
    refusal: str | None = Field(default=None, description="why it could not be planned")
    undeclared_inputs: tuple[str, ...] = Field(
        default=(), description="inputs of the request that no tool of its client takes"
    )


class MissionStatus(StrEnum):
    """Where a mission stands."""

    PLANNING = "planning"
    AWAITING_ANSWER = "awaiting_answer"
    """Its plan is in doubt, and a person is asked before any of it begins."""
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    """Its plan is to be approved before any of it begins."""
    RUNNING = "running"
    ROLLING_BACK = "rolling_back"
    SUCCEEDED = "succeeded"
    """Every leg ended well, and what the goal ordered was done: each part has an effect."""
    INCOMPLETE = "incomplete"
    """Every leg ended, and a part of what was asked for was not done; what was done stands."""
    FAILED = "failed"
    """It failed, and had left nothing."""
    ROLLED_BACK = "rolled_back"
    """It failed, and everything it had done was taken back."""
    PARKED = "parked"
    """It failed, and an operator must look at what could not be taken back."""
    CANCELLED = "cancelled"
    """A person cancelled it, and everything it had done was taken back."""
    ROLLED_BACK_AFTER_SUCCESS = "rolled_back_after_success"
    """It succeeded, and was rolled back later by somebody's decision."""
    TERMINATED = "terminated"
    """It was stopped from outside and could not conclude; the sweep has it rolled back."""


_AFTER_ROLLBACK = frozenset(
    {
        MissionStatus.ROLLING_BACK,
        MissionStatus.PARKED,
        MissionStatus.ROLLED_BACK,
        MissionStatus.ROLLED_BACK_AFTER_SUCCESS,
        MissionStatus.CANCELLED,
    }
)


class MissionResult(Record):
    """The result document: the same whether the mission succeeded, failed or was cancelled."""

    mission_id: str
    goal: str
    goal_became: str = Field(
        default="", description="as a person said it otherwise; empty: nobody did"
    )
    requester: str = Field(default="", description="who asked for it, as its start says")
    status: MissionStatus
    error: str | None = Field(default=None, description="the first error; never a later one")
    summary: str = ""
    summary_before: str = Field(
        default="", description="what its summary was before it was rolled back; empty: it was not"
    )
    legs: tuple[LegResult, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    unserved: tuple[Unserved, ...] = Field(
        default=(), description="orders without their effects, and why"
    )
    set_aside: tuple[str, ...] = Field(
        default=(), description="what of the goal a person went past when its plan was asked about"
    )
    uncovered: tuple[str, ...] = Field(
        default=(), description="text of the goal that no leg of its plan says it serves"
    )
    cancelled: tuple[Cancelled, ...] = Field(
        default=(), description="what its legs or its rollback cancelled"
    )
    left: tuple[Left, ...] = Field(
        default=(), description="what stands, or may, though the rest was taken back"
    )
    ledger: Ledger = Field(default_factory=Ledger)
    spend: Spend = Field(default_factory=Spend)
    usage: Usage = Field(default_factory=Usage, description="of the models that planned it")
    limit: LimitReached | None = Field(
        default=None, description="that ended one of its legs: which, and how much of it was used"
    )
    catalog_digest: str = ""
    catalog_size: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    stopped: bool = Field(default=False, description="a person cancelled it")
    plan_made_by: PlanOrigin = Field(
        default_factory=PlanOrigin, description="who made its plan, and why not a model that is set"
    )
    replanned: tuple[Replanned, ...] = Field(
        default=(), description="that it was planned anew, and why; its usage counts all plans"
    )
    plan_waits: LegWaiting = Field(
        default_factory=LegWaiting, description="what it asks about its plan just now"
    )
    plan_answers: tuple[PlanAnswer, ...] = Field(
        default=(), description="what came of asking about its plan, in that order"
    )
    plan_decisions: tuple[DecisionRecord, ...] = Field(
        default=(), description="who decided on the cards of its plan, when and on which digest"
    )
    held_up: str = Field(
        default="",
        description="why it waits itself for what workers keep of it; empty: it does not",
    )

    @property
    def follow_ups(self) -> tuple[FollowUp, ...]:
        """What can be done next: after what stands, and with what its legs have read."""
        of_effects = (follow_up for one in self.receipts for follow_up in one.follow_ups)
        of_reads = (follow_up for leg in self.legs for follow_up in leg.follow_ups)
        return (*of_effects, *of_reads)

    def follow_up(self, named: str) -> FollowUp | None:
        """The follow-up of that id, or the Nth of them for `MISSION:N`; None without one."""
        holder, _, number = named.rpartition(":")
        listed = self.follow_ups
        if holder == self.mission_id and number.isdecimal() and 0 < int(number) <= len(listed):
            return listed[int(number) - 1]
        return next((one for one in listed if one.id == named), None)

    def document(self) -> JsonObject:
        """The result as scripts read it, its follow-ups gathered in one list."""
        listed = [one.model_dump(mode="json") for one in self.follow_ups]
        return {**self.model_dump(mode="json"), "follow_ups": listed}

    @property
    def files(self) -> dict[str, str]:
        """The handles of files that its legs received or sent on, and what each one is called."""
        found: dict[str, str] = {}
        for fact in (fact for leg in self.legs for fact in leg.facts):
            for handle in file_handles_in(fact.arguments):
                found.setdefault(handle, f"sent with: {fact.title or fact.tool}")
            if (received := ReceivedFile.told_by(fact.body)) is not None:
                found[received.handle] = received.name or received.content_type or "unnamed"
        return found

    def on(self, ledger: Ledger, status: MissionStatus) -> "MissionResult":
        """This result with a newer ledger, and the status that follows from that.

        What it said of itself before it was rolled back is kept apart from what is so now.
        """
        changed = self.model_copy(update={"status": status, **told_of(ledger)})
        if status not in _AFTER_ROLLBACK or not self.summary or self.summary_before:
            return changed
        said = {"summary": _summary_of(changed), "summary_before": self.summary}
        return changed.model_copy(update=said)


def _summary_of(result: MissionResult) -> str:
    """What became of a mission that was, or is being, rolled back."""
    counts = {"cancelled": len(result.cancelled), "left standing": len(result.left)}
    counts["still to be taken back"] = len(result.receipts)
    told = ", ".join(f"{number} {what}" for what, number in counts.items() if number)
    status = result.status.value.replace("_", " ")
    return f"{status.capitalize()}: {told or 'nothing of it stood'}."


def told_of(ledger: Ledger) -> dict[str, Any]:
    """The fields of a result that follow from the mission's ledger."""
    return {
        "ledger": ledger,
        "receipts": receipts_of(ledger),
        "cancelled": cancelled_of(ledger),
        "left": left_of(ledger),
        "spend": spend_of(ledger),
    }


def final_status(
    *, failed: bool, cancelled: bool, ledger: Ledger, incomplete: bool = False
) -> MissionStatus:
    """The status of a mission that is over, from what became of its ledger."""
    states = {o.state for o in ledger.obligations}
    if not failed and not cancelled:
        return MissionStatus.INCOMPLETE if incomplete else MissionStatus.SUCCEEDED
    if any(o.is_live for o in ledger.obligations):
        return MissionStatus.PARKED
    if cancelled:
        return MissionStatus.CANCELLED
    if states & {ObligationState.CANCELLED, ObligationState.ACCEPTED}:
        return MissionStatus.ROLLED_BACK
    return MissionStatus.FAILED
