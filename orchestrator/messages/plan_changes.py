"""Changes of a running plan: a part handed to another agent, or another plan."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeVar

from pydantic import Field

from orchestrator.core.record import JsonObject, Record, shared_fields
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.step import StepRecord
from orchestrator.planning.models import Fact, LegPlan, MissionPlan
from orchestrator.saga.orders import Order


class HandOverAsked(Record):
    """A leg's request to have another agent do a part of its goal."""

    hand_over_id: str = Field(description="id of the asking step")
    leg_id: str
    agent: str = Field(max_length=200)
    goal: str = Field(max_length=4000)
    orders: tuple[Order, ...] = ()
    """Orders of the leg that are not served yet."""
    gives: JsonObject | None = None
    """JSON Schema of the outputs, for the goal of a written workflow's step."""
    inputs: JsonObject = Field(default_factory=dict)


class HandedOver(Record):
    """The outcome of a hand-over."""

    hand_over_id: str
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


class ReplacedLeg(Record):
    """A leg of an abandoned plan, as it ended."""

    leg_id: str
    agent: str
    goal: str
    status: LegStatus
    error: str | None = None


class Replanned(Record):
    """The replacement of a plan: reason, time, and legs that had begun."""

    leg_id: str = Field(description="the leg that failed")
    why: str
    at: datetime
    legs: tuple[ReplacedLeg, ...] = Field(default=(), description="legs that had begun")

    @property
    def sentence(self) -> str:
        """The replacement in one sentence."""
        return f"planned anew, as {self.leg_id} failed before anything was done: {self.why}"


def replaced(result: LegResult) -> ReplacedLeg:
    """Return the record of a leg whose plan was replaced."""
    return ReplacedLeg(**shared_fields(result, ReplacedLeg))


def replanning_after(lost: LegResult, legs: Iterable[LegResult], at: datetime) -> Replanned:
    """Return the record of a new plan after the loss of a leg."""
    why = lost.error or "it gave no reason"
    return Replanned(leg_id=lost.leg_id, why=why, at=at, legs=tuple(map(replaced, legs)))


def has_consequence(result: LegResult) -> bool:
    """Return True if a leg had, or may have had, an effect."""
    ledger = result.ledger
    return bool(ledger.obligations or ledger.cancels or any(f.side_effect for f in result.facts))


def may_be_tried_otherwise(legs: Iterable[LegResult]) -> bool:
    """Return True if another plan may be tried: these legs had no effect.

    A call that a person refused or left unanswered is not retried another way, nor is a leg that a
    limit ended.
    """
    return not any(
        has_consequence(leg)
        or leg.limit is not None
        or any(decision.kind in ("rejected", "expired") for decision in leg.decisions)
        or any(map(_was_left_unanswered, leg.steps))
        for leg in legs
    )


def _was_left_unanswered(step: StepRecord) -> bool:
    return step.outcome == "expired"


_LONGEST_ID = 64
PlanT = TypeVar("PlanT", bound=MissionPlan)


def renamed(plan: PlanT, prefix: str) -> PlanT:
    """Return the plan with new leg ids, distinct from those of earlier plans."""
    ids = {
        leg.leg_id: _new_id(prefix, leg.leg_id, number)
        for number, leg in enumerate(plan.legs, start=1)
    }
    return plan.model_copy(update={"legs": tuple(_renamed(leg, ids) for leg in plan.legs)})


def does_the_same(plan: MissionPlan, other: MissionPlan) -> bool:
    """Return True if the same agents would do the same work in both plans."""
    return _work(plan) == _work(other)


def _work(plan: MissionPlan) -> list[tuple[str, str]]:
    return sorted((leg.agent.name, " ".join(leg.goal.casefold().split())) for leg in plan.legs)


def _new_id(prefix: str, leg_id: str, number: int) -> str:
    whole = f"{prefix}{leg_id}"
    return whole if len(whole) <= _LONGEST_ID else f"{prefix}{number}"


def _renamed(leg: LegPlan, ids: dict[str, str]) -> LegPlan:
    return leg.model_copy(
        update={
            "leg_id": ids[leg.leg_id],
            "depends_on": tuple(ids[needed] for needed in leg.depends_on),
        }
    )
