"""A sports club and a library: questions about one named thing, and the answers that people get."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of
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
def answer(new_mission: Callable[..., Any], town: Catalog) -> Callable[[str], Any]:
    mission = new_mission(town, Router(town))
    mission.provider.script = lambda tool, _: ANSWERS[tool.name]

    async def of(goal: str) -> str:
        run = await mission.run(goal)
        assert not run.plan.doubts
        ended = run.last(run.plan.legs[0].leg_id)
        assert isinstance(ended, Finish)
        return ended.summary

    return of


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        ("who coaches karate", "1 of them 'karate': Tom Wirth"),
        ("are there places left in karate", "places left 0, sport Karate"),
        ("how much does Paul Kern owe", "dues owed 60.00 EUR, Paul Kern"),
        ("who has no licence", "1 of them without licence: has licence: no, Paul Kern"),
        ("does Rita Blum have a licence", "Yes. 3 members, 1 of them 'Rita Blum'"),
        ("does Paul Kern have a licence", "No. 3 members, 1 of them 'Paul Kern'"),
        ("when is Emma due", "1 of them 'Emma': due date 20 November"),
        ("when is Walden due back", "due date 30 November, Walden"),
        ("how often have I renewed Walden", "1 of them 'Walden': renewals 2"),
        ("how much are my fines in total", "Together they come to 1.80 EUR."),
        ("when does Northgate close", "closes at 17:00, Northgate"),
        ("how many seats does Harbour have", "1 of them 'Harbour': seats 12"),
    ],
)
async def test_a_question_is_answered_by_the_list_that_has_the_field(
    answer: Callable[[str], Any], goal: str, told: str
) -> None:
    """No tool speaks of karate or of Emma, and one list alone has what is asked of them."""
    assert told in await answer(goal)


@pytest.mark.parametrize(
    ("goal", "told"),
    [
        ("which loans are overdue", "1 of them 'overdue': Emma"),
        ("which loans are not overdue", "Nothing here tells which are not 'overdue'."),
        ("which of my loans is due last", "The last of 3 loans: due date 4 December, Kim"),
        ("which branch closes latest", "The latest of 3 branches: closes at 20:00, Central"),
        ("average fee of the classes", "On average they come to 37.50 EUR."),
        ("how many matches are still to come", "5 fixtures, 4 of them 'to come'"),
        ("when does the women's team play next", "The next of 5 fixtures, 2 of them 'women'"),
        ("last match of Riverside Women", "Nothing here tells which of them is the 'last'."),
        ("is there a class on Sunday", "4 classes, none of them 'Sunday'"),
        ("how many matches per team are there", "5 fixtures: Riverside Women, 15 November"),
        ("how many pages has Dune", "Dune, year 1965, pages 604"),
    ],
)
async def test_what_is_asked_of_several_is_computed_from_them(
    answer: Callable[[str], Any], goal: str, told: str
) -> None:
    """By the field that the question names, by days that are gone by or to come, or not at all."""
    assert told in await answer(goal)


async def test_what_was_looked_up_is_said_where_the_question_does_not_name_it(
    new_mission: Callable[..., Any], town: Catalog
) -> None:
    """That there is no loan says nothing of what is due otherwise: other lists are told."""
    mission = new_mission(town, Router(town))
    mission.provider.script = lambda tool, _: {
        name: [] for name in properties_of(tool.output_schema or {})
    }

    run = await mission.run("when is Emma due")

    ended = run.last(run.plan.legs[0].leg_id)
    assert ended.summary.startswith("Nothing that was looked up names 'Emma': no loans, ")
    assert run.names(run.plan.legs[0].leg_id).count("listLoans") == 1


async def test_a_name_that_begins_with_un_denies_nothing(answer: Callable[[str], Any]) -> None:
    """It is no opposite: Port United."""
    told = await answer("which matches are against Port United")

    assert "Riverside Men, Port United" in told
    assert "which are not" not in told


def test_the_answers_are_as_their_documents_say(town: Catalog) -> None:
    """So that what is told of them is told of what a provider would answer."""
    bodies: list[tuple[str, JsonObject]] = [
        (name, body) for name, body in ANSWERS.items() if isinstance(body, dict)
    ]
    assert {name for name, _ in bodies} == set(town.tools)
