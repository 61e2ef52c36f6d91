"""A document that nobody wrote code for: a library with branches, copies and holds."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import AskUser, DiscoverTools, Finish
from orchestrator.routing.router import Router

_LIBRARY = """
openapi: 3.1.0
info: {title: Library, version: '1'}
servers: [{url: 'http://127.0.0.1/library'}]
tags: [{name: library}]
paths:
  /books:
    get:
      operationId: book_search
      tags: [library]
      summary: Search books in the library.
      x-orchet-tool: true
      parameters:
        - {name: q, in: query, required: true, schema: {type: string, minLength: 2}}
        - {name: language, in: query, schema: {type: string, enum: [english, german]}}
      responses:
        '200':
          description: Books.
          content:
            application/json:
              schema:
                type: object
                properties:
                  books:
                    type: array
                    items:
                      type: object
                      properties: {id: {type: string}, title: {type: string}}
  /books/{book_id}/copies:
    get:
      operationId: copy_list
      tags: [library]
      summary: List the copies of a book.
      x-orchet-tool: true
      parameters:
        - {name: book_id, in: path, required: true, schema: {type: string}}
      responses:
        '200':
          description: Copies.
          content:
            application/json:
              schema:
                type: object
                properties:
                  copies:
                    type: array
                    items:
                      type: object
                      properties: {copyId: {type: string}, available: {type: boolean}}
  /holds:
    post:
      operationId: hold_place
      tags: [library]
      summary: Reserve a book at the library.
      x-orchet-tool: true
      x-orchet-requires-confirmation: structured-reservation
      x-orchet-pii-required: [card_number]
      x-orchet-cancels: hold_cancel
      x-orqen-examples: ['reserve the book Emma for two weeks']
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [copyId, card_number, pickupDate, dueDate]
              properties:
                copyId: {type: string}
                card_number: {type: string}
                pickupDate: {type: string, format: date}
                dueDate: {type: string, format: date}
                note: {type: string}
      responses:
        '201':
          description: The hold.
          content:
            application/json:
              schema:
                type: object
                properties:
                  hold_id: {type: string}
                  title: {type: string}
                  pickupDate: {type: string, format: date}
                  dueDate: {type: string, format: date}
  /holds/cancel:
    post:
      operationId: hold_cancel
      tags: [library]
      summary: Cancel a reserved book.
      x-orchet-tool: true
      x-orchet-cancel-for: hold_place
      x-orchet-requires-confirmation: false
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [hold_id], properties: {hold_id: {type: string}}}
      responses:
        '200':
          description: Cancelled.
          content: {application/json: {schema: {type: object}}}
"""


@pytest.fixture(scope="module")
def library() -> Catalog:
    parsed: dict[str, Any] = yaml.safe_load(_LIBRARY)
    return Catalog.from_documents({"library": parsed})


@pytest.fixture
def reading(library: Catalog, new_mission: Callable[..., Any]) -> Any:
    """Missions over the library, whose second book is the one that is asked for."""
    mission = new_mission(library, Router(library))

    def script(tool: Tool, arguments: JsonObject) -> JsonObject | None:
        if tool.name == "book_search":
            return {"books": [{"id": "b1", "title": "Emma"}, {"id": "b2", "title": "Dune"}]}
        if tool.name == "copy_list":
            return {
                "copies": [
                    {"copyId": f"{arguments['book_id']}-1", "available": False},
                    {"copyId": f"{arguments['book_id']}-2", "available": True},
                ]
            }
        return None

    mission.provider.script = script
    return mission


async def test_book_is_found_in_two_steps_and_reserved(reading: Any) -> None:
    """Backward search chains book to copy to hold, with camel case names and a list's plain ids."""
    run = await reading.run('Reserve the book "Dune" from 2026-12-01 for 3 weeks')

    (leg,) = run.plan.legs
    assert leg.agent.name == "library"
    calls = [(c.tool, c.arguments) for c in run.calls(leg.leg_id)]
    assert calls == [
        ("book_search", {"q": "Dune"}),
        ("copy_list", {"book_id": "b2"}),
        (
            "hold_place",
            {
                "copyId": "b2-2",
                "card_number": "pii:card_number",
                "pickupDate": "2026-12-01",
                "dueDate": "2026-12-22",
            },
        ),
    ]
    assert isinstance(run.last(leg.leg_id), Finish)


async def test_search_for_another_item_follows_an_empty_answer(
    reading: Any, library: Catalog
) -> None:
    """A book without copies leads to the next book that was found."""
    usual = reading.provider.script

    def script(tool: Tool, arguments: JsonObject) -> JsonObject | None:
        if tool.name == "copy_list" and arguments["book_id"] == "b1":
            return {"copies": []}
        answered: JsonObject | None = usual(tool, arguments)
        return answered

    reading.provider.script = script

    run = await reading.run("Reserve a book about deserts from 2026-12-01 to 2026-12-08")

    leg_id = run.plan.legs[0].leg_id
    assert run.names(leg_id) == ["book_search", "copy_list", "copy_list", "hold_place", "finish"]


async def test_missing_dates_are_asked_for_and_the_ids_are_not(reading: Any) -> None:
    """A person is asked for what people know; ids are found."""
    reading.answers = {}

    run = await reading.run('Reserve the book "Dune"')

    question = run.last(run.plan.legs[0].leg_id)
    assert isinstance(question, AskUser)
    assert set(question.fields) == {"pickupDate", "dueDate"}


async def test_producer_that_was_not_forwarded_is_discovered(
    reading: Any, library: Catalog
) -> None:
    """The search that feeds the booking is looked for by name when the router left it out."""
    reading.forwarded = lambda tools: tuple(t for t in tools if t == "hold_place")

    run = await reading.run('Reserve the book "Dune" from 2026-12-01 to 2026-12-08')

    leg_id = run.plan.legs[0].leg_id
    first = run.decisions[leg_id][0]
    assert first == DiscoverTools(query="copy_list") or first == DiscoverTools(query="book_search")
    assert run.names(leg_id)[-2:] == ["hold_place", "finish"]
