"""What a worker does to make a leg of a hand-over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from temporalio.testing import ActivityEnvironment

from activities import hand_over_activities
from activities.hand_over_activities import HandOverActivities
from orchestrator.messages.hand_over import HandOverAsked, HandOverInput, HandOverPlan
from orchestrator.planning.models import AgentProfile, LegPlan
from orchestrator.saga.orders import Order
from orchestrator.testing.memory import MemoryCatalogs

if TYPE_CHECKING:
    import pytest

    from orchestrator.catalog.catalog import Catalog

FLYER = AgentProfile(name="flyer", domains=("flights",), hands_over_to=("hotelier",))
HOTELIER = AgentProfile(name="hotelier", domains=("hotels",))
FLIGHT = Order(tools=("flight_book_offer",))
ROOM = Order(tools=("hotel_book_room",))
ASKED = HandOverAsked(
    hand_over_id="m.1-flight.1",
    leg_id="1-flight",
    agent="hotelier",
    goal="Book a hotel in Oslo",
    orders=(FLIGHT, ROOM, ROOM.model_copy(update={"count": 2})),
)


async def test_a_hand_over_takes_along_the_orders_that_its_agent_can_serve(
    shipped: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the orders of the leg that asks, and no more of them than it has itself."""

    async def asks_for_it(*_: object) -> list[HandOverAsked]:
        return [ASKED]

    monkeypatch.setattr(hand_over_activities, "query_or_none", asks_for_it)
    monkeypatch.setattr("temporalio.activity.client", _Client)
    catalogs = MemoryCatalogs()
    catalogs.put(shipped)
    wanted = HandOverInput(
        mission_id="m",
        asked=ASKED,
        asking=LegPlan(leg_id="1-flight", goal="Fly and stay", agent=FLYER, orders=(FLIGHT, ROOM)),
        new_leg_id="h1-1-flight",
        catalog_digest=shipped.digest,
    )

    activities = HandOverActivities(catalogs, (FLYER, HOTELIER))
    plan: HandOverPlan = await ActivityEnvironment().run(activities.plan_hand_over, wanted)

    assert plan.leg is not None, plan.refusal
    assert plan.leg.orders == (ROOM,)


class _Client:
    def get_workflow_handle(self, workflow_id: str) -> str:
        return workflow_id
