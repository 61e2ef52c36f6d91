"""Validates requests against their document, naming the invalid fields."""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, unquote

from starlette.requests import Request

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.problems import RequestRefused, Violation
from orchestrator.sandbox.served_operations import ServedOperation, is_key
from orchestrator.sandbox.served_schemas import Schema
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
_FORM = "application/x-www-form-urlencoded"
_STYLES = frozenset({"style", "explode", "allowReserved"})


class _UnreadableBody(ValueError):
    """A body that does not match its content type."""


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
            elif "default" in (found := self._book.resolve(schema)):
                given[name] = found["default"]
        sent = self._body(operation, request, body, violations)
        if violations:
            raise _refused(operation, violations)
        properties = operation.book.properties(operation.body_schema or {})
        resolved = {name: operation.book.resolve(schema) for name, schema in properties.items()}
        defaults = {n: schema["default"] for n, schema in resolved.items() if "default" in schema}
        return {**defaults, **given, **sent}

    def _parameters(self, operation: ServedOperation) -> list[Style]:
        key = (operation.path, operation.method)
        if key not in self._declared:
            self._declared[key] = [
                read_style(raw)
                for raw in operation.raw["parameters"]
                # OpenAPI ignores parameters of these names.
                if raw["in"] != "header"
                or raw["name"].lower() not in ("accept", "authorization", "content-type")
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
        content = described.get("content") or {}
        if not body and described.get("required") is True:
            violations.append(Violation("body", "is required"))
        if not body or not content:
            return {}
        media_type = request.headers.get("content-type", "application/octet-stream")
        essence = essence_of(media_type)
        # The document's entry for the media type: its own, else that of a matching range.
        entries = {essence_of(name): entry or {} for name, entry in content.items()}
        ordered = (essence, *sorted(entries, key=lambda name: name.count("*")))
        entry = next(
            (entries[n] for n in ordered if n in entries and fnmatchcase(essence, n)), None
        )
        if entry is None:
            why = f"content type {essence!r} is not taken; send {', '.join(content)}"
            raise _refused(operation, [Violation("body", why)], status=415)
        try:
            value = self._parsed(entry, media_type, body)
        except _UnreadableBody as error:
            violations.append(Violation("body", str(error)))
            return {}
        schema = entry.get("schema")
        if isinstance(schema, Mapping):
            types = self._values.types(schema)
            # A schema applies to the parsed value: of XML, only the text is read.
            is_parsed = essence == _FORM or essence.startswith("multipart/")
            is_text = not types or bool(types - {"object", "array", "null"})
            if is_parsed or is_text or is_json_type(media_type):
                violations += self._breaches("body", schema, value)
        return value if isinstance(value, dict) else {"body": value}

    def _parsed(self, entry: Mapping[str, Any], content_type: str, data: bytes) -> Any:
        schema: Schema = entry.get("schema") or {}
        essence = essence_of(content_type)
        if is_json_type(content_type):
            try:
                return json.loads(data)
            except (ValueError, RecursionError) as error:
                raise _UnreadableBody(f"the body is not valid {essence}") from error
        if essence == _FORM:
            return self._form(entry, schema, data)
        if not essence.startswith("multipart/"):
            text, types = _text(data), self._values.types(schema)
            return self._values.scalar(schema, text) if types - {"object", "array"} else text
        head = b"Content-Type: " + content_type.encode() + b"\r\n\r\n"
        message: Any = BytesParser(policy=HTTP).parsebytes(head + data)
        if not message.is_multipart():
            if data.strip().startswith(b"--"):
                return {}
            raise _UnreadableBody("the body has no parts between the boundaries that it names")
        parts: dict[str, list[Any]] = defaultdict(list)
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            if name is not None:
                parts[str(name)].append(part)
        return {name: self._field(schema, name, sent) for name, sent in parts.items()}

    def _form(self, entry: Mapping[str, Any], schema: Schema, data: bytes) -> Any:
        values = self._values
        try:
            query = RawQuery.of(data.decode())
        except UnicodeDecodeError as error:
            raise _UnreadableBody("the body is not text in UTF-8") from error
        encodings = entry.get("encoding") or {}
        declared = values.names(schema)
        roots = dict.fromkeys([*declared, *(name.partition("[")[0] for name, _ in query.pairs)])
        found: dict[str, Any] = {}
        taken: set[str] = set()
        for name in roots:
            encoding = encodings.get(name) or {}
            is_styled = not _STYLES.isdisjoint(encoding)
            # Without a style an object is one JSON text, not several fields.
            style = str(encoding.get("style") or "form") if is_styled else "deepObject"
            explode = bool(encoding.get("explode", style == "form")) or not is_styled
            own = Style(name, style, explode, values.property(schema, name))
            claimed = [other for other in declared if other != name]
            value = ABSENT if name in taken else read_named(own, query, claimed, values)
            if value is not ABSENT:
                found[name] = value
                if is_styled and style == "form" and explode and isinstance(value, dict):
                    taken |= value.keys()
        return found

    def _field(self, schema: Schema, name: str, parts: list[Any]) -> Any:
        own = self._values.property(schema, name)
        is_list = "array" in self._values.types(own)
        items = self._values.items(own) if is_list else own
        read = []
        for part in parts:
            content = part.get_payload(decode=True) or b""
            if not is_json_type(part.get_content_type()):
                read.append(self._values.scalar(items, _text(content)))
                continue
            try:
                read.append(json.loads(content))
            except (ValueError, RecursionError) as error:
                raise _UnreadableBody("a part is not the JSON that it says it is") from error
        if is_list and not (len(read) == 1 and isinstance(read[0], list)):
            return read
        return read[-1]

    def _breaches(self, field: str, schema: Schema, value: Any) -> Iterator[Violation]:
        errors = self._book.errors_of_request(schema, value)
        for error in errors:
            inner = ".".join(str(part) for part in error.absolute_path)
            whole = ".".join(part for part in (field if field != "body" else "", inner) if part)
            alternatives = " or ".join(inner.message for inner in error.context or ())
            yield Violation(
                whole or "body", error.message + (alternatives and f" ({alternatives})")
            )


def sent_path(scope: Mapping[str, Any]) -> str:
    """Return the path after the document's prefix, decoded except for encoded slashes."""
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


def _text(data: bytes) -> str:
    """Decode text; other data becomes a `data:` URL."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"data:;base64,{base64.b64encode(data).decode()}"
