"""A lodge for pets: things listed with an `id`, and objects inside of a call."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.accounting.account import with_account
from orchestrator.planning.models import AskUser, GoalBrief
from orchestrator.planning.orders import with_orders
from orchestrator.planning.rules.chaining import ChainingPlanner
from orchestrator.routing.router import Router

LODGE = """
openapi: 3.0.3
info: {title: Lodge, version: '1'}
servers: [{url: 'https://lodge.example/v1'}]
paths:
  /pets:
    get:
      operationId: listPets
      tags: [pets]
      summary: Your pets
      x-orchet-tool: true
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object,
        properties: {data: {type: array, items: {$ref: '#/components/schemas/Pet'}},
        meta: {type: object, properties: {total: {type: integer}}}}}}}}}
    post:
      operationId: registerPet
      tags: [pets]
      summary: Register a pet
      x-orchet-tool: true
      x-orchet-irreversible: true
      x-orchet-requires-confirmation: true
      requestBody: {required: true, content: {application/json: {schema: {type: object,
        required: [pet], properties: {pet: {type: object, required: [name, species], properties: {
        name: {type: string}, species: {type: string, enum: [dog, cat, rabbit]}}}}}}}}
      responses: {'201': {description: ok, content: {application/json: {schema: {type: object,
        properties: {pet: {$ref: '#/components/schemas/Pet'}}}}}}}
  /grooming:
    get:
      operationId: listGrooming
      tags: [grooming]
      summary: Grooming that is booked
      x-orchet-tool: true
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object,
        properties: {data: {type: array, items: {type: object, properties: {id: {type: integer},
        petId: {type: integer}, service: {type: string}}}}}}}}}}
    post:
      operationId: bookGrooming
      tags: [grooming]
      summary: Book grooming
      x-orchet-tool: true
      x-orchet-irreversible: true
      x-orchet-requires-confirmation: true
      requestBody: {required: true, content: {application/json: {schema: {type: object,
        required: [petId, service, day], properties: {petId: {type: integer},
        service: {type: string, enum: [bath, full-clip, nail-trim]},
        day: {type: string, format: date}}}}}}
      responses: {'201': {description: ok, content: {application/json: {schema: {type: object,
        properties: {id: {type: integer}}}}}}}
components:
  schemas:
    Pet: {type: object, properties: {id: {type: integer}, name: {type: string},
      species: {type: string}}}
"""
PETS = [{"id": 7, "name": "Bruno", "species": "dog"}, {"id": 8, "name": "Mia", "species": "cat"}]


@pytest.fixture(scope="module")
def lodge(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    path: Path = tmp_path_factory.mktemp("lodge") / "lodge.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(LODGE)))
    return Catalog.load(path)


@pytest.fixture
def mission(new_mission: Callable[..., Any], lodge: Catalog) -> Any:
    answers = {
        "listPets": {"data": PETS, "meta": {"total": 2}},
        "registerPet": {"pet": {"id": 9, "name": "Flop", "species": "rabbit"}},
        "listGrooming": {"data": []},
        "bookGrooming": {"id": 70},
    }
    made = new_mission(lodge, Router(lodge))
    made.provider.script = lambda tool, _: answers[tool.name]
    return made


def sent(run: Any, leg: int) -> list[tuple[str, Any]]:
    return [(c.tool, c.arguments) for c in run.calls(run.plan.legs[leg].leg_id)]


async def test_the_id_of_a_thing_is_found_where_such_things_are_listed(mission: Any) -> None:
    """Whatever the list is called, and whatever else has a field of the input's name."""
    run = await mission.run("Book a bath for Bruno on 3 March 2027")
    booked = {"petId": 7, "service": "bath", "day": "2027-03-03"}
    assert sent(run, 0) == [("listPets", {}), ("bookGrooming", booked)]


async def test_what_was_made_is_what_the_next_call_is_about(mission: Any) -> None:
    """By its id, which its maker wraps; a name is that of what is made."""
    run = await mission.run("Register a rabbit called Flop and book a bath for him on 3 March 2027")
    made = {"pet": {"name": "Flop", "species": "rabbit"}}
    assert sent(run, 0) == [("registerPet", made)]
    booked = {"petId": 9, "service": "bath", "day": "2027-03-03"}
    assert sent(run, 1) == [("bookGrooming", booked)]


async def test_what_an_object_lacks_is_asked_for_by_its_own_name(mission: Any) -> None:
    """Nobody types an object."""
    run = await mission.run("Register a dog")
    asked = run.last(run.plan.legs[0].leg_id)
    assert isinstance(asked, AskUser)
    assert [*asked.fields] == ["name"]


async def test_nothing_listed_is_nothing_found_whatever_the_envelope_counts(mission: Any) -> None:
    """What a page says of itself is no thing that was found."""
    mission.provider.script = lambda *_: {"data": [], "meta": {"total": 0}}
    run = await mission.run("Which pets do I have?")
    assert run.last(run.plan.legs[0].leg_id).summary == "No pets were found."


async def test_of_two_listed_values_neither_is_done_alone(lodge: Catalog) -> None:
    """What one call cannot take is told before anything is done."""
    router, now = Router(lodge), datetime(2027, 2, 1, tzinfo=UTC)
    goal = "Book a bath and a nail trim for Bruno on 3 March 2027"
    brief = GoalBrief(mission_id="m", goal=goal, now=now, catalog_digest=lodge.digest)
    plan = await ChainingPlanner(lambda _: router).split_goal(brief, lodge, ())
    plan = with_account(
        with_orders(plan, goal, lodge, router, now=now), goal, lodge, router, now=now
    )
    assert [doubt.about for doubt in plan.doubts] == ["and a nail trim"]
