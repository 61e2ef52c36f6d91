"""Alternatives selected by a discriminator, in arguments, requests and answers."""

from typing import Any

import httpx
import pytest

from orchestrator.adapters.http.answer import Answer
from orchestrator.adapters.http.endpoint import Endpoints
from orchestrator.adapters.http.request import place_arguments
from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from tests.unit.adapters.http.one_operation import deviations

KIND: dict[str, Any] = {"type": "string"}
SCHEMAS: dict[str, Any] = {
    "Card": {
        "type": "object",
        "required": ["kind", "number"],
        "properties": {"kind": KIND, "number": {"type": "string"}},
    },
    # Without its discriminator every card would be a transfer too.
    "Transfer": {"type": "object", "properties": {"kind": KIND}},
    "Dog": {"allOf": [{"$ref": "#/components/schemas/Transfer"}, {"required": ["bark"]}]},
    "Own": {
        "type": "object",
        "required": ["own"],
        "properties": {"kind": {"type": "string", "enum": ["own.made", "own.kept"]}},
    },
    "Other": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["other"]}}},
    "Both": {
        "oneOf": [{"$ref": "#/components/schemas/Own"}, {"$ref": "#/components/schemas/Other"}],
        "discriminator": {"propertyName": "kind"},
    },
}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


class _Call:
    def __init__(self, schema: dict[str, Any], version: str) -> None:
        inner = {"type": "object", "properties": {"pay": schema}}
        content = {"application/json": {"schema": inner}}
        document: Any = {
            "openapi": version,
            "info": {"title": "t", "version": "1"},
            "servers": [{"url": "https://api.example.com"}],
            "paths": {
                "/a": {
                    "post": {
                        "operationId": "thing_do",
                        "x-orchet-tool": True,
                        "x-orchet-requires-confirmation": False,
                        "requestBody": {"required": True, "content": content},
                        "responses": {"200": {"description": "ok", "content": content}},
                    }
                }
            },
            "components": {"schemas": SCHEMAS},
        }
        self._catalog = Catalog.from_documents({"d": document})
        self._tool = self._catalog.tool("thing_do")
        self._contract = Endpoints({}).of(self._catalog, self._tool).contract

    def problems(self, pay: JsonObject) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
        """Return the problems of the arguments, of the request, and of an equal answer."""
        placement = place_arguments(self._tool, {"pay": pay}, body_required=True)
        headers = httpx.Headers({"content-type": "application/json"})
        return (
            check_arguments(self._catalog, self._tool, {"pay": pay}),
            self._contract.request_violations(placement),
            deviations(self._contract, Answer(200, headers, value={"pay": pay}, is_empty=False)),
        )


def _choice(*names: str, keyword: str = "oneOf", **mapping: str) -> dict[str, Any]:
    led = {"propertyName": "kind", **({"mapping": mapping} if mapping else {})}
    return {keyword: [_ref(name) for name in names], "discriminator": led}


BY_NAME = _choice("Card", "Transfer")
MAPPED = _choice("Card", "Transfer", card="#/components/schemas/Card", sepa="Transfer")
NESTED = _choice("Both", "Card", card="#/components/schemas/Card")


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize(
    ("schema", "pay"),
    [
        (BY_NAME, {"kind": "Card", "number": "1"}),
        (BY_NAME, {"kind": "Transfer"}),
        (MAPPED, {"kind": "card", "number": "1"}),
        (MAPPED, {"kind": "sepa", "number": "1"}),
        (_choice("Card", "Transfer", keyword="anyOf"), {"kind": "Transfer"}),
        (_choice("Card", "Dog"), {"kind": "Dog", "bark": 1}),
        (_choice("Own", "Other"), {"kind": "own.made", "own": 1}),
        (NESTED, {"kind": "card", "number": "1"}),
        (NESTED, {"kind": "other"}),
        (NESTED, {"kind": "own.kept", "own": 1}),
    ],
)
def test_the_named_alternative_is_the_one(
    version: str, schema: dict[str, Any], pay: JsonObject
) -> None:
    """It is selected by mapping, by name or by its schema, even if another would fit."""
    assert _Call(schema, version).problems(pay) == ((), (), None)


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize(
    ("schema", "pay"),
    [
        (BY_NAME, {"kind": "Card"}),
        (MAPPED, {"kind": "card"}),
        (_choice("Card", "Dog"), {"kind": "Dog"}),
        (_choice("Own", "Other"), {"kind": "own.made"}),
        (NESTED, {"kind": "own.kept"}),
    ],
)
def test_what_the_named_alternative_asks_is_asked(
    version: str, schema: dict[str, Any], pay: JsonObject
) -> None:
    """Problems are those of the selected alternative alone."""
    missing = {"Card": "number", "card": "number", "Dog": "bark"}.get(str(pay["kind"]), "own")

    arguments, request, answer = _Call(schema, version).problems(pay)

    assert arguments == request == (f"pay.{missing} is missing",)
    assert answer == f"pay.{missing} is missing"


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_value_that_leads_nowhere_is_named(version: str) -> None:
    """Requests with an unknown value are refused; answers may go beyond the document."""
    arguments, request, answer = _Call(MAPPED, version).problems({"kind": "cash"})

    assert arguments == request == ("pay.kind must be one of card, sepa",)
    assert answer is None


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_without_its_value_the_alternatives_are_as_they_are(version: str) -> None:
    """The property may be optional, and a mapping may lead out of the document."""
    outside = _choice("Card", "Other", card="cards.json#/Card", other="Other")

    assert _Call(_choice("Own", "Other"), version).problems({}) == ((), (), None)
    assert _Call(outside, version).problems({"kind": "other"}) == ((), (), None)
