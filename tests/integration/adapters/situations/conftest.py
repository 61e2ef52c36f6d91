"""A document with an operation for each situation that the modules above do not cover."""

from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject

TEXT: JsonObject = {"type": "string"}
SOMETHING: JsonObject = {"type": "object", "required": ["ok"]}


def _operation(method: str, name: str, **more: Any) -> dict[str, Any]:
    read = method in ("get", "head")
    return {
        method: {
            "operationId": name,
            "x-orchet-tool": True,
            **({} if read else {"x-orchet-requires-confirmation": "structured-order"}),
            "responses": {"200": _answer("application/json", SOMETHING)},
            **more,
        }
    }


def _answer(content_type: str, schema: JsonObject) -> dict[str, Any]:
    return {"description": "done", "content": {content_type: {"schema": schema}}}


def _parameter(location: str, name: str, schema: JsonObject, **more: Any) -> dict[str, Any]:
    return {"in": location, "name": name, "schema": schema, **more}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Situations", "version": "1"},
    "servers": [
        {
            "url": "http://127.0.0.1:{port}",
            "variables": {"port": {"default": "1"}},
        }
    ],
    "paths": {
        "/read": _operation("get", "thing_read"),
        "/head": _operation("head", "thing_probe"),
        "/write": _operation("post", "thing_write"),
        "/none": _operation("get", "thing_none", responses={"200": {"description": "done"}}),
        "/text": _operation(
            "get", "thing_text", responses={"200": _answer("text/plain; charset=utf-8", TEXT)}
        ),
        "/xml": _operation(
            "get", "thing_xml", responses={"200": _answer("application/xml", SOMETHING)}
        ),
        "/pdf": _operation("get", "thing_pdf", responses={"200": _answer("application/pdf", TEXT)}),
        "/versioned": _operation(
            "get",
            "thing_versioned",
            responses={
                "200": {
                    "description": "done",
                    "content": {
                        "application/json; version=1": {"schema": SOMETHING},
                        "Application/JSON; version=2": {"schema": {"type": "array"}},
                    },
                }
            },
        ),
        "/dates": _operation(
            "get",
            "thing_dates",
            parameters=[
                _parameter("query", "day", {"type": "string", "format": "date"}),
                _parameter("query", "at", {"type": "string", "format": "date-time"}),
                _parameter("query", "on", {"type": "boolean"}),
                _parameter("query", "flags", {"type": "array", "items": {"type": "boolean"}}),
                _parameter("query", "none", {"type": ["string", "null"]}),
                _parameter("query", "count", {"type": "integer"}),
                _parameter(
                    "query", "spaced", {"type": "array"}, style="spaceDelimited", explode=False
                ),
                _parameter(
                    "query", "piped", {"type": "array"}, style="pipeDelimited", explode=False
                ),
                _parameter("header", "X-Tags", {"type": "array", "items": TEXT}),
                _parameter("header", "Host", TEXT),
                _parameter("header", "X-Request-Id", TEXT),
            ],
        ),
        "/optional": _operation(
            "post",
            "thing_optional",
            requestBody={
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "properties": {"a": TEXT, "b": {"type": ["string", "null"]}},
                        }
                    }
                }
            },
        ),
        "/required": _operation(
            "post",
            "thing_required",
            requestBody={
                "required": True,
                "content": {
                    "application/json": {"schema": {"type": "object", "properties": {"a": TEXT}}}
                },
            },
        ),
        "/keyed": {
            "get": {
                **_operation(
                    "get",
                    "thing_keyed",
                    parameters=[
                        _parameter(
                            "query", "filter", {"type": "object", "additionalProperties": TEXT}
                        )
                    ],
                )["get"],
                "security": [{"key": []}],
            }
        },
    },
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "key"}}},
}


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """An operation for each situation."""
    return Catalog.from_documents({"doc": DOCUMENT})


@pytest.fixture(scope="session")
def credentials() -> dict[str, str]:
    return {"doc__key": "real-key"}
