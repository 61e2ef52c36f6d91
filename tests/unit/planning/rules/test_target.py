"""Which forwarded tool reaches the goal: what there is, or what somebody has already."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import GiveUp, StepContext
from orchestrator.planning.rules.chaining import decide
from orchestrator.planning.rules.target import find_target
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext

if TYPE_CHECKING:
    from tests.unit.planning.conftest import Mission


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("show me flights to Rome", "flight_search_offers"),
        ("show me my flights to Rome", "flight_list_bookings"),
        ("which flights have I booked", "flight_list_bookings"),
        ("find cars in Porto", "car_search_offers"),
        ("list our car rentals", "car_list_bookings"),
        ("show me hotels in Oslo", "hotel_search_rooms"),
        ("list events of tomorrow", "calendar_list_events"),
    ],
)
def test_what_there_is_comes_before_what_was_booked(
    text: str, target: str, shipped: Catalog, router: Router
) -> None:
    """Unless it is one's own that is asked for, or there is nothing to choose from."""
    found = find_target(router.route(text), shipped)

    assert found is not None
    assert found.name == target


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("tell #trips the price", "message_send"),
        ("let #nobody-knows know that I am late", "message_send"),
        ("let the team know the flight number", "message_send"),
        ("ask #trips whether the room is free", "message_send"),
        ("send #trips the flight number", "message_send"),
        ("post the price in #trips", "message_send"),
        ("tell ana@acme.io the price", "message_send_email"),
        ("tell ana@acme.io that I am late", "message_send_email"),
        ("send a message to ana@acme.io saying I am late", "message_send_email"),
        ("inform ana@acme.io of the delay", "message_send_email"),
        ("ask ana@acme.io if she comes", "message_send_email"),
    ],
)
def test_who_is_told_something_says_the_tool_and_not_what_it_is(
    text: str, target: str, shipped: Catalog, router: Router
) -> None:
    """Whatever the address: a price is no car, and #trips no folder."""
    found = find_target(router.route(text), shipped)

    assert found is not None
    assert found.name == target
    assert router.fits(text)


def test_nobody_is_asked_for_a_reference_that_is_ours(
    step_context: StepContext, shipped: Catalog, router: Router
) -> None:
    """A probe that a request leads to ends the leg with a reason, and asks nothing."""
    goal = "find my flight booking by my reference"
    context = step_context.model_copy(update={"leg_goal": goal, "mission_goal": goal})
    selection = router.route(goal, RouteContext(goal=goal)).model_copy(
        update={"tools": ("flight_find_booking",), "prerequisites": ()}
    )

    decision = decide(context, selection, shipped)

    assert isinstance(decision, GiveUp)
    assert "client_reference" in decision.reason


async def test_what_is_shared_is_a_file(mission: Mission) -> None:
    """The report is looked for among the files, and shared; no one is asked for anything."""
    mission.provider.listed = 1

    run = await mission.run("Find the quarterly report and share it with bob@example.com")

    assert run.names("1-files")[0] == "file_find_files"
    assert "file_share_file" in run.names("2-files")
    assert not any("ask_user" in run.names(leg.leg_id) for leg in run.plan.legs)


async def test_it_is_what_the_leg_before_found(mission: Mission) -> None:
    """So "book the cheapest one" is for a car, though hotels and flights can be booked as well."""
    run = await mission.run(
        "Find a car in Porto from 2026-12-03 to 2026-12-06. Book the cheapest one."
    )

    assert [leg.agent.prefers[0] for leg in run.plan.legs] == ["cars", "cars"]
    assert "car_book_offer" in run.names("2-cars")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("what was the weather in Oslo last Friday", "weather_get_history"),
        ("how was the weather in Oslo two days ago", "weather_get_history"),
        ("what's the weather in Oslo tomorrow", "weather_get_forecast"),
        ("which events did I have last Friday", "calendar_list_events"),
    ],
)
def test_days_gone_by_are_looked_up_where_the_past_is_told(
    text: str, target: str, shipped: Catalog, router: Router
) -> None:
    """A forecast of a day gone by would be told as what it was like."""
    now = datetime(2026, 11, 23, 10, tzinfo=UTC)
    found = find_target(router.route(text, now=now), shipped, now=now)

    assert found is not None
    assert found.name == target
