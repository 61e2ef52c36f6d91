"""Validates requests against their document, naming the invalid fields."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from fnmatch import fnmatchcase
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from starlette.requests import Request

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.problems import RequestRefused, Violation
from orchestrator.sandbox.served_operations import ServedOperation, is_key
from orchestrator.sandbox.served_schemas import Schema, SchemaBook
from orchestrator.sandbox.wire_values import (
    ABSENT,
    RawQuery,
    Style,
    WireValues,
    essence_of,
    is_json_type,
    read_header,
    read_named,
    read_path,
    read_style,
)

_SLASH = re.compile("%2f", re.IGNORECASE)
_IGNORED_HEADERS = frozenset({"accept", "authorization", "content-type"})
"""OpenAPI ignores parameters of these names."""
_FORM = "application/x-www-form-urlencoded"
_STYLES = frozenset({"style", "explode", "allowReserved"})


class RequestValidator:
    """Validates requests of one document.

    It decodes texts by the document's styles and encodings itself: openapi-core, which the client
    uses, supports neither nested forms nor nested parameters.
    """

    def __init__(self, document: Document) -> None:
        self._book = document.book
        self._values = WireValues(document.book)
        self._declared: dict[tuple[str, str], list[Style]] = {}

    def arguments(
        self, operation: ServedOperation, request: Request, path: str, body: bytes
    ) -> dict[str, Any]:
        """Return the typed values of path, query and body, with the defaults of missing ones.

        `path` is the path after the document's prefix.

        Raises:
            RequestRefused: the request does not follow the document.
        """
        violations: list[Violation] = []
        given: dict[str, Any] = {}
        for declared in self._parameters(operation):
            name, schema = declared.name, declared.schema
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
        properties = operation.book.properties(operation.body_schema or {})
        resolved = {name: operation.book.resolve(schema) for name, schema in properties.items()}
        return {
            **(
                {
                    name: schema["default"]
                    for name, schema in resolved.items()
                    if "default" in schema
                }
            ),
            **given,
            **sent,
        }

    def _parameters(self, operation: ServedOperation) -> list[Style]:
        key = (operation.path, operation.method)
        if key not in self._declared:
            self._declared[key] = [
                read_style(raw)
                for raw in operation.raw["parameters"]
                if raw["in"] != "header" or raw["name"].lower() not in _IGNORED_HEADERS
            ]
        return self._declared[key]

    def _value(self, operation: ServedOperation, style: Style, request: Request, path: str) -> Any:
        location = style.location
        if location == "path":
            decoded = [text.replace("%2F", "/") for text in operation.path_values(path) or []]
            raw = request.scope.get("raw_path") or b""
            whole = raw.decode("latin-1").partition("?")[0]
            encoded = operation.path_values(whole[len(request.scope.get("root_path", "")) :]) or []
            if [unquote(text).replace("%2F", "/") for text in encoded] != decoded:
                encoded = [quote(text, safe="") for text in decoded]
            text = dict(zip(operation.path_names, encoded, strict=True)).get(style.name)
            return ABSENT if text is None else read_path(style, text, self._values)
        if location == "header":
            found = request.headers.get(style.name)
            return ABSENT if found is None else read_header(style, found, self._values)
        others = [
            one.name
            for one in self._parameters(operation)
            if one.location == location and one is not style
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
        if isinstance(schema, Mapping) and _is_schema_for(media_type, self._values.types(schema)):
            violations += self._breaches("body", schema, value)
        return value if isinstance(value, dict) else {"body": value}

    def _breaches(self, field: str, schema: Schema, value: Any) -> Iterator[Violation]:
        errors = self._book.errors_of_request(schema, value)
        for error in errors:
            inner = ".".join(str(part) for part in error.absolute_path)
            whole = ".".join(part for part in (field if field != "body" else "", inner) if part)
            alternatives = " or ".join(inner.message for inner in error.context or ())
            yield Violation(
                whole or "body", error.message + (alternatives and f" ({alternatives})")
            )


def _is_schema_for(media_type: str, types: set[str]) -> bool:
    """Return True if the schema applies to the parsed value: of XML, only the text is read."""
    essence = essence_of(media_type)
    is_structured = is_json_type(media_type) or essence.startswith("multipart/")
    is_text = not types or bool(types - {"object", "array", "null"})
    return is_structured or essence.endswith("/x-www-form-urlencoded") or is_text


def sent_path(scope: Mapping[str, Any]) -> str:
    """Return the path after the document's prefix, decoded except for encoded slashes.

    Args:
        scope: the ASGI scope of the request.
    """
    prefix = len(scope.get("root_path", ""))
    raw = (scope.get("raw_path") or b"").decode("latin-1").partition("?")[0]
    kept = "%2F".join(unquote(part) for part in _SLASH.split(raw))
    whole = kept if kept.replace("%2F", "/") == scope["path"] else scope["path"]
    return whole[prefix:] or "/"


def _refused(
    operation: ServedOperation, violations: list[Violation], *, status: int | None = None
) -> RequestRefused:
    detail = "; ".join(f"{violation.field}: {violation.reason}" for violation in violations)
    chosen = operation.refusal(422, 400) if status is None else status
    return RequestRefused(chosen, detail, violations=violations)


class UnreadableBody(ValueError):
    """A body that does not match its content type."""


class UnknownType(ValueError):
    """A content type that the operation does not accept."""


class _Part(NamedTuple):
    content_type: str
    content: bytes


def described_type(content: Mapping[str, Any], content_type: str) -> Mapping[str, Any]:
    """Return a document's entry for a media type: its own, else that of a matching range.

    Raises:
        UnknownType: there is no such entry.
    """
    essence = essence_of(content_type)
    exact = {essence_of(name): entry for name, entry in content.items()}
    for name in (essence, *sorted(exact, key=lambda name: name.count("*"))):
        if name in exact and fnmatchcase(essence, name):
            entry: Mapping[str, Any] = exact[name] or {}
            return entry
    offered = ", ".join(content)
    raise UnknownType(f"content type {essence!r} is not taken; send {offered}")


def read_body(book: SchemaBook, entry: Mapping[str, Any], content_type: str, data: bytes) -> Any:
    """Return the value of a body.

    Raises:
        UnreadableBody: the body does not match its content type.
    """
    schema: Schema = entry.get("schema") or {}
    values = WireValues(book)
    essence = essence_of(content_type)
    if is_json_type(content_type):
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UnreadableBody(f"the body is not valid {essence}") from error
    if essence == _FORM:
        return _form(values, entry, schema, data)
    if essence.startswith("multipart/"):
        parts: dict[str, list[_Part]] = {}
        head = b"Content-Type: " + content_type.encode() + b"\r\n\r\n"
        message: Any = BytesParser(policy=HTTP).parsebytes(head + data)
        if not message.is_multipart():
            if data.strip().startswith(b"--"):
                return {}
            raise UnreadableBody("the body has no parts between the boundaries that it names")
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            if name is not None:
                content = part.get_payload(decode=True) or b""
                parts.setdefault(str(name), []).append(_Part(part.get_content_type(), content))
        return {
            name: _field(values, values.property(schema, name), sent)
            for name, sent in parts.items()
        }
    text = _text(data)
    return values.scalar(schema, text) if values.types(schema) - {"object", "array"} else text


def _form(values: WireValues, entry: Mapping[str, Any], schema: Schema, data: bytes) -> Any:
    try:
        query = RawQuery.of(data.decode())
    except UnicodeDecodeError as error:
        raise UnreadableBody("the body is not text in UTF-8") from error
    encodings = entry.get("encoding") or {}
    declared = values.names(schema)
    roots = dict.fromkeys([*declared, *(name.partition("[")[0] for name, _ in query.pairs)])
    found: dict[str, Any] = {}
    taken: set[str] = set()
    for name in roots:
        field = values.property(schema, name)
        encoding = encodings.get(name) or {}
        is_styled = not _STYLES.isdisjoint(encoding)
        style = str(encoding.get("style") or "form")
        explode = encoding.get("explode", style == "form")
        own = Style(name, style, bool(explode), field)
        if not is_styled:
            # Without a style an object is one JSON text, not several fields.
            own = Style(name, "deepObject", True, field)
        claimed = [other for other in declared if other != name]
        value = ABSENT if name in taken else read_named(own, query, claimed, values)
        if value is not ABSENT:
            found[name] = value
            if is_styled and style == "form" and explode and isinstance(value, dict):
                taken |= value.keys()
    return found


def _field(values: WireValues, schema: Schema, parts: list[_Part]) -> Any:
    is_list = "array" in values.types(schema)
    items = values.items(schema) if is_list else schema
    read = [_one(values, items, part) for part in parts]
    if is_list and not (len(read) == 1 and isinstance(read[0], list)):
        return read
    return read[-1]


def _one(values: WireValues, schema: Schema, part: _Part) -> Any:
    if is_json_type(part.content_type):
        try:
            return json.loads(part.content)
        except (ValueError, RecursionError) as error:
            raise UnreadableBody("a part is not the JSON that it says it is") from error
    return values.scalar(schema, _text(part.content))


def _text(data: bytes) -> str:
    """Decode text; other data becomes a `data:` URL."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"data:;base64,{base64.b64encode(data).decode()}"
