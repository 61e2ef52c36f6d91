"""A small document of a bookshop, and sandboxes that serve it."""

import copy
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
import yaml

from orchestrator.sandbox import EffectLedger, FaultPlan, create_app

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

_SHOP = """
openapi: 3.1.0
info: {title: Shop, version: '1'}
servers:
  - url: http://{host}:{port}/shop
    variables: {host: {default: 127.0.0.1}, port: {default: '8700'}}
paths:
  /books:
    get:
      operationId: book_search
      parameters:
        - {name: author, in: query, required: true, schema: {type: string, minLength: 2}}
        - {name: max_price, in: query, schema: {type: number}}
        - {name: limit, in: query, schema: {type: integer, minimum: 1}}
      responses:
        '200':
          description: Books.
          content:
            application/json:
              schema:
                type: object
                required: [books]
                properties:
                  total: {type: integer}
                  books:
                    type: array
                    items:
                      type: object
                      required: [book_id, author, price]
                      properties:
                        book_id: {type: string, pattern: '^B-[0-9]{6}$'}
                        author: {type: string}
                        title: {type: string}
                        price: {$ref: '#/components/schemas/CurrencyAmount'}
  /orders:
    get:
      operationId: order_list
      parameters:
        - {name: order_status, in: query, schema: {type: string}}
      responses:
        '200':
          description: Orders.
          content:
            application/json:
              schema:
                type: array
                items: {$ref: '#/components/schemas/Order'}
    post:
      operationId: order_place
      x-orchet-cancels: order_cancel
      x-orchet-compensation-args:
        order_id: $response.body#/order_id
        client_reference: $request.body#/client_reference
      parameters:
        - {$ref: '#/components/parameters/Key'}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              required: [book_id]
              properties:
                book_id: {type: string}
                copies: {type: integer, minimum: 1, default: 1}
                note: {type: string, maxLength: 20}
                client_reference: {type: string, maxLength: 200}
      responses:
        '201': {$ref: '#/components/responses/Order'}
  /orders/{order_id}:
    get:
      operationId: order_get
      parameters:
        - {name: order_id, in: path, required: true, schema: {type: string}}
      responses:
        '200': {$ref: '#/components/responses/Order'}
    delete:
      operationId: order_drop
      parameters:
        - {name: order_id, in: path, required: true, schema: {type: string}}
      responses:
        '204': {description: Gone.}
  /orders/{order_id}/approval:
    put:
      operationId: order_approve
      parameters:
        - {name: order_id, in: path, required: true, schema: {type: string}}
      responses:
        '200': {$ref: '#/components/responses/Order'}
  /orders/{order_id}/shipping:
    post:
      operationId: order_ship
      x-orchet-cancels: order_recall
      parameters:
        - {name: order_id, in: path, required: true, schema: {type: string}}
      responses:
        '201': {$ref: '#/components/responses/Order'}
    delete:
      operationId: order_recall
      x-orchet-cancel-for: order_ship
      parameters:
        - {name: order_id, in: path, required: true, schema: {type: string}}
      responses:
        '200': {$ref: '#/components/responses/Order'}
  /orders/find:
    get:
      operationId: order_find
      parameters:
        - {name: client_reference, in: query, required: true, schema: {type: string}}
      responses:
        '200': {$ref: '#/components/responses/Order'}
  /cancellations:
    post:
      operationId: order_cancel
      x-orchet-cancel-for: order_place
      parameters:
        - {$ref: '#/components/parameters/Key'}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              anyOf: [{required: [order_id]}, {required: [client_reference]}]
              properties:
                order_id: {type: string}
                client_reference: {type: string}
      responses:
        '200':
          description: Cancelled.
          content:
            application/json:
              schema:
                type: object
                required: [order_id, status]
                properties:
                  order_id: {type: string}
                  status: {type: string, enum: [cancelled]}
                  refund: {$ref: '#/components/schemas/CurrencyAmount'}
  /vouchers:
    post:
      operationId: voucher_create
      security: [{token: []}]
      responses:
        '201':
          description: A voucher.
          content:
            application/json:
              schema:
                type: object
                required: [voucher_id]
                properties:
                  voucher_id: {type: string, format: uuid}
components:
  securitySchemes:
    token: {type: http, scheme: bearer}
  parameters:
    Key: {name: Idempotency-Key, in: header, schema: {type: string, minLength: 1, maxLength: 255}}
  responses:
    Order:
      description: The order.
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Order'}
  schemas:
    CurrencyAmount:
      type: object
      required: [amount, currency]
      properties:
        amount: {type: number, minimum: 0}
        currency: {type: string, pattern: '^[A-Z]{3}$'}
    Order:
      type: object
      required: [order_id, status, price]
      properties:
        order_id: {type: string, examples: [ord_1a2b]}
        status: {type: string, enum: [cancelled, placed, shipped, approved]}
        client_reference: {type: string}
        author: {type: string}
        copies: {type: integer}
        note: {type: string}
        price: {$ref: '#/components/schemas/CurrencyAmount'}
        created_at: {type: string, format: date-time}
"""

_PARSED: dict[str, Any] = yaml.safe_load(_SHOP)


@pytest.fixture
def shop() -> dict[str, Any]:
    """The document, free to be changed by the test."""
    return copy.deepcopy(_PARSED)


@pytest.fixture
def ledger() -> Iterator[EffectLedger]:
    with EffectLedger() as opened:
        yield opened


@pytest.fixture
def faults() -> FaultPlan:
    return FaultPlan(seed=7)


@pytest.fixture
def open_app(shop: dict[str, Any], ledger: EffectLedger, faults: FaultPlan) -> Callable[..., Any]:
    """Opens a client of an app in this process; keywords go to create_app."""

    @asynccontextmanager
    async def opener(**options: Any) -> AsyncIterator[httpx.AsyncClient]:
        settings = {"ledger": ledger, "faults": faults, "clock": lambda: NOON, **options}
        documents = settings.pop("documents", {"shop": shop})
        app = create_app(documents, **settings)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://sandbox") as client:
            yield client

    return opener


@pytest.fixture
async def http(open_app: Callable[..., Any]) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the shop."""
    async with open_app() as client:
        yield client


@pytest.fixture
async def book_id(http: httpx.AsyncClient) -> str:
    """A book that a search gave."""
    answer = await http.get("/shop/books", params={"author": "Eco"})
    found: str = answer.json()["books"][0]["book_id"]
    return found
