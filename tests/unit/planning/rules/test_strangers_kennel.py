"""A kennel: answers in an envelope, and days that only their descriptions tell apart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import AskUser, Finish
from orchestrator.routing.router import Router

KENNEL = Path(__file__).parents[3] / "documents" / "kennel.yaml"
PETS = [
    {"petId": "pet_1", "name": "Rex", "species": "dog", "owner": "Ada Lovelace"},
    {"petId": "pet_2", "name": "Mia", "species": "cat", "owner": "Tom Berger"},
]


@pytest.fixture(scope="module")
def kennel() -> Catalog:
    return Catalog.load(KENNEL)


@pytest.fixture
def mission(new_mission: Callable[..., Any], kennel: Catalog) -> Any:
    made = new_mission(kennel, Router(kennel))
    made.provider.script = lambda tool, _: (
        {"ok": True, "pets": PETS} if tool.name == "listPets" else None
    )
    return made


async def test_a_stay_ends_on_the_day_that_was_said(mission: Any) -> None:
    """First and last day are told apart by what describes them; no earlier stay is looked at."""
    run = await mission.run("Book a stay for Rex from 3 to 6 March 2027")

    looked, booked = run.calls(run.plan.legs[0].leg_id)
    assert (looked.tool, booked.tool) == ("listPets", "bookStay")
    assert booked.arguments == {"petId": "pet_1", "arrives": "2027-03-03", "leaves": "2027-03-06"}


async def test_the_only_moment_of_a_call_is_the_one_that_was_said(
    new_mission: Callable[..., Any], tmp_path: Path
) -> None:
    """Whatever its name is: there is no other that may be meant."""
    document = yaml.safe_load(KENNEL.read_text())
    walk = {
        "type": "object",
        "required": ["petId", "at"],
        "properties": {
            "petId": {"type": "string"},
            "at": {"type": "string", "format": "date-time"},
        },
    }
    document["paths"]["/walks"] = {
        "post": {
            "operationId": "bookWalk",
            "tags": ["walks"],
            "summary": "Book a walk",
            "x-orchet-tool": True,
            "x-orchet-requires-confirmation": True,
            "x-orchet-irreversible": True,
            "requestBody": {"required": True, "content": {"application/json": {"schema": walk}}},
            "responses": {"204": {"description": "Booked."}},
        }
    }
    (tmp_path / "kennel.yaml").write_text(yaml.safe_dump(document))
    catalog = Catalog.load(tmp_path / "kennel.yaml")
    mission = new_mission(catalog, Router(catalog), answers={"petId": "pet_1"})
    mission.provider.script = lambda tool, _: (
        {"ok": True, "pets": PETS} if tool.name == "listPets" else {"ok": True}
    )

    run = await mission.run("Book a walk with Rex on 4 March 2027 at 9 am")

    booked = run.calls(run.plan.legs[0].leg_id)[-1]
    assert booked.arguments["at"] == "2027-03-04T09:00:00Z"


async def test_days_that_nothing_tells_apart_are_asked_for(
    new_mission: Callable[..., Any], tmp_path: Path
) -> None:
    """One day that was said is never sent as two."""
    document = yaml.safe_load(KENNEL.read_text())
    body = document["paths"]["/stays"]["post"]["requestBody"]["content"]["application/json"]
    for name in ("arrives", "leaves"):
        body["schema"]["properties"][name]["description"] = "A day of the stay"
    (tmp_path / "kennel.yaml").write_text(yaml.safe_dump(document))
    catalog = Catalog.load(tmp_path / "kennel.yaml")
    mission = new_mission(catalog, Router(catalog), answers={"petId": "pet_1"})
    mission.provider.script = lambda tool, _: (
        {"ok": True, "pets": PETS} if tool.name == "listPets" else None
    )

    run = await mission.run("Book a stay for Rex from 3 to 6 March 2027")

    asked = run.last(run.plan.legs[0].leg_id)
    assert isinstance(asked, AskUser)
    assert {"arrives", "leaves"} <= set(asked.fields)


async def test_whose_things_are_asked_for_is_no_matter_of_the_envelope(mission: Any) -> None:
    """`ok` beside a list says nothing of what is listed."""
    run = await mission.run("Which pets does Ada Lovelace have?")

    leg_id = run.plan.legs[0].leg_id
    told = run.last(leg_id)
    assert isinstance(told, Finish)
    assert "ok" not in told.summary.casefold().replace("book", "")
    assert run.calls(leg_id)[0].arguments.get("owner") == "Ada Lovelace" or (
        "Mia" not in told.summary
    )


async def test_an_empty_list_in_an_envelope_is_told_as_such(mission: Any) -> None:
    """Nothing was found; that the provider is well is not what was asked."""
    mission.provider.script = lambda tool, _: {"ok": True, "stays": []}

    run = await mission.run("List the stays")

    told = run.last(run.plan.legs[0].leg_id)
    assert isinstance(told, Finish)
    assert told.summary.startswith("No stays were found")


async def test_a_change_that_stands_for_a_cancel_is_sent_as_one(
    new_mission: Callable[..., Any], tmp_path: Path
) -> None:
    """Who orders a cancel means the state that its pair names; who orders a change does not."""
    document = yaml.safe_load(KENNEL.read_text())
    schemas = document["components"]["schemas"]
    state = schemas["Stay"]["properties"]["state"]
    changed = {"type": "object", "properties": {"state": state, "leaves": {"type": "string"}}}
    item = document["paths"]["/stays/{stayId}"]
    item["patch"] = {
        **item.pop("delete"),
        "summary": "Change a stay",
        "description": "Changes a stay; WITHDRAWN cancels it.",
        "requestBody": {"content": {"application/json": {"schema": changed}}},
    }
    args = document["paths"]["/stays"]["post"]["x-orchet-compensation-args"]
    args["state"] = "WITHDRAWN"
    (tmp_path / "kennel.yaml").write_text(yaml.safe_dump(document))
    catalog = Catalog.load(tmp_path / "kennel.yaml")
    mission = new_mission(catalog, Router(catalog))

    cancelled = await mission.run("Cancel stay s-17")
    changed_only = await mission.run("Change stay s-17")

    sent = [run.calls(run.plan.legs[0].leg_id)[-1] for run in (cancelled, changed_only)]
    assert [call.tool for call in sent] == ["cancelStay", "cancelStay"]
    assert sent[0].arguments == {"stayId": "s-17", "state": "WITHDRAWN"}
    assert sent[1].arguments == {"stayId": "s-17"}


async def test_a_list_without_a_telling_name_is_called_by_its_domain(
    new_mission: Callable[..., Any], tmp_path: Path
) -> None:
    """`data` beside `links` is of pets, and where to go on is no fact of them."""
    document = yaml.safe_load(KENNEL.read_text())
    operation = document["paths"]["/pets"]["get"]
    operation["summary"] = "Pets"
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    answer["properties"]["data"] = answer["properties"].pop("pets")
    following = {"type": "object", "properties": {"next": {"type": "string"}}}
    answer["properties"]["links"] = following
    (tmp_path / "kennel.yaml").write_text(yaml.safe_dump(document))
    catalog = Catalog.load(tmp_path / "kennel.yaml")
    mission = new_mission(catalog, Router(catalog))
    body = {"ok": True, "data": PETS, "links": {"next": "cursor-2"}}
    mission.provider.script = lambda tool, _: body if tool.name == "listPets" else None

    run = await mission.run("Which pets are there?")

    told = run.last(run.plan.legs[0].leg_id)
    assert isinstance(told, Finish)
    assert told.summary.startswith("2 pets")


async def test_what_another_tool_made_is_no_offer(
    new_mission: Callable[..., Any], tmp_path: Path
) -> None:
    """The pet of somebody's stay, which has days, is not whom a walk is for."""
    document = yaml.safe_load(KENNEL.read_text())
    del document["paths"]["/pets"]
    walk = document["paths"]["/walks"] = {"post": {**document["paths"]["/stays"]["post"]}}
    for name in ("x-orchet-cancels", "x-orchet-compensation-args"):
        del walk["post"][name]
    body = {"type": "object", "required": ["petId"], "properties": {"petId": {"type": "string"}}}
    walk["post"] |= {
        "operationId": "bookWalk",
        "tags": ["walks"],
        "summary": "Book a walk",
        "description": "Books a walk with a pet.",
        "x-orchet-irreversible": True,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
    }
    (tmp_path / "kennel.yaml").write_text(yaml.safe_dump(document))
    catalog = Catalog.load(tmp_path / "kennel.yaml")

    run = await new_mission(catalog, Router(catalog)).run("Book a walk")

    leg_id = run.plan.legs[0].leg_id
    assert isinstance(run.last(leg_id), AskUser)
    assert "bookWalk" not in run.names(leg_id)
