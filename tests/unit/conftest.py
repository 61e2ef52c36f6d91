"""What unit tests share: documents and their catalog, a moment, and parsing a command line."""

import copy
import gc
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from unicodedata import category

import pytest
import typer.main
from pydantic import BaseModel, JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.cli import app
from orchestrator.core.errors import NoWorker
from orchestrator.routing.router import Router
from tests.shipped import shipped_catalog

_ORDER = {
    "type": "object",
    "required": ["order_id", "status"],
    "properties": {
        "order_id": {"type": "string"},
        "status": {"type": "string", "enum": ["open", "cancelled"]},
        "client_reference": {"type": "string"},
        "price": {
            "type": "object",
            "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
        },
    },
}
_KEY = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
_REFERENCE = {"type": "string", "maxLength": 200, "description": "Your own reference."}


def _answer(status: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {status: {"description": "Done.", "content": {"application/json": {"schema": schema}}}}


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


_SHOP: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1.0.0"},
    "servers": [
        {"url": "http://{host}/shop", "variables": {"host": {"default": "127.0.0.1:8700"}}}
    ],
    "paths": {
        "/orders": {
            "post": {
                "operationId": "shop_place_order",
                "tags": ["shop"],
                "summary": "Order an article.",
                "description": "Use this when an article was chosen. Returns the order.",
                "x-orchet-tool": True,
                "x-orchet-requires-confirmation": "structured-order",
                "x-orchet-pii-required": ["address"],
                "x-orchet-cancels": "shop_cancel_order",
                "x-orchet-compensation-args": {
                    "order_id": "$response.body#/order_id",
                    "client_reference": "$request.body#/client_reference",
                },
                "x-orchet-compensation-probe": {
                    "operationId": "shop_find_order",
                    "args": {"client_reference": "$request.body#/client_reference"},
                },
                "parameters": [_KEY],
                "requestBody": _body(
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["article_id", "address"],
                        "properties": {
                            "article_id": {
                                "type": "string",
                                "maxLength": 40,
                                "description": "The article.",
                            },
                            "address": {
                                "type": "string",
                                "maxLength": 200,
                                "description": "Where to send it.",
                            },
                            "client_reference": _REFERENCE,
                        },
                    }
                ),
                "responses": _answer("201", _ORDER),
            },
            "get": {
                "operationId": "shop_find_order",
                "tags": ["shop"],
                "summary": "Find an order by your reference.",
                "description": "Use this when only your own reference is known. Returns the order.",
                "x-orchet-tool": True,
                "parameters": [
                    {
                        "name": "client_reference",
                        "in": "query",
                        "required": True,
                        "description": "Your own reference.",
                        "schema": {"type": "string", "maxLength": 200},
                    }
                ],
                "responses": {
                    **_answer("200", _ORDER),
                    "404": {"description": "There is no such order."},
                },
            },
        },
        "/cancel": {
            "post": {
                "operationId": "shop_cancel_order",
                "tags": ["shop"],
                "summary": "Cancel an order.",
                "description": "Use this when an order is not wanted any more. Returns the order.",
                "x-orchet-tool": True,
                "x-orchet-cancel-for": "shop_place_order",
                "x-orchet-requires-confirmation": False,
                "parameters": [_KEY],
                "requestBody": _body(
                    {
                        "type": "object",
                        "anyOf": [{"required": ["order_id"]}, {"required": ["client_reference"]}],
                        "properties": {
                            "order_id": {
                                "type": "string",
                                "maxLength": 40,
                                "description": "The order.",
                            },
                            "client_reference": _REFERENCE,
                        },
                    }
                ),
                "responses": _answer("200", _ORDER),
            }
        },
    },
}


@pytest.fixture(scope="session")
def shipped() -> Catalog:
    """The catalog of the documents that ship, compiled once for all tests."""
    return shipped_catalog()


@pytest.fixture(scope="session")
def router(shipped: Catalog) -> Router:
    """A router over these, with the default profile."""
    return Router(shipped)


def _refusal(check: Callable[[], object]) -> Exception | None:
    try:
        check()
    except Exception as refused:
        return refused
    return None


@pytest.fixture
def refusal() -> Callable[[Callable[[], object]], Exception | None]:
    """What a check raises; None when it lets pass what it is given."""
    return _refusal


@pytest.fixture
def thawed() -> Iterator[None]:
    """Gives the collector back, after a worker was made, what it is then told to pass by."""
    yield
    gc.unfreeze()


@pytest.fixture
def frozen(thawed: None) -> None:
    """Spares the full collections of workers that are made here all that other tests hold."""
    gc.freeze()


@pytest.fixture
def shop() -> dict[str, Any]:
    """A valid document with three tools, free to be changed by the test."""
    return copy.deepcopy(_SHOP)


