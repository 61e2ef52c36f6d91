"""Verbs that no lexicon holds, known by the summaries of the tools alone."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import NothingFits
from orchestrator.planning.models import AskUser
from orchestrator.routing.router import Router

_ALLOTMENT = """
openapi: 3.1.0
info: {title: Allotment, version: '1'}
servers: [{url: 'http://127.0.0.1/allotment'}]
paths:
  /beds:
    post:
      operationId: sowBed
      tags: [beds]
      summary: Sow a bed
      x-orchet-tool: true
      x-orchet-requires-confirmation: true
      x-orchet-cancels: clearBed
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [crop], properties: {crop: {type: string}}}
      responses:
        '201':
          description: The bed.
          content:
            application/json:
              schema: {type: object, properties: {bed_id: {type: string}, crop: {type: string}}}
    get:
      operationId: listBeds
      tags: [beds]
      summary: List beds
      x-orchet-tool: true
      parameters: [{name: crop, in: query, schema: {type: string}}]
      responses:
        '200':
          description: Beds.
          content:
            application/json:
              schema:
                type: object
                properties:
                  beds: {type: array, items: {type: object, properties: {bed_id: {type: string}}}}
  /beds/{bed_id}:
    delete:
      operationId: clearBed
      tags: [beds]
      summary: Clear a bed
      x-orchet-tool: true
      x-orchet-cancel-for: sowBed
      x-orchet-requires-confirmation: false
      parameters: [{name: bed_id, in: path, required: true, schema: {type: string}}]
      responses: {'204': {description: Cleared.}}
  /beds/{bed_id}/mulchings:
    post:
      operationId: mulchBed
      tags: [beds]
      summary: Mulch a bed
      x-orchet-tool: true
      x-orchet-requires-confirmation: true
      x-orchet-irreversible: true
      parameters: [{name: bed_id, in: path, required: true, schema: {type: string}}]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [material]
              properties: {material: {type: string, enum: [straw, bark]}}
      responses:
        '201':
          description: Mulched.
          content:
            application/json:
              schema: {type: object, properties: {mulching_id: {type: string}}}
"""


@pytest.fixture(scope="module")
def allotment() -> Catalog:
    return Catalog.from_documents({"allotment": yaml.safe_load(_ALLOTMENT)})


@pytest.mark.parametrize(
    ("goal", "legs"),
    [
        ("Sow a bed with carrots", 1),
        ("Could you sow a bed of carrots?", 1),
        ("Sow a bed with leeks and mulch it with straw", 2),
    ],
)
async def test_what_a_summary_says_is_done_can_be_ordered(
    new_mission: Callable[..., Any], allotment: Catalog, goal: str, legs: int
) -> None:
    """The beds that are there are not listed in its place."""
    run = await new_mission(allotment, Router(allotment)).run(goal)

    first = run.plan.legs[0].leg_id
    asked = run.last(first)
    assert len(run.plan.legs) == legs
    assert isinstance(asked, AskUser)
    assert "'Sow a bed' takes it" in asked.why
    assert run.calls(first) == []


async def test_what_is_done_to_a_thing_is_called_with_its_id(
    new_mission: Callable[..., Any], allotment: Catalog
) -> None:
    run = await new_mission(allotment, Router(allotment)).run("Mulch bed bed_42 with straw")

    (call,) = run.calls(run.plan.legs[0].leg_id)
    assert (call.tool, call.arguments) == ("mulchBed", {"bed_id": "bed_42", "material": "straw"})


@pytest.mark.parametrize("goal", ["Paint a bed", "Burn bed b12"])
async def test_what_no_summary_says_is_not_done(
    new_mission: Callable[..., Any], allotment: Catalog, goal: str
) -> None:
    """A thing that tools deal in is not enough."""
    with pytest.raises(NothingFits):
        await new_mission(allotment, Router(allotment)).run(goal)
