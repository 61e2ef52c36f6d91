"""A plan as a person reads it before anything happens, and the digest by which it is approved."""

from datetime import datetime

from pydantic import Field

from orchestrator.confirmation.models import ConfirmationCard, Grant, canonical_digest
from orchestrator.confirmation.signatures import PublicKeys
from orchestrator.core.limits import Limits
from orchestrator.core.plan_origin import PlanOrigin
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.thought_here import ThoughtHere
from orchestrator.planning.models import Doubt, MissionPlan
from orchestrator.saga.orders import Order


class PlannedTool(Record):
    """A tool that a leg is likely to call; which it does call is decided step by step."""

    name: str
    title: str = ""
    is_side_effect: bool = False
    card_type: str | None = Field(
        default=None, description="of the card that a call waits at; None: nobody is asked"
    )
    undo: str = Field(default="", description="of a side effect: whether and how it is undone")


class PlannedLeg(Record):
    """What one leg would do."""

    leg_id: str
    goal: str
    agent: str
    depends_on: tuple[str, ...] = ()
    planned_by: str = Field(
        default="", description="who decides its steps: a model, the rules; empty: not said"
    )
    stage: int = Field(description="from 1: legs of one stage may run side by side")
    tools: tuple[PlannedTool, ...] = Field(
        default=(), description="those of its orders; without any, the first that it would be shown"
    )
    orders: tuple[Order, ...] = Field(default=(), description="the effects that it is to have")
    serves: tuple[str, ...] = Field(
        default=(), description="the words of the goal that it says it is for"
    )

    @property
    def cards(self) -> tuple[str, ...]:
        """The types of the cards that it is likely to wait at, each once."""
        asked = (tool.card_type for tool in self.tools if tool.is_side_effect)
        return tuple(dict.fromkeys(one for one in asked if one is not None))


class PlanPreview(Record):
    """What a mission of this goal would do; nothing of it was done. Prices are known at the cards.

    Its digest is that of the mission's own approval card, as long as both are planned alike.
    """

    goal: str
    digest: str = Field(description="of all that an approval of the plan covers")
    legs: tuple[PlannedLeg, ...]
    uncovered: tuple[str, ...] = Field(
        default=(), description="text of the goal that no leg says it serves"
    )
    doubts: tuple[Doubt, ...] = Field(
        default=(), description="what of the goal would not be carried out as it stands"
    )
    asks_first: bool = Field(
        default=False, description="whether the mission would ask about its plan before it begins"
    )
    needs_approval: bool = Field(
        default=False, description="whether the worker's policy wants the plan approved"
    )
    made_by: PlanOrigin = Field(
        default_factory=PlanOrigin, description="who made it: a model, or the rules and why"
    )
    catalog_digest: str
    undeclared_inputs: tuple[str, ...] = Field(
        default=(), description="inputs of the request that no tool of its client takes"
    )


def plan_digest(preview: PlanPreview) -> str:
    """SHA-256 of what an approval of a plan covers, in canonical JSON (RFC 8785)."""
    legs: list[JsonObject] = [
        {
            "leg_id": leg.leg_id,
            "goal": leg.goal,
            "agent": leg.agent,
            "depends_on": list(leg.depends_on),
            "tools": [tool.name for tool in leg.tools],
            "orders": [order.model_dump(mode="json") for order in leg.orders],
        }
        for leg in preview.legs
    ]
    covered: JsonObject = {
        "goal": preview.goal,
        "catalog_digest": preview.catalog_digest,
        "legs": [*legs],
        "uncovered": list(preview.uncovered),
        "doubts": [doubt.about for doubt in preview.doubts],
    }
    return canonical_digest(covered)


def is_shown(plan: MissionPlan, shown: PlanPreview) -> bool:
    """Whether what was shown is this plan, and has the digest that it says."""
    legs = [(one.leg_id, one.goal, one.agent.name, one.depends_on, one.orders) for one in plan.legs]
    told = [(one.leg_id, one.goal, one.agent, one.depends_on, one.orders) for one in shown.legs]
    return legs == told and plan.doubts == shown.doubts and plan_digest(shown) == shown.digest


class BegunPlan(MissionPlan, ThoughtHere):
    """A plan as its worker lets it begin."""

    needs_approval: bool = Field(
        default=False, description="whether a policy wants it approved before it begins"
    )
    limits: Limits = Field(
        default_factory=Limits, description="of its mission, by both policies: the tighter of each"
    )
    leg_limits: Limits = Field(
        default_factory=Limits, description="of each of its legs, by both policies"
    )


class PlanInput(Record):
    """A request whose plan is only shown."""

    request: MissionRequest
    now: datetime | None = Field(default=None, description="set by the workflow that has it made")


class PlanTaken(Record):
    """That a worker plans it."""


class PlanReviewInput(Record):
    """A mission's plan that is to be approved, or that was."""

    mission_id: str
    goal: str
    inputs: JsonObject = Field(default_factory=dict)
    plan: MissionPlan
    planned_at: datetime = Field(description="the day that `today` means in its goal")
    catalog_digest: str
    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    requester: str = ""
    now: datetime
    ends_at: datetime | None = Field(default=None, description="when the mission is over at last")
    confirmation_id: str
    round: int = Field(default=1, description="how often it is asked about, this time included")
    problem: str = Field(
        default="", description="why the goal as it was said otherwise could not be planned"
    )
    grant: Grant | None = Field(default=None, description="the approval that is to be checked")
    shown: PlanPreview | None = Field(default=None, description="what that approval is of")


class PlanReview(Record):
    """The card on which a plan is approved; or, of an approval, whether it holds."""

    shown: PlanPreview | None = Field(default=None, description="what the card is made of")
    card: ConfirmationCard | None = None
    approval_keys: PublicKeys | None = None
    refusal: str | None = Field(default=None, description="why there is no card, or why it fails")