@pytest.fixture
def one_operation() -> Callable[..., dict[str, Any]]:
    """Makes a document of one operation: a GET named `thing_do` unless the test says otherwise."""

    def make(
        *, method: str = "get", path: str = "/thing", openapi: str = "3.1.0", **keywords: Any
    ) -> dict[str, Any]:
        components = keywords.pop("components", {})
        operation = {
            "operationId": "thing_do",
            "x-orchet-tool": True,
            "responses": {"204": {"description": "Done."}},
            **{name.replace("__", "-"): value for name, value in keywords.items()},
        }
        return {
            "openapi": openapi,
            "info": {"title": "Thing", "version": "1"},
            "servers": [{"url": "https://things.example"}],
            "paths": {path: {method: operation}},
            "components": components,
        }

    return make


@pytest.fixture
def json_body() -> Callable[..., dict[str, Any]]:
    """Makes a requestBody of one JSON schema."""

    def make(schema: Any, *, required: bool = True) -> dict[str, Any]:
        return {"required": required, "content": {"application/json": {"schema": schema}}}

    return make


def _parse(command: list[str]) -> None:
    program, *arguments = command
    assert program == "orchestrator"
    current: Any = typer.main.get_command(app)
    while hasattr(current, "resolve_command"):
        context = current.make_context(program, list(arguments))
        # A group may rewrite its words while it parses them; what it then runs is kept here.
        words = [*context._protected_args, *context.args]
        program, current, arguments = current.resolve_command(context, words)
    current.make_context(program, list(arguments))


@pytest.fixture
def parse_command() -> Callable[[list[str]], None]:
    """Parses `["orchestrator", ...]` as the CLI would; raises what the CLI would refuse it with."""
    return _parse


@pytest.fixture
def now() -> datetime:
    """A Saturday evening."""
    return datetime(2026, 11, 21, 21)


HOSTILE = (
    "\x1b[2J\x1b]8;;https://evil.example\x07 \x9b31m\x7f \u202e1 EUR\u2066 \u200b\u2028"
    "\r\nPrice 1 EUR [bold red]x[/bold red] [link=https://evil.example]y[/link] :smile: \\"
    "\n\n# Price\n<img src=x> **b** `c` | ![z](https://evil.example) &#8238; \U000e0041\ufeff"
)
"""What a provider may answer: commands to a terminal, hidden marks, lines of its own, markup."""


def _hostile(wanted: Any) -> Any:
    """A value of this annotation in which every text is hostile."""
    origin, inside = get_origin(wanted), get_args(wanted)
    if wanted is JsonValue:
        return {HOSTILE: [HOSTILE, 1]}
    if origin is Annotated:
        is_code = any("[A-Z]{3}" in str(note) for note in inside[1:])
        return "EUR" if is_code else _hostile(inside[0])
    if origin is Literal:
        return inside[0]
    if origin in (Union, UnionType):
        return _hostile(inside[0])
    if origin is dict or origin is Mapping:
        return {_hostile(inside[0]): _hostile(inside[1])}
    if isinstance(origin, type) and issubclass(origin, tuple | list | Sequence | AsyncIterator):
        return (tuple if origin is tuple else list)([_hostile(inside[0])])
    return _hostile_scalar(wanted)


def _hostile_scalar(wanted: Any) -> Any:
    plain = {str: HOSTILE, int: 1, float: 0.5, bool: False, Decimal: Decimal(100)}
    plain |= {Any: HOSTILE, type(None): None}
    if wanted in plain:
        return plain[wanted]
    if wanted is datetime:
        return datetime(2026, 11, 21, tzinfo=UTC)
    if wanted is timedelta:
        return timedelta(hours=1)
    if issubclass(wanted, Enum):
        return next(iter(wanted))
    if issubclass(wanted, BaseModel):
        hints = get_type_hints(wanted, include_extras=True)
        return wanted.model_construct(**{n: _hostile(hints[n]) for n in wanted.model_fields})
    if issubclass(NoWorker, wanted):
        return NoWorker(HOSTILE)
    raise TypeError(f"no hostile value of {wanted}")


@pytest.fixture
def hostile() -> Callable[[Any], Any]:
    """Makes a value of a type, a model above all, in which every text is a provider's worst."""
    return _hostile


@pytest.fixture
def hostile_text() -> str:
    """A provider's worst."""
    return HOSTILE


def _hidden(shown: str) -> list[str]:
    categories = ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")
    return sorted({ascii(c) for c in shown if c != "\n" and category(c) in categories})


@pytest.fixture
def hidden() -> Callable[[str], list[str]]:
    """The characters of a text that nobody sees, line ends apart."""
    return _hidden
