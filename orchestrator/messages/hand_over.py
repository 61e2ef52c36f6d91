"""A part of a leg handed to another agent: what the leg asks, and what its mission answers."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.leg import LegStatus
from orchestrator.planning.models import Fact, LegPlan
from orchestrator.saga.served import Order


class HandOverAsked(Record):
    """A leg asks its mission to have another agent do a part of its goal."""

    hand_over_id: str = Field(description="of the step that asks")
    leg_id: str
    agent: str = Field(max_length=200)
    goal: str = Field(max_length=4000)
    consented_by: str = Field(
        default="", description="who said that it is to be done, though the goal does not order it"
    )


class HandedOver(Record):
    """What came of it."""

    hand_over_id: str
    came_to: Literal["ended", "refused", "asks"]
    leg_id: str = Field(default="", description="the leg that did it")
    status: LegStatus | None = None
    summary: str = ""
    why: str = Field(default="", description="why it is refused, asked about, or failed")
    facts: tuple[Fact, ...] = ()


class HandOverInput(Record):
    """A hand-over that is to become a leg."""

    mission_id: str
    asked: HandOverAsked
    asking: LegPlan
    new_leg_id: str
    orders: tuple[Order, ...] = Field(default=(), description="of the mission and of its legs")
    goal: str = Field(description="the mission's")
    catalog_digest: str
    now: datetime


class HandOverPlan(Record):
    """The leg that a hand-over becomes; or why it does not."""

    leg: LegPlan | None = None
    refusal: str = ""
    unordered: tuple[str, ...] = Field(
        default=(), description="what it would do that the mission's goal does not order"
    )
