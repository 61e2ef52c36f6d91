"""Questions that name what no tool is known to tell of: it stands in what some list holds."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import Finish
from orchestrator.routing.router import Router

HERE: Final = Path(__file__).parent
DOCUMENTS: Final = (HERE / "club.yaml", HERE / "library.yaml")
ANSWERS: Final[Mapping[str, JsonValue]] = {
    operation["get"]["operationId"]: operation["get"]["responses"]["200"]["content"][
        "application/json"
    ]["example"]
    for document in DOCUMENTS
    for operation in yaml.safe_load(document.read_text())["paths"].values()
}


@pytest.fixture(scope="module")
def town() -> Catalog:
    return Catalog.load(*DOCUMENTS)


@pytest.fixture
def ended(new_mission: Callable[..., Any], town: Catalog) -> Callable[[str], Any]:
    mission = new_mission(town, Router(town))
    mission.provider.script = lambda tool, _: ANSWERS[tool.name]

    async def of(goal: str) -> tuple[str, list[str]]:
        run = await mission.run(goal)
        (leg,) = run.plan.legs
        last = run.last(leg.leg_id)
        assert isinstance(last, Finish)
        return last.summary, [call.tool for call in run.calls(leg.leg_id)]

    return of


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        ("who gives judo", "1 of them 'judo': sport Judo, Mia Sato"),
        ("when is fencing", "1 of them 'fencing': tuesday, start time 18:30"),
        ("who wrote Dune", "Dune, Frank Herbert"),
        ("what does Karate cost", "monthly fee 40.00 EUR"),
        ("does anyone teach yoga", "1 of them 'yoga': sport Yoga, Mia Sato"),
        ("how much does Rita Blum owe", "dues owed 120.00 EUR, Rita Blum"),
    ],
)
async def test_what_is_named_is_looked_for_where_it_may_be(
    ended: Callable[[str], Any], goal: str, told: str
) -> None:
    """In the lists that may tell the kind of value that is asked for, until it is found."""
    summary, _ = await ended(goal)

    assert told in summary


async def test_what_is_in_no_list_is_said_to_be_in_none_of_those_looked_at(
    ended: Callable[[str], Any],
) -> None:
    """No other thing is told in its place, and each list is looked at once."""
    summary, calls = await ended("is there a sauna")

    assert summary.startswith("Nothing that was looked up names 'sauna': ")
    assert "Judo" not in summary
    assert sorted(calls) == sorted({*calls})


async def test_a_list_that_is_named_is_not_left(ended: Callable[[str], Any]) -> None:
    """Whether it has what is asked for or not: fixtures against somebody are fixtures."""
    summary, calls = await ended("which fixtures are against the Otters")

    assert calls == ["listFixtures"]
    assert summary.startswith("5 fixtures")


async def test_where_many_lists_may_tell_none_is_looked_at(
    new_mission: Callable[..., Any], shipped: Catalog, router: Router
) -> None:
    """What nothing speaks of is told to be so at once."""
    mission = new_mission(shipped, router)

    with pytest.raises(Exception, match="no tool fits"):
        await mission.run("what is the capital of France")
