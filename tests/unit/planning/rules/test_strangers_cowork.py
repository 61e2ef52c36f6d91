"""A co-working house: bookings are called off by a change, rooms are found by their seats."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.routing.router import Router

_ROOMS = [
    {"room_id": 1, "name": "Lighthouse", "house": "harbour", "seats": 8},
    {"room_id": 2, "name": "Granary", "house": "mill", "seats": 14},
]


@pytest.fixture(scope="module")
def house() -> Catalog:
    return Catalog.load(Path(__file__).with_name("cowork.yaml"))


@pytest.fixture
def mission(new_mission: Callable[..., Any], house: Catalog) -> Any:
    made = new_mission(house, Router(house))
    made.provider.script = lambda tool, _: (
        {"items": _ROOMS, "total": 2} if tool.name == "find_rooms" else None
    )
    return made


async def test_a_cancel_sends_the_state_of_its_pair(mission: Any) -> None:
    """Whatever state the noun of what is called off reads like: a booking is 'booked'."""
    run = await mission.run("Cancel booking 701")

    (sent,) = run.calls(run.plan.legs[0].leg_id)
    assert sent.arguments == {"booking_id": 701, "state": "cancelled"}


async def test_how_long_something_lasts_is_no_least_number_of_seats(mission: Any) -> None:
    """The "min" of `min_seats` is no minutes."""
    run = await mission.run("Book the Lighthouse on 2 December from 14:00 to 16:00")

    looked, booked = run.calls(run.plan.legs[0].leg_id)
    assert looked.arguments == {"date": "2026-12-02"}
    assert (booked.tool, booked.arguments["room_id"]) == ("book_room", 1)


async def test_whom_something_is_for_is_told_by_a_description(mission: Any) -> None:
    """`member` is the name of somebody, as it says."""
    desk = {"desk_id": 32, "label": "H-2", "house": "harbour", "standing": False}
    mission.provider.script = lambda tool, _: (
        {"items": [desk], "total": 1} if tool.name == "find_desks" else None
    )

    run = await mission.run("Reserve desk H-2 for Ben Hale from 14 to 18 December")

    reserved = run.calls(run.plan.legs[0].leg_id)[-1]
    assert reserved.arguments["member"] == "Ben Hale"
