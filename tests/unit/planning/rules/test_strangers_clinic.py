"""The clinic that the goals are driven over: another business, with other words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import AskUser
from orchestrator.routing.router import Router

CLINIC = Path(__file__).parents[3] / "benchmarks" / "goals" / "vetclinic.yaml"

PATIENT = {"patientId": "pat_1", "animalName": "Rex", "species": "dog", "ownerName": "Tom Berger"}


@pytest.fixture(scope="module")
def clinic() -> Catalog:
    return Catalog.load(CLINIC)


@pytest.mark.parametrize(
    ("goal", "medicine", "packs"),
    [
        ("order two packs of heart tablets for Rex", "heart tablets", 2),
        ("order 3 packs of ear drops for Rex", "ear drops", 3),
    ],
)
async def test_what_is_ordered_fills_the_input_that_it_is(
    new_mission: Callable[..., Any], clinic: Catalog, goal: str, medicine: str, packs: int
) -> None:
    """The medicine is no id that a search would give: the clause says it."""
    mission = new_mission(clinic, Router(clinic))
    found = {"patients": [PATIENT]}
    mission.provider.script = lambda tool, _: found if tool.name == "findPatients" else None

    run = await mission.run(goal)

    ordered = run.calls(run.plan.legs[0].leg_id)[-1]
    assert ordered.tool == "orderRefill"
    assert (ordered.arguments["medicine"], ordered.arguments["packs"]) == (medicine, packs)


async def test_what_was_not_said_is_asked_though_nothing_was_found(
    new_mission: Callable[..., Any], clinic: Catalog
) -> None:
    """No earlier order says which medicine is meant now."""
    mission = new_mission(clinic, Router(clinic))
    answers = {"listRefills": {"refills": []}, "findPatients": {"patients": [PATIENT]}}
    mission.provider.script = lambda tool, _: answers.get(tool.name)

    run = await mission.run("order a refill for Rex")

    asked = run.last(run.plan.legs[0].leg_id)
    assert isinstance(asked, AskUser)
    assert "medicine" in asked.fields


@pytest.mark.parametrize(
    ("goal", "taken"),
    [
        ("order two packs of heart tablets for Rex", "pat_rex"),
        ("Board Bella at the clinic from 2026-12-03 to 2026-12-05", "pat_bella"),
        ("book Luna in with a vet tomorrow", None),
        ("order tablets for the cat", None),
    ],
)
async def test_whom_it_is_for_is_never_the_first_of_several(
    new_mission: Callable[..., Any], clinic: Catalog, goal: str, taken: str | None
) -> None:
    """Who is named is taken; where nobody is, or two bear the name, a person chooses."""
    animals = [("bella", "dog"), ("milo", "cat"), ("rex", "dog"), ("luna", "cat"), ("luna", "dog")]
    found = [
        {**PATIENT, "patientId": f"pat_{name}", "animalName": name.title(), "species": kind}
        for name, kind in animals
    ]
    found[-1]["patientId"] = "pat_luna2"
    mission = new_mission(clinic, Router(clinic))
    mission.provider.script = lambda tool, _: (
        {"patients": found} if tool.name == "findPatients" else None
    )

    run = await mission.run(goal)

    leg_id = run.plan.legs[0].leg_id
    if taken is None:
        asked = run.last(leg_id)
        assert isinstance(asked, AskUser)
        assert "patientId" in asked.fields
    else:
        assert run.calls(leg_id)[-1].arguments["patientId"] == taken
