"""A courier: whole numbers for ids, and states that are written in capitals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import AskUser, Finish
from orchestrator.routing.router import Router

_SHIPMENTS = [
    {"shipmentId": 501, "recipientName": "Bea Novak", "toCity": "Graz", "status": "IN_TRANSIT"},
    {"shipmentId": 502, "recipientName": "Karl Roth", "toCity": "Linz", "status": "BOOKED"},
    {"shipmentId": 503, "recipientName": "Ines Duarte", "toCity": "Graz", "status": "DELIVERED"},
]


@pytest.fixture
def mission(new_mission: Callable[..., Any]) -> Any:
    courier = Catalog.load(Path(__file__).with_name("parcels.yaml"))
    made = new_mission(courier, Router(courier))

    def script(tool: Any, _: Any) -> Any:
        if tool.name == "listShipments":
            return {"shipments": _SHIPMENTS}
        return None if tool.output_schema else {}

    made.provider.script = script
    return made


async def test_a_number_before_a_day_is_that_of_its_noun(mission: Any) -> None:
    """Nothing of an earlier leg stands in for the shipment that was said."""
    run = await mission.run(
        "Cancel shipment 502 and schedule a pickup for shipment 501 tomorrow afternoon"
    )

    cancelled, picked_up = (run.calls(leg.leg_id)[-1] for leg in run.plan.legs)
    assert (cancelled.tool, cancelled.arguments) == ("cancelShipment", {"shipmentId": 502})
    assert picked_up.arguments["shipmentId"] == 501


async def test_when_something_will_be_so_is_asked_of_what_is_not_so_yet(mission: Any) -> None:
    """It is looked up among all, not among those that are so already."""
    run = await mission.run("When will Karl Roth's parcel be delivered?")

    leg_id = run.plan.legs[0].leg_id
    told = run.last(leg_id)
    assert [call.arguments for call in run.calls(leg_id)] == [{}]
    assert isinstance(told, Finish)
    assert "Karl Roth" in told.summary
    assert "none of them" not in told.summary


async def test_states_in_capitals_are_held_against_what_is_asked(mission: Any) -> None:
    """What a thing is said to be is so of those whose state is written so."""
    mission.provider.script = lambda tool, _: {"shipments": _SHIPMENTS}

    run = await mission.run("Which shipments to Graz are not delivered?")

    told = run.last(run.plan.legs[0].leg_id)
    assert isinstance(told, Finish)
    assert "Bea Novak" in told.summary
    assert "Ines Duarte" not in told.summary


async def test_who_receives_something_is_no_street(mission: Any) -> None:
    """Whom it goes to is the recipient; where they live is asked for."""
    run = await mission.run("Book a shipment with quote 9001 to Bea Novak")

    asked = run.last(run.plan.legs[0].leg_id)
    assert isinstance(asked, AskUser)
    assert {*asked.fields} == {"street", "postalCode"}
