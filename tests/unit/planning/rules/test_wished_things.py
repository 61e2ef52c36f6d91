"""Wishes over the shipped documents: what makes the thing one's own, and never more than that."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("i need a rental car in Faro from 2026-12-03 to 2026-12-06", "car_book_offer"),
        ("I need a van in Faro from 2026-12-03 to 2026-12-06", "car_book_offer"),
        ("get me a table for two in Lisbon on 2026-12-03 at 20:00", "dining_reserve_table"),
        ("fly me from Hamburg to Oslo on 2026-12-05", "flight_book_offer"),
        ("I want to fly from Hamburg to Oslo on 2026-12-05", "flight_book_offer"),
        ("we need a hotel room in Rome from 2026-12-03 to 2026-12-06", "hotel_book_room"),
        ("lunch with sam on 2026-12-03 12:30 in the calendar", "calendar_create_event"),
        ("events on 2026-12-03 at 15:00", "calendar_list_events"),
        ("tables for 2 in Rome on 2026-12-03 at 20:00", "dining_search_tables"),
        ("get me a forecast for Oslo", "weather_get_forecast"),
        ("I need a list of flights from Hamburg to Oslo on 2026-12-05", "flight_search_offers"),
        ("get me a list of open invoices", "payment_list_invoices"),
        (
            "I need an overview of hotels in Rome from 2026-12-03 to 2026-12-06",
            "hotel_search_rooms",
        ),
    ],
)
async def test_a_wish_is_granted_by_what_makes_the_thing(
    mission: Any, goal: str, tool: str
) -> None:
    """The last call of its one leg is the tool that grants it."""
    run = await mission.run(goal)

    (leg,) = run.plan.legs
    assert run.calls(leg.leg_id)[-1].tool == tool


@pytest.mark.parametrize(
    "goal",
    [
        "I need a rental car in Faro from 2026-12-03 to 2026-12-06. Book the cheapest one.",
        "I need a hotel room in Rome from 2026-12-03 to 2026-12-06, and book it",
        "get me a table for two in Lisbon on 2026-12-03 at 20:00 and reserve it",
    ],
)
async def test_what_is_wished_and_then_ordered_is_had_once(mission: Any, goal: str) -> None:
    """The order is the one call that changes anything; the wish before it only looks."""
    run = await mission.run(goal)

    called = [call.tool for leg in run.plan.legs for call in run.calls(leg.leg_id)]
    assert sum(mission.catalog.tool(name).is_side_effect for name in called) == 1
