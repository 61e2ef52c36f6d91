"""A garage: plates, jobs that are changed as a whole, and lists of listed values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import CallTool
from orchestrator.routing.router import Router

_JOBS = {
    "jobs": [
        {"job_id": 3101, "plate": "GHT 552", "state": "booked", "services": ["oil_change"]},
        {"job_id": 3102, "plate": "GHT 552", "state": "booked", "services": ["inspection"]},
    ]
}


@pytest.fixture(scope="module")
def garage() -> Catalog:
    return Catalog.load(Path(__file__).with_name("garage.yaml"))


async def _calls(new_mission: Callable[..., Any], catalog: Catalog, goal: str) -> list[CallTool]:
    mission = new_mission(catalog, Router(catalog))
    mission.provider.script = lambda tool, _: _JOBS if tool.name == "jobs_list" else None
    run = await mission.run(goal)
    decisions = run.decisions[run.plan.legs[0].leg_id]
    return [one for one in decisions if isinstance(one, CallTool)]


async def test_a_code_that_is_dealt_with_itself_is_sent(
    new_mission: Callable[..., Any], garage: Catalog
) -> None:
    """The one needed text that takes it; what is to be done is one of the values of a list."""
    goal = "Book LMP 907 in for a brake check on 27 November at 2 pm"
    (booked,) = await _calls(new_mission, garage, goal)

    assert booked.tool == "jobs_create"
    assert booked.arguments["plate"] == "LMP 907"
    assert booked.arguments["services"] == ["brake_check"]
    assert booked.arguments["drop_off_at"] == "2026-11-27T14:00:00Z"


async def test_a_thing_is_told_by_a_list_in_it(
    new_mission: Callable[..., Any], garage: Catalog
) -> None:
    """What a job is for stands in its services."""
    calls = await _calls(new_mission, garage, "Cancel the oil change job of GHT 552")

    assert (calls[-1].tool, calls[-1].arguments) == ("jobs_cancel", {"job_id": 3101})


async def test_what_is_added_to_a_list_does_not_take_its_place(
    new_mission: Callable[..., Any], garage: Catalog
) -> None:
    """A change would leave the service that was added alone on the job."""
    goal = "Add an air conditioning service to job 3101"
    calls = await _calls(new_mission, garage, goal)

    assert "jobs_update" not in [call.tool for call in calls]
