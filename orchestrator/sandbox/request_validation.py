"""Holds each request against its document and says which field is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from jsonschema.exceptions import ValidationError as SchemaError
from starlette.requests import Request

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.problems import RequestRefused, Violation
from orchestrator.sandbox.runtime_expressions import is_key
from orchestrator.sandbox.served_operations import ServedOperation
from orchestrator.sandbox.served_schemas import Schema
from orchestrator.sandbox.wire_bodies import (
    UnknownType,
    UnreadableBody,
    described_type,
    essence_of,
    is_json,
    read_body,
)
from orchestrator.sandbox.wire_parameters import (
    ABSENT,
    RawQuery,
    Style,
    read_header,
    read_named,
    read_path,
    read_style,
)
from orchestrator.sandbox.wire_values import WireValues

_SLASH = re.compile("%2f", re.IGNORECASE)
_IGNORED_HEADERS = frozenset({"accept", "authorization", "content-type"})
"""OpenAPI: parameters of these names are ignored."""


class _Declared(NamedTuple):
    """One parameter as it is declared."""

    location: str
    required: bool
    style: Style


class RequestValidator:
    """Validates requests of one document.

    The texts are read here, by the document's styles and encodings: openapi-core, which the product
    asks, knows neither nested forms nor nested parameters.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._book = document.book
        self._values = WireValues(document.book)
        self._declared: dict[tuple[str, str], list[_Declared]] = {}

    def arguments(
        self, operation: ServedOperation, request: Request, path: str, body: bytes
    ) -> dict[str, Any]:
        """The typed values of path, query and body, with the defaults of what was left out.

        `path` is what follows the document's prefix.

        Raises:
            RequestRefused: the request does not follow the document.
        """
        violations: list[Violation] = []
        given: dict[str, Any] = {}
        for declared in self._parameters(operation):
            name, schema = declared.style.name, declared.style.schema
            value = self._value(operation, declared, request, path)
            if value is not ABSENT:
                violations += self._breaches(name, schema, value)
                if declared.location != "cookie" and not is_key(name):
                    given[name] = value
            elif declared.required:
                violations.append(Violation(name, f"is required in the {declared.location}"))
            elif "default" in (resolved := self._book.resolve(schema)):
                given[name] = resolved["default"]
        sent = self._body(operation, request, body, violations)
        if violations:
            raise _refused(operation, violations)
        return {**_body_defaults(operation), **given, **sent}

    def _parameters(self, operation: ServedOperation) -> list[_Declared]:
        key = (operation.path, operation.method)
        if key not in self._declared:
            self._declared[key] = list(self._read_parameters(operation))
        return self._declared[key]

    def _read_parameters(self, operation: ServedOperation) -> Iterator[_Declared]:
        item = self._book.follow(self._document.raw["paths"][operation.path])
        written = [*(item.get("parameters") or ()), *(operation.raw.get("parameters") or ())]
        # The operation's own declaration replaces the path's: the last one of a name wins.
        unique = {(raw["in"], raw["name"]): raw for raw in map(self._book.follow, written)}
        for (location, name), raw in unique.items():
            if location == "header" and str(name).lower() in _IGNORED_HEADERS:
                continue
            schema = raw.get("schema")
            content: Mapping[str, Any] = raw.get("content") or {}
            described: Mapping[str, Any] = next(iter(content.values()), {})
            chosen: Schema = schema if isinstance(schema, Mapping) else described.get("schema", {})
            required = location == "path" or raw.get("required") is True
            yield _Declared(location, required, read_style(raw, chosen))

    def _value(
        self, operation: ServedOperation, declared: _Declared, request: Request, path: str
    ) -> Any:
        style, location = declared.style, declared.location
        if location == "path":
            text = _path_texts(operation, request, path).get(style.name)
            return ABSENT if text is None else read_path(style, text, self._values)
        if location == "header":
            found = request.headers.get(style.name)
            return ABSENT if found is None else read_header(style, found, self._values)
        others = [
            one.style.name
            for one in self._parameters(operation)
            if one.location == location and one is not declared
        ]
        if location == "cookie":
            text = "; ".join(request.headers.getlist("cookie"))
            query = RawQuery.of(text, ";", is_form=False)
        else:
            query = RawQuery.of(request.scope.get("query_string", b"").decode("latin-1"))
        return read_named(style, query, others, self._values)

    def _body(
        self,
        operation: ServedOperation,
        request: Request,
        body: bytes,
        violations: list[Violation],
    ) -> dict[str, Any]:
        described = self._book.follow(operation.raw.get("requestBody") or {})
        if not body:
            if described.get("required") is True:
                violations.append(Violation("body", "is required"))
            return {}
        content = described.get("content") or {}
        if not content:
            return {}
        media_type = request.headers.get("content-type", "application/octet-stream")
        try:
            entry = described_type(content, media_type)
            value = read_body(self._book, entry, media_type, body)
        except UnknownType as error:
            raise _refused(operation, [Violation("body", str(error))], status=415) from error
        except UnreadableBody as error:
            violations.append(Violation("body", str(error)))
            return {}
        schema = entry.get("schema")
        if isinstance(schema, Mapping) and _speaks(media_type, self._values.types(schema)):
            violations += self._breaches("body", schema, value)
        return value if isinstance(value, dict) else {"body": value}

    def _breaches(self, field: str, schema: Schema, value: Any) -> Iterator[Violation]:
        yield from _schema_violations(field, self._book.errors_of_request(schema, value))


