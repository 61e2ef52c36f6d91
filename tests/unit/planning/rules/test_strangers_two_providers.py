"""Providers of strangers at once: who is named does it, and none fills another's inputs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.models import AskUser
from orchestrator.routing.router import Router

_TEXT = {"type": "string"}
_MADE = {
    "id": _TEXT,
    "type": _TEXT,
    "attributes": {"type": "object", "properties": {"name": _TEXT}},
}


def _tool(name: str, summary: str, *, tags: str, answer: dict[str, Any], **more: Any) -> Any:
    content = {"application/json": {"schema": {"type": "object", "properties": answer}}}
    marks = {"x-orchet-tool": True, "operationId": name, "summary": summary, "tags": [tags]}
    return {**marks, "responses": {"200": {"description": "ok", "content": content}}, **more}


def _changes(**fields: Any) -> dict[str, Any]:
    """A request body that the document lets be left out, and its first field must be in it."""
    schema = {"type": "object", "required": [*fields][:1], "properties": fields}
    body = {"content": {"application/json": {"schema": schema}}}
    marks = {"x-orchet-requires-confirmation": True, "x-orchet-irreversible": True}
    return {"requestBody": body, **marks, "x-orchet-price": False}


def _of(name: str, place: str = "path") -> dict[str, Any]:
    return {"parameters": [{"name": name, "in": place, "required": True, "schema": _TEXT}]}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    pages = {"total": {"type": "integer"}, "total_pages": {"type": "integer"}}
    meta = {"type": "object", "properties": {"pagination": {"type": "object", "properties": pages}}}
    members = {"type": "array", "items": {"type": "object", "properties": item}}
    return {"data": members, "meta": meta}


_ORCHARD = {
    "/budgets": {
        "get": _tool("list_budgets", "List all budgets", tags="budgets", answer=_list(_MADE)),
        "post": _tool(
            "store_budget",
            "Store a new budget",
            tags="budgets",
            answer=_MADE,
            **_changes(name=_TEXT, notes=_TEXT),
        ),
    },
    "/budgets/{id}": {
        "put": _tool(
            "update_budget",
            "Update a budget",
            tags="budgets",
            answer=_MADE,
            **_of("id"),
            **_changes(name=_TEXT, notes=_TEXT),
        )
    },
}
_NOTE = {"id": _TEXT, "text": _TEXT, "author_id": {"type": "integer"}, "state": _TEXT}
_QUAY = {
    "/budgets": {
        "get": _tool("quay_budgets", "List budgets of a crew", tags="money", answer=_list(_MADE)),
        "post": _tool(
            "make_budget",
            "Create a budget",
            tags="money",
            answer=_MADE,
            **_changes(name=_TEXT, a=_TEXT),
        ),
    },
    "/notes": {
        "get": _tool("list_notes", "List all notes", tags="notes", answer=_list(_NOTE)),
        "post": _tool(
            "create_note",
            "Create a note",
            tags="notes",
            answer=_NOTE,
            **_changes(text=_TEXT, author_id={"type": "integer"}),
        ),
    },
    "/notes/search": {
        "get": _tool("search_notes", "Search notes", tags="notes", answer=_list(_NOTE))
    },
}
_QUAY["/notes"]["post"]["requestBody"]["content"]["application/json"]["schema"]["required"] = [
    "text",
    "author_id",
]
_RADIO = {
    "/player/repeat": {
        "put": _tool(
            "set_repeat_mode",
            "Set the repeat mode",
            tags="player",
            answer={},
            **_of("state", "query"),
            **{k: v for k, v in _changes().items() if k != "requestBody"},
        )
    },
    "/player/volume": {
        "put": _tool(
            "set_volume",
            "Set the playback volume",
            tags="player",
            answer={},
            parameters=[
                {
                    "name": "volume_percent",
                    "in": "query",
                    "required": True,
                    "schema": {"type": "integer"},
                }
            ],
            **{k: v for k, v in _changes().items() if k != "requestBody"},
        )
    },
}


@pytest.fixture(scope="module")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder: Path = tmp_path_factory.mktemp("providers")
    for name, paths in (("orchard", _ORCHARD), ("quay", _QUAY), ("radio", _RADIO)):
        document = {
            "openapi": "3.1.0",
            "info": {"title": name, "version": "1"},
            "servers": [{"url": f"https://{name}.example"}],
            "paths": paths,
        }
        (folder / f"{name}.json").write_text(json.dumps(document))
    return Catalog.load(folder)


@pytest.fixture
def mission(new_mission: Callable[..., Any], providers: Catalog) -> Any:
    made = new_mission(providers, Router(providers))
    pages = {"pagination": {"total": 2, "total_pages": 1}}
    budgets = [
        {"id": "81", "type": "budgets", "attributes": {"name": "Food"}},
        {"id": "82", "type": "budgets", "attributes": {"name": "Travel"}},
    ]
    notes = [{"id": "n1", "text": "Refund policy", "author_id": 1, "state": "published"}]
    told = {
        "list_budgets": {"data": budgets, "meta": pages},
        "list_notes": {"data": notes, "meta": pages},
        "search_notes": {"data": notes, "meta": pages},
    }
    made.provider.script = lambda tool, _: told.get(tool.name)
    return made


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("Create a budget called Gifts in Orchard", "store_budget"),
        ("Create a budget called Gifts in Quay", "make_budget"),
        ("Create an Orchard budget called Gifts", "store_budget"),
    ],
)
async def test_the_provider_that_is_named_does_it(mission: Any, goal: str, tool: str) -> None:
    run = await mission.run(goal)

    (leg,) = run.plan.legs
    (sent,) = run.calls(leg.leg_id)
    assert (sent.tool, sent.arguments["name"]) == (tool, "Gifts")
    others = {
        t.domain for t in mission.catalog.tools.values() if t.document != sent_in(mission, tool)
    }
    assert others.isdisjoint(leg.agent.domains)


def sent_in(mission: Any, tool: str) -> str:
    """The document of a tool."""
    return str(mission.catalog.tool(tool).document)


async def test_what_a_thing_is_to_be_called_does_not_tell_which_it_is(mission: Any) -> None:
    run = await mission.run("Rename the budget Travel to Trips in Orchard")

    *_, sent = run.calls(run.plan.legs[0].leg_id)
    assert (sent.tool, sent.arguments) == ("update_budget", {"id": "82", "name": "Trips"})


async def test_a_field_is_set_to_the_number_that_is_said(mission: Any) -> None:
    run = await mission.run("Set the volume to 40 percent")

    (sent,) = run.calls(run.plan.legs[0].leg_id)
    assert (sent.tool, sent.arguments) == ("set_volume", {"volume_percent": 40})


async def test_no_word_of_another_provider_fills_an_input(mission: Any) -> None:
    """Notes have a state as well, and it says nothing of how music is repeated."""
    run = await mission.run("Set the repeat mode")

    last = run.last(run.plan.legs[0].leg_id)
    assert isinstance(last, AskUser) and list(last.fields) == ["state"]


async def test_whose_other_things_are_says_nothing_of_the_next(mission: Any) -> None:
    run = await mission.run('Create a note that says "Refund policy"')

    last = run.last(run.plan.legs[0].leg_id)
    assert isinstance(last, AskUser) and list(last.fields) == ["author_id"]


async def test_a_body_that_may_be_left_out_is_asked_for(mission: Any) -> None:
    run = await mission.run("Create a budget in Orchard")

    last = run.last(run.plan.legs[0].leg_id)
    assert isinstance(last, AskUser) and list(last.fields) == ["name"]


async def test_things_are_counted_and_no_pages(mission: Any) -> None:
    run = await mission.run("Which budgets are in Orchard?")

    last = run.last(run.plan.legs[0].leg_id)
    assert last.summary == "2 budgets: Food, Travel."
