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
        ("who gives fencing", "1 of them 'fencing': Ida Roth, sport Fencing"),
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


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        ("which classes have places left", "4 classes, 3 of them 'left'"),
        ("is Dune Messiah available", "No. 2 books about 'Dune Messiah', 1 of them"),
        ("are there places left in Yoga", "1 of them 'Yoga'"),
        ("members who joined before 2020", "1 of them 'before 2020': joined on 1 April 2019"),
        ("how many members joined in 2022", "1 of them 'in 2022'"),
    ],
)
async def test_what_can_be_had_and_since_which_year_are_told_by_fields_of_other_names(
    ended: Callable[[str], Any], goal: str, told: str
) -> None:
    """What is left says whether there is any; a year lies in a day."""
    summary, _ = await ended(goal)

    assert told in summary


async def test_what_somebody_has_is_none_of_what_is_offered(mission: Any) -> None:
    """No day is asked for, on which tables would be free."""
    run = await mission.run("do I have a table in Paris")

    assert run.names("1-dining")[0] == "dining_list_reservations"


async def test_an_offer_is_looked_for_where_all_is_said_for_it(mission: Any) -> None:
    """Whose the hotel is that is meant says nothing then."""
    run = await mission.run("which rooms are there for my trip to Rome from 4 to 6 December 2026")

    assert run.names("1-hotels")[0] == "hotel_search_rooms"


@pytest.mark.parametrize(
    ("goal", "leg", "tool"),
    [
        ("what did the flight to Oslo cost", "1-flights", "flight_list_bookings"),
        ("how many nights do I stay in Rome", "1-hotels", "hotel_list_bookings"),
        ("what time is dinner in Paris", "1-dining", "dining_list_reservations"),
    ],
)
async def test_what_somebody_has_is_told_by_what_was_made(
    goal: str, leg: str, tool: str, mission: Any
) -> None:
    """No day of a search is asked for."""
    run = await mission.run(goal)

    assert tool in run.names(leg)


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
