"""Questions to a stranger's club: who owes whom, which is heavier, which are not so."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import Finish
from orchestrator.routing.router import Router

DOCUMENT: Final = Path(__file__).parent / "rowing.yaml"
ANSWERS: Final[Mapping[str, JsonValue]] = {
    operation["get"]["operationId"]: operation["get"]["responses"]["200"]["content"][
        "application/json"
    ]["example"]
    for operation in yaml.safe_load(DOCUMENT.read_text())["paths"].values()
}


@pytest.fixture(scope="module")
def rowing() -> Catalog:
    return Catalog.load(DOCUMENT)


@pytest.fixture
def told(new_mission: Callable[..., Any], rowing: Catalog) -> Callable[[str], Any]:
    mission = new_mission(rowing, Router(rowing))
    mission.provider.script = lambda tool, _: ANSWERS[tool.name]

    async def of(goal: str) -> str:
        run = await mission.run(goal)
        last = run.last(run.plan.legs[0].leg_id)
        assert isinstance(last, Finish)
        return last.summary

    return of


@pytest.mark.parametrize(
    ("goal", "begins"),
    [
        ("what do we owe Oarworks", "3 bills, 1 of them 'Oarworks', 2 of them not paid: "),
        ("do we owe Petra Voss anything", "3 bills, 1 of them 'Petra Voss'"),
        ("does Bo Lind owe us anything", "3 dues, 1 of them 'Bo Lind', 2 of them not paid: Bo"),
        (
            "does Petra Voss owe us anything",
            "Nothing that was looked up names 'Petra Voss': 3 dues",
        ),
        ("do we owe Bo Lind anything", "Nothing that was looked up names 'Bo Lind': 3 bills"),
        ("how much do we have to pay", "3 bills, 2 of them not paid"),
    ],
)
async def test_what_is_owed_is_told_of_whom_it_is_asked(
    goal: str, begins: str, told: Callable[[str], Any]
) -> None:
    """What we owe is none of what is owed to us; what has been paid is not owed any more."""
    assert (await told(goal)).startswith(begins)


async def test_what_several_owe_is_added_up_without_what_is_paid(
    told: Callable[[str], Any],
) -> None:
    """By those that are meant."""
    assert (await told("how much do the members owe us")).endswith(
        "Together they come to 90.00 EUR."
    )


@pytest.mark.parametrize(
    ("goal", "begins"),
    [
        ("is the Otter heavier than the Heron", "Yes: Otter, weight 27.5 kg; Heron, weight 14 kg."),
        ("is the Otter lighter than the Heron", "No: Otter"),
        ("which is older, the Teal or the Grebe", "Grebe is older: Teal, built 2021; Grebe"),
        ("is the Teal dearer than the Grebe", "4 boats, 1 of them 'Teal', 1 of them 'Grebe'"),
        ("which is the lightest boat", "The lightest of 4 boats: Heron"),
        ("the oldest boat", "The oldest of 4 boats: Grebe"),
        ("which bill costs the most", "The one that costs the most of 3 bills: supplier Oarworks"),
        (
            "which boats have the most seats",
            "The most seats of 4 boats: Grebe, seats 4, weight 52 kg; Teal",
        ),
        ("which boats are not in repair", "4 boats, 3 of them not in repair: "),
    ],
)
async def test_things_are_compared_by_what_is_measured_of_them(
    goal: str, begins: str, told: Callable[[str], Any]
) -> None:
    """Two that are named, or all; where two are alike both are told."""
    assert (await told(goal)).startswith(begins)


async def test_what_nothing_measures_is_said(told: Callable[[str], Any]) -> None:
    """And nothing is told to be more of it."""
    said = await told("is the Teal dearer than the Grebe")

    assert said.endswith("Nothing here tells which of them is dearer.")
