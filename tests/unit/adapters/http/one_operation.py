"""Documents of one operation, for tests of what is sent to it and answered by it."""

from typing import Any

from orchestrator.catalog.catalog import Catalog


def document_of(
    operation: dict[str, Any],
    *,
    path: str = "/a",
    method: str = "post",
    version: str = "3.1.0",
    server: str = "https://api.example.com",
    schemas: dict[str, Any] | None = None,
    others: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a document with this operation as the tool `thing`, and `others` as further paths."""
    tool = {
        "operationId": "thing",
        "x-orchet-tool": True,
        "responses": {"200": {"description": "ok"}},
        **operation,
    }
    return {
        "openapi": version,
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": server}],
        "paths": {path: {method: tool}, **(others or {})},
        "components": {"schemas": schemas or {}},
    }


def catalog_of(operation: dict[str, Any], **options: Any) -> Catalog:
    """Return the catalog of `document_of`."""
    return Catalog.from_documents({"d": document_of(operation, **options)})
