"""A box office: lists without a name around them, and bookings that name what another list has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import AskUser, CallTool
from orchestrator.routing.router import Router

_ORCHARD = "The Glass Orchard"
_PERFORMANCES = [
    {"performance-id": 501, "show-title": _ORCHARD, "on": "2026-11-28", "seats-left": 40},
    {"performance-id": 502, "show-title": _ORCHARD, "on": "2026-11-29", "seats-left": 0},
]
_BOOKINGS = [{"booking-ref": "BK-77", "performance-id": 503, "show-title": "Little Fox"}]
_VOUCHERS = [
    {"code": "GV-1", "recipient": {"name": "Ana Ruiz", "email": "ana@ruiz.example"}},
    {"code": "GV-2", "recipient": {"name": "Tim Vogel", "email": "tim@vogel.example"}},
]


@pytest.fixture(scope="module")
def box_office() -> Catalog:
    return Catalog.load(Path(__file__).with_name("theatre.yaml"))


async def _decisions(new_mission: Callable[..., Any], catalog: Catalog, goal: str) -> list[Any]:
    mission = new_mission(catalog, Router(catalog))

    def answer(tool: Any, arguments: dict[str, Any]) -> Any:
        match tool.name:
            case "get-performances":
                day = arguments.get("on")
                return [one for one in _PERFORMANCES if day in (None, one["on"])]
            case "get-bookings":
                return _BOOKINGS
            case "get-gift-vouchers":
                return _VOUCHERS
        return None

    mission.provider.script = answer
    run = await mission.run(goal)
    return [*run.decisions[run.plan.legs[0].leg_id]]


async def test_a_booking_is_fed_by_the_list_of_what_is_booked(
    new_mission: Callable[..., Any], box_office: Catalog
) -> None:
    """Of the lists with the id, and not by that of bookings; the day and the title tell which."""
    goal = "Book two seats for The Glass Orchard on 28 November"
    calls = [d for d in await _decisions(new_mission, box_office, goal) if isinstance(d, CallTool)]

    assert [call.tool for call in calls] == ["get-performances", "post-booking"]
    assert calls[1].arguments == {"performance-id": 501, "seats": {"count": 2}}


async def test_what_is_sold_out_is_asked_about(
    new_mission: Callable[..., Any], box_office: Catalog
) -> None:
    """None of it is left, as it says itself."""
    goal = "Book 2 seats for The Glass Orchard on 29 November"
    last = (await _decisions(new_mission, box_office, goal))[-1]

    assert isinstance(last, AskUser)
    assert "othing is left" in last.question


async def test_a_thing_is_told_by_an_object_in_it(
    new_mission: Callable[..., Any], box_office: Catalog
) -> None:
    """Whom a voucher is for stands in its recipient."""
    decisions = await _decisions(new_mission, box_office, "Void the voucher of Tim Vogel")
    calls = [one for one in decisions if isinstance(one, CallTool)]

    assert (calls[-1].tool, calls[-1].arguments) == ("void-gift-voucher", {"code": "GV-2"})
