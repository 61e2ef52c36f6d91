"""A car park of which nothing is described: plates are codes, and permits are made by no verb."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.plan_answers import asks_first
from orchestrator.planning.accounting.account import with_account
from orchestrator.planning.models import GoalBrief
from orchestrator.planning.orders import with_orders
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router

_NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
_LOTS = [
    {"id": 1, "name": "Castle Square", "city": "Lund", "free": 12, "hourly": 2.5},
    {"id": 2, "name": "Station North", "city": "Lund", "free": 0, "hourly": 1.8},
]
_FINES = [{"id": 1, "plate": "KLM 204", "reason": "wrong bay", "amount": 60, "currency": "EUR"}]


@pytest.fixture(scope="module")
def car_park() -> Catalog:
    return Catalog.load(Path(__file__).with_name("parking.yaml"))


@pytest.mark.parametrize("plate", ["QRS 111", "QRS-111", "QRS111"])
async def test_what_something_is_for_is_none_that_was_found(
    new_mission: Callable[..., Any], car_park: Catalog, plate: str
) -> None:
    """The plate that was said is sent, and not that of whoever was fined."""
    mission = new_mission(car_park, Router(car_park))
    found = {"lots": _LOTS, "fines": _FINES}
    mission.provider.script = lambda tool, _: found.get(tool.name)

    run = await mission.run(
        f"Reserve a spot at Castle Square for {plate} on 27 November at 9:00 for 3 hours"
    )

    booked = run.calls(run.plan.legs[0].leg_id)[-1]
    assert (booked.tool, booked.arguments["plate"]) == ("reserve_spot", plate)


async def test_to_pay_is_not_to_make_something_that_no_verb_names(car_park: Catalog) -> None:
    """No tool pays, and a new permit is no payment."""
    goal = "Pay the fine for XYZ 900"
    router = Router(car_park)
    brief = GoalBrief(mission_id="m", goal=goal, now=_NOW, catalog_digest=car_park.digest)

    plan = await ChainingPlanner(lambda _: router).split_goal(brief, car_park, ())
    ordered = with_orders(plan, goal, car_park, router, now=_NOW)
    read = with_account(ordered, goal, car_park, router, now=_NOW)

    assert asks_first(read)
    assert "Pay" in [doubt.about for doubt in read.doubts]
