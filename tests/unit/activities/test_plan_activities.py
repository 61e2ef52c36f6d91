"""What a worker shows of a plan: as it would run it, over the example documents."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.authority import Authority
from activities.plan_activities import PlanActivities
from activities.planning_activities import PlanningActivities
from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.plan_preview import PlanInput, PlanPreview
from orchestrator.planning.models import AgentProfile
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router
from orchestrator.runtime.demo import DINNER, TRIP
from orchestrator.testing.memory import MemoryCatalogs, MemoryTraces

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


async def shown(
    catalog: Catalog,
    folder: Path,
    goal: str,
    *agents: AgentProfile,
    workers: MissionPolicy | None = None,
) -> PlanPreview:
    """What a worker with these agents and this policy shows for a goal."""
    catalogs, authority = MemoryCatalogs(), Authority(workers or MissionPolicy())
    traces = MemoryTraces()
    planning = PlanningActivities(
        catalogs, Router, ChainingPlanner(Router), agents, traces, authority=authority
    )
    activities = PlanActivities(catalog, catalogs, planning, authority)
    request = MissionRequest(goal=goal)
    preview: PlanPreview = await ActivityEnvironment().run(
        activities.preview_plan, PlanInput(request=request, now=NOW)
    )
    assert not (folder / "traces.db").exists()
    return preview


async def test_a_trip_is_shown_with_tools_order_and_cards(shipped: Catalog, tmp_path: Path) -> None:
    """What finds comes before what books; the expense comes after both bookings."""
    preview = await shown(shipped, tmp_path, TRIP)

    assert [(leg.leg_id, leg.stage) for leg in preview.legs] == [
        ("1-flights", 1),
        ("2-hotels", 1),
        ("3-expenses", 2),
    ]
    assert [[tool.name for tool in leg.tools] for leg in preview.legs] == [
        ["flight_search_offers", "flight_book_offer"],
        ["hotel_search_rooms", "hotel_book_room"],
        ["expense_file_report"],
    ]
    assert [leg.cards for leg in preview.legs] == [
        ("structured-itinerary",),
        ("structured-reservation",),
        ("structured-expense",),
    ]
    assert preview.legs[0].tools[1].undo == "undone by flight_cancel_booking within 1 day"
    assert (preview.unserved, preview.doubts, preview.asks_first) == ((), (), False)


async def test_a_condition_is_shown_with_what_depends_on_it(
    shipped: Catalog, tmp_path: Path
) -> None:
    """The leg that looks first, and the one that may be left out."""
    goal = "Reserve a table in Lisbon on 2026-12-04 at 20:00 for 4 if it rains in Lisbon tomorrow"
    looks, books = (await shown(shipped, tmp_path, goal)).legs

    assert looks.decides == ("if it rains in Lisbon tomorrow",)
    assert books.only_if == ("if it rains in Lisbon tomorrow",)
    assert [tool.name for tool in looks.tools] == ["weather_get_forecast"]


async def test_who_is_told_about_it_is_shown_with_the_tool_that_tells(
    shipped: Catalog, tmp_path: Path
) -> None:
    """Though its words alone fit none."""
    goal = "Book a table for 3 in Porto on 2026-12-04 at 19:30 and tell Rui about it"
    _, tells = (await shown(shipped, tmp_path, goal)).legs

    assert tells.consequences == ("tell Rui about it",)
    assert tells.tools[-1].name == "message_send"
    assert tells.cards == ("structured-message",)


@pytest.mark.parametrize(
    ("goal", "served"),
    [
        ("Weather in Oslo, Rome and Bergen tomorrow", ["Oslo", "Rome", "Bergen"]),
        (
            "Book a table in Porto and in Lisbon on 2026-12-04 at 20:00 for 2",
            ["Porto", "Lisbon"],
        ),
    ],
)
async def test_each_of_several_is_shown_at_the_leg_that_takes_it_up(
    shipped: Catalog, tmp_path: Path, goal: str, served: list[str]
) -> None:
    """And at no other; what they share, at each."""
    preview = await shown(shipped, tmp_path, goal)
    where = [
        [(m.text, m.used_as) for m in leg.serves if "city" in m.used_as] for leg in preview.legs
    ]

    assert [[text for text, _ in one] for one in where] == [[city] for city in served]
    assert preview.left_over == ()
    assert len({tuple(m.text for m in leg.serves if m.kind == "date") for leg in preview.legs}) == 1


async def test_the_same_is_planned_the_same(shipped: Catalog, tmp_path: Path) -> None:
    """Another goal has another digest."""
    first = await shown(shipped, tmp_path, DINNER)
    again = await shown(shipped, tmp_path, DINNER)

    assert first == again
    assert first.digest != (await shown(shipped, tmp_path, TRIP)).digest


async def test_agents_and_policy_are_those_of_the_worker(shipped: Catalog, tmp_path: Path) -> None:
    """Its agents, and whether it wants plans approved."""
    agent = AgentProfile(name="concierge", domains=("dining",))
    policy = MissionPolicy(plan_first=True)
    goal = "Reserve a table in Lisbon on 2026-12-04 at 20:00 for 4"

    preview = await shown(shipped, tmp_path, goal, agent, workers=policy)

    assert [leg.agent for leg in preview.legs] == ["concierge"]
    assert preview.needs_approval
    assert not preview.asks_first


@pytest.mark.parametrize("goal", ["sing me a song", "asdf"])
async def test_a_goal_that_nothing_fits_is_refused_in_a_sentence(
    shipped: Catalog, tmp_path: Path, goal: str
) -> None:
    """As a mission would be."""
    with pytest.raises(ApplicationError, match="no tool fits") as refused:
        await shown(shipped, tmp_path, goal)

    assert refused.value.non_retryable
