"""A part of a leg handed to another agent: what the leg asks, and what its mission answers."""

from typing import Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.leg import LegStatus
from orchestrator.planning.models import Fact, LegPlan
from orchestrator.saga.orders import Order


class HandOverAsked(Record):
    """A leg asks its mission to have another agent do a part of its goal."""

    hand_over_id: str = Field(description="of the step that asks")
    leg_id: str
    agent: str = Field(max_length=200)
    goal: str = Field(max_length=4000)
    orders: tuple[Order, ...] = Field(
        default=(), description="those of its own that the leg has not served itself"
    )


class HandedOver(Record):
    """What came of it."""

    hand_over_id: str
    came_to: Literal["ended", "refused"]
    leg_id: str = Field(default="", description="the leg that did it")
    status: LegStatus | None = None
    summary: str = ""
    why: str = Field(default="", description="why it is refused, or failed")
    facts: tuple[Fact, ...] = ()


class HandOverInput(Record):
    """A hand-over that is to become a leg."""

    mission_id: str
    asked: HandOverAsked
    asking: LegPlan
    new_leg_id: str
    catalog_digest: str


class HandOverPlan(Record):
    """The leg that a hand-over becomes; or why it does not."""

    leg: LegPlan | None = None
    refusal: str = ""