def _speaks(media_type: str, types: set[str]) -> bool:
    """Whether the schema is of what was read: of XML and its like only the text was."""
    essence = essence_of(media_type)
    is_structured = is_json(media_type) or essence.startswith("multipart/")
    is_text = not types or bool(types - {"object", "array", "null"})
    return is_structured or essence.endswith("/x-www-form-urlencoded") or is_text


def sent_path(scope: Mapping[str, Any]) -> str:
    """What follows the document's prefix, decoded but for its encoded slashes: they divide nothing.

    Args:
        scope: of the request, by ASGI.
    """
    prefix = len(scope.get("root_path", ""))
    raw = (scope.get("raw_path") or b"").decode("latin-1").partition("?")[0]
    kept = "%2F".join(unquote(part) for part in _SLASH.split(raw))
    whole = kept if kept.replace("%2F", "/") == scope["path"] else scope["path"]
    return whole[prefix:] or "/"


def _path_texts(operation: ServedOperation, request: Request, path: str) -> dict[str, str]:
    """What stands for each parameter of the path, percent-encoded as it came where that is known.

    A delimiter inside of an element is told from one between elements by its encoding alone.
    """
    decoded = [text.replace("%2F", "/") for text in operation.path_values(path) or []]
    raw = request.scope.get("raw_path") or b""
    whole = raw.decode("latin-1").partition("?")[0]
    encoded = operation.path_values(whole[len(request.scope.get("root_path", "")) :]) or []
    if [unquote(text).replace("%2F", "/") for text in encoded] != decoded:
        encoded = [quote(text, safe="") for text in decoded]
    return dict(zip(operation.path_names, encoded, strict=True))


def _refused(
    operation: ServedOperation, violations: list[Violation], *, status: int | None = None
) -> RequestRefused:
    detail = "; ".join(f"{violation.field}: {violation.reason}" for violation in violations)
    chosen = operation.refusal(422, 400) if status is None else status
    return RequestRefused(chosen, detail, violations=violations)


def _schema_violations(field: str, errors: Iterable[SchemaError]) -> Iterator[Violation]:
    for error in errors:
        inner = ".".join(str(part) for part in error.absolute_path)
        whole = ".".join(part for part in (field if field != "body" else "", inner) if part)
        alternatives = " or ".join(inner.message for inner in error.context or ())
        yield Violation(whole or "body", error.message + (alternatives and f" ({alternatives})"))


def _body_defaults(operation: ServedOperation) -> dict[str, Any]:
    properties = operation.book.properties(operation.body_schema or {})
    resolved = {name: operation.book.resolve(schema) for name, schema in properties.items()}
    return {name: schema["default"] for name, schema in resolved.items() if "default" in schema}
