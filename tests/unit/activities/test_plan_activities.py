"""What a worker shows of a plan: its orders with their tools, over the example documents."""

from datetime import UTC, datetime
from typing import Any

from temporalio.testing import ActivityEnvironment

from orchestrator.activities.authority import Authority
from orchestrator.activities.plan_activities import PlanActivities
from orchestrator.activities.planning_activities import PlanningActivities
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import GoalUnread
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.plan_preview import PlanInput, PlanPreview
from orchestrator.planning.models import AgentProfile, LegPlan, MissionPlan
from orchestrator.routing.router import Router
from orchestrator.saga.orders import Order
from tests.fakes import MemoryCatalogs, MemoryTraces
from tests.unit.activities.made_calls import failure_of
from tests.unit.activities.planners import Careless, Scripted

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
ANY = AgentProfile(name="any")
FLIGHT = LegPlan(
    leg_id="1-flights",
    goal="book a flight to Lisbon",
    agent=ANY,
    orders=(Order(tools=("flight_book_offer",), clause="book a flight", when="if it is dry"),),
    serves=("a flight to Lisbon",),
)
WEATHER = LegPlan(leg_id="2-weather", goal="the weather in Lisbon tomorrow", agent=ANY)
EXPENSE = LegPlan(
    leg_id="3-expenses",
    goal="file the expenses",
    agent=ANY,
    depends_on=("1-flights",),
    orders=(Order(tools=("expense_file_report",), each="the receipts"),),
)
TRIP = MissionPlan(legs=(FLIGHT, WEATHER, EXPENSE), uncovered=("and be nice",))


async def shown(
    catalog: Catalog, planner: Scripted, *, goal: str = "x", workers: MissionPolicy | None = None
) -> PlanPreview:
    """What a worker with this policy shows for a goal."""
    catalogs, authority = MemoryCatalogs(), Authority(workers or MissionPolicy())
    planning = PlanningActivities(
        catalogs, Router, planner, (), MemoryTraces(), authority=authority
    )
    activities = PlanActivities(catalog, catalogs, planning, authority)
    preview: PlanPreview = await ActivityEnvironment().run(
        activities.preview_plan, PlanInput(request=MissionRequest(goal=goal), now=NOW)
    )
    return preview


async def test_a_plan_is_shown_with_its_orders_tools_and_cards(shipped: Catalog) -> None:
    """A leg that only reads shows the tool that it would be offered first."""
    preview = await shown(shipped, Scripted(plan=TRIP))

    assert [(leg.leg_id, leg.stage, [tool.name for tool in leg.tools]) for leg in preview.legs] == [
        ("1-flights", 1, ["flight_book_offer"]),
        ("2-weather", 1, ["weather_get_forecast"]),
        ("3-expenses", 2, ["expense_file_report"]),
    ]
    assert [leg.orders for leg in preview.legs] == [leg.orders for leg in TRIP.legs]
    flight = preview.legs[0]
    assert flight.cards == ("structured-itinerary",)
    assert flight.tools[0].cancellation == "cancelled by flight_cancel_booking within 1 day"
    assert flight.serves == ("a flight to Lisbon",)
    assert (preview.uncovered, preview.doubts) == (("and be nice",), ())


async def test_the_same_is_planned_the_same(shipped: Catalog) -> None:
    """Another plan has another digest."""
    first = await shown(shipped, Scripted(plan=TRIP))
    again = await shown(shipped, Scripted(plan=TRIP))

    assert first == again
    assert first.digest != (await shown(shipped, Scripted(FLIGHT))).digest


async def test_whether_plans_are_approved_is_the_workers_policy(shipped: Catalog) -> None:
    """A mission's own policy need not say so."""
    preview = await shown(shipped, Scripted(plan=TRIP), workers=MissionPolicy(plan_first=True))

    assert preview.needs_approval
    assert not preview.asks_first


async def test_a_goal_that_nothing_fits_is_refused_in_a_sentence(shipped: Catalog) -> None:
    """As a mission would be."""

    class Refusing(Careless):
        async def split_goal(self, *_: Any) -> Any:
            raise GoalUnread("sing me a song", code="NothingFits")

    refused = await failure_of(shown(shipped, Refusing(None), goal="sing me a song"))

    assert "sing me a song" in refused.message
    assert (refused.type, refused.non_retryable) == ("NothingFits", True)
