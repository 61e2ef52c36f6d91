"""A print shop: a verb that may only show, and a cancel that requires nothing."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from orchestrator.catalog.catalog import Catalog
from orchestrator.language.words import tokens
from orchestrator.planning.models import AskUser
from orchestrator.planning.orders import with_orders
from orchestrator.planning.rules.answers import Item
from orchestrator.planning.rules.narrowing import called_as_said
from orchestrator.routing.router import Router
from tests.unit.planning.conftest import NOW

_SHOP = """
openapi: 3.0.3
info: {title: Print shop, version: '1'}
servers: [{url: 'http://127.0.0.1/printshop'}]
tags: [{name: printshop, description: Prints posters and flyers.}]
paths:
  /print-orders:
    get:
      operationId: list_print_orders
      tags: [printshop]
      summary: List print orders.
      x-orchet-tool: true
      responses:
        '200':
          description: Orders.
          content:
            application/json:
              schema:
                type: object
                properties:
                  print_orders: {type: array, items: {$ref: '#/components/schemas/PrintOrder'}}
    post:
      operationId: order_print
      tags: [printshop]
      summary: Order posters or flyers.
      x-orchet-tool: true
      x-orqen-examples: [print 200 flyers for Friday]
      x-orchet-requires-confirmation: structured-order
      x-orchet-price: false
      x-orchet-cancels: stop_print
      x-orchet-compensation-args: {print_order_id: $response.body#/print_order_id}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [product, copies, deliver_on]
              properties:
                product: {type: string, enum: [poster, flyer]}
                copies: {type: integer, minimum: 1}
                deliver_on: {type: string, format: date}
                headline: {type: string}
      responses:
        '201':
          description: The order.
          content: {application/json: {schema: {$ref: '#/components/schemas/PrintOrder'}}}
  /print-orders/stop:
    post:
      operationId: stop_print
      tags: [printshop]
      summary: Stop a print order.
      x-orchet-tool: true
      x-orchet-cancel-for: order_print
      x-orchet-requires-confirmation: false
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties: {print_order_id: {type: string}, why: {type: string}}
      responses:
        '200':
          description: The order.
          content: {application/json: {schema: {$ref: '#/components/schemas/PrintOrder'}}}
components:
  schemas:
    PrintOrder:
      type: object
      required: [print_order_id, product, copies, deliver_on]
      properties:
        print_order_id: {type: string}
        product: {type: string, example: poster}
        copies: {type: integer}
        deliver_on: {type: string, format: date}
"""


@pytest.fixture(scope="module")
def shop() -> Catalog:
    return Catalog.from_documents({"printshop": yaml.safe_load(_SHOP)})


async def test_the_verb_of_an_example_orders_what_its_tool_does(
    new_mission: Callable[..., Any], shop: Catalog
) -> None:
    """The orders that are there are not listed in its place, and what serves it is known."""
    goal, router = "Print 250 flyers for 2026-12-04", Router(shop).without_deadline()
    run = await new_mission(shop, router).run(goal)

    (call,) = run.calls(run.plan.legs[0].leg_id)
    orders = with_orders(run.plan, goal, shop, router, now=NOW).orders
    assert call.tool == "order_print"
    assert call.arguments == {"product": "flyer", "copies": 250, "deliver_on": "2026-12-04"}
    assert [order.tools[0] for order in orders] == ["order_print"]


async def test_what_is_quoted_behind_the_noun_of_an_input_is_for_it(
    new_mission: Callable[..., Any], shop: Catalog
) -> None:
    """Though it may be left out."""
    run = await new_mission(shop, Router(shop)).run(
        'Print 25 posters with the headline "Pay less, row more" for 2026-12-04'
    )

    (call,) = run.calls(run.plan.legs[0].leg_id)
    assert call.arguments["headline"] == "Pay less, row more"


async def test_a_cancel_that_requires_nothing_is_told_what_to_cancel(
    new_mission: Callable[..., Any], shop: Catalog
) -> None:
    """What is there is looked up, and of several that fit somebody chooses."""
    mission = new_mission(shop, Router(shop))

    run = await mission.run("Stop my print order")

    first = run.plan.legs[0].leg_id
    asked = run.last(first)
    assert isinstance(asked, AskUser)
    assert [*asked.fields] == ["print_order_id"]
    assert "stop_print" not in [call.tool for call in run.calls(first)]


@pytest.mark.parametrize(
    ("text", "names", "meant"),
    [
        ("reserve the Otter", ["Otter", "Otter II"], ["Otter"]),
        ("reserve the Otter II", ["Otter", "Otter II"], ["Otter", "Otter II"]),
        ("cancel the meeting", ["Meeting", "Meeting with Ana"], ["Meeting", "Meeting with Ana"]),
        ("call Luna", ["Luna", "Luna"], ["Luna", "Luna"]),
    ],
)
def test_a_name_that_is_said_whole_is_no_longer_one(
    text: str, names: list[str], meant: list[str]
) -> None:
    """Where more is said, or all that is said is what each of them is, nothing is told apart."""
    items = [Item({"name": name}, frozenset({"name"})) for name in names]

    kept = called_as_said(items, text, frozenset(tokens("meet")))

    assert [item.fields["name"] for item in kept] == meant
