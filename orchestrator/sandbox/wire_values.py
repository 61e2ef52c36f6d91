"""Values on the wire: decoded parameters and form fields, and the responses that are sent."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random
from typing import Any
from urllib.parse import unquote, unquote_plus

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.faults import Breach, OddAnswer
from orchestrator.sandbox.playbook import ProviderAnswer
from orchestrator.sandbox.problems import MEDIA_TYPE, RequestRefused
from orchestrator.sandbox.served_operations import ServedOperation, id_names, may_be_json
from orchestrator.sandbox.served_schemas import Schema, SchemaBook
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema

ABSENT: Any = object()
_DELIMITERS = {"spaceDelimited": ("%20", "+"), "pipeDelimited": ("%7C", "%7c", "|")}
Tree = dict[str, Any]
"""Bracketed fields: name to a list of texts, or to a nested tree."""

_INTEGER = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_STEP = re.compile(r"\[([^\[\]]*)\]")
_DEEPEST = 12


@dataclass(frozen=True)
class Style:
    """The declared style of one parameter or form field."""

    name: str
    style: str
    explode: bool
    schema: Schema
    content_type: str | None = None
    """Media type of a parameter that is described by `content`."""
    location: str = "body"
    required: bool = False


@dataclass(frozen=True)
class RawQuery:
    """The parts of a query or a form, raw and percent-decoded."""

    parts: tuple[tuple[str, str], ...]
    pairs: tuple[tuple[str, str], ...] = field(default=())

    @classmethod
    def of(cls, text: str, between: str = "&", *, is_form: bool = True) -> RawQuery:
        """Split a text like `a=1&b=2`."""
        decode = unquote_plus if is_form else unquote
        split = [part.partition("=") for part in text.split(between) if part]
        parts = tuple((decode(name.strip()), value) for name, _, value in split)
        return cls(parts, tuple((name, decode(value)) for name, value in parts))


def essence_of(content_type: str) -> str:
    """Return the media type without parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_json_type(content_type: str) -> bool:
    """Return True if a value of this media type is JSON."""
    return essence_of(content_type).endswith(("/json", "+json"))


def read_style(raw: Mapping[str, Any]) -> Style:
    """Return the style of a parameter, with OpenAPI's defaults."""
    location, content = raw["in"], raw.get("content") or {}
    style = str(raw.get("style") or ("form" if location in ("query", "cookie") else "simple"))
    explode, schema = raw.get("explode"), raw.get("schema")
    if not isinstance(schema, Mapping):
        described: Mapping[str, Any] = next(iter(content.values()), {})
        schema = described.get("schema", {})
    return Style(
        str(raw["name"]),
        style,
        explode if isinstance(explode, bool) else style == "form",
        schema,
        next(iter(content), None),
        location,
        location == "path" or raw.get("required") is True,
    )


def read_path(style: Style, text: str, values: WireValues) -> Any:
    """Return the value of a path parameter from its raw text."""
    if style.style == "label":
        between = "." if style.explode else ","
        return _delimited(style, text.removeprefix("."), (between,), values, unquote)
    if style.style != "matrix":
        return _delimited(style, text, (",",), values, unquote)
    text = text.removeprefix(";")
    parts = [part.partition("=") for part in text.split(";")]
    own = [value for name, _, value in parts if unquote(name) == style.name]
    types = values.types(style.schema) if style.explode else set()
    if "array" in types and len(own) == len(parts):
        return values.listed(style.schema, [unquote(value) for value in own])
    if "object" in types:
        pairs = [(unquote(name), unquote(value)) for name, _, value in parts]
        return values.named(style.schema, pairs)
    flat = replace(style, explode=False)
    return _delimited(flat, own[0] if own else text, (",",), values, unquote)


def read_header(style: Style, text: str, values: WireValues) -> Any:
    """Return the value of a header, decoded as UTF-8 where possible, without percent-decoding."""
    with suppress(UnicodeError):
        text = text.encode("latin-1").decode()
    return _delimited(style, text, (",",), values, str)


def read_named(style: Style, query: RawQuery, claimed: Sequence[str], values: WireValues) -> Any:
    """Return the value of a query parameter, cookie or form field; ABSENT when missing.

    `claimed` are the names of the other parameters: an exploded object without declared properties
    takes all remaining names.
    """
    if style.content_type is not None:
        found = [text for name, text in query.pairs if name == style.name]
        return _of_content(style, found[-1], values) if found else ABSENT
    is_object = "object" in values.types(style.schema)
    if style.style != "deepObject" and style.explode and is_object:
        own, is_map = values.names(style.schema), values.is_map(style.schema)
        whole = {}
        for root in dict.fromkeys(name.partition("[")[0] for name, _ in query.pairs):
            is_own = root in own or (is_map and root not in claimed and root != style.name)
            tree = tree_of(root, query.pairs) if is_own else None
            if tree is not None:
                whole[root] = values.nested(values.property(style.schema, root), tree)
        if whole:
            return whole
    if not style.explode and style.style != "deepObject":
        raw = [text for name, text in query.parts if name == style.name]
        between = _DELIMITERS.get(style.style, (",",))
        return _delimited(style, raw[-1], between, values, unquote_plus) if raw else ABSENT
    tree = tree_of(style.name, query.pairs)
    counted = style.style == "deepObject"
    return ABSENT if tree is None else values.nested(style.schema, tree, counted=counted)


def _of_content(style: Style, text: str, values: WireValues) -> Any:
    if is_json_type(str(style.content_type)):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return values.scalar(style.schema, text)


def _delimited(
    style: Style,
    text: str,
    between: Sequence[str],
    values: WireValues,
    decode: Callable[[str], str],
) -> Any:
    if style.content_type is not None:
        return _of_content(style, decode(text), values)
    types = values.types(style.schema)
    for other in between[1:]:
        text = text.replace(other, between[0])
    parts = text.split(between[0])
    readings: list[Any] = []
    if types - {"array", "object", "null"} or not types:
        readings.append(values.scalar(style.schema, decode(text)))
    if "array" in types:
        readings.append(values.listed(style.schema, [decode(part) for part in parts]))
    if "object" in types:
        pairs = list(zip(parts[::2], parts[1::2], strict=False))
        if style.explode:
            pairs = [(n, value) for n, _, value in (part.partition("=") for part in parts)]
        decoded = [(decode(name), decode(value)) for name, value in pairs]
        readings.append(values.named(style.schema, decoded))
    return values.fitting(style.schema, readings or [decode(text)])


class WireValues:
    """Decodes texts by the schemas of one document."""

    def __init__(self, book: SchemaBook) -> None:
        self._book = book

    def types(self, schema: Schema) -> set[str]:
        """Return the JSON types that a schema allows, including those of its alternatives."""
        found: set[str] = set()
        for one in self._book.variants(schema):
            declared = one.get("type") or [
                kind for kind, word in (("object", "properties"), ("array", "items")) if word in one
            ]
            found |= set(declared if isinstance(declared, list) else [declared])
            found |= {"null"} if one.get("nullable") is True else set()
        return found

    def names(self, schema: Schema) -> list[str]:
        """Return the properties that a schema names."""
        variants = self._book.variants(schema)
        return list(dict.fromkeys(n for one in variants for n in one.get("properties") or {}))

    def is_map(self, schema: Schema) -> bool:
        """Return True if an object may have any property."""
        return not self.names(schema) or any(
            one.get("additionalProperties") not in (None, False)
            for one in self._book.variants(schema)
        )

    def items(self, schema: Schema) -> Schema:
        """Return the schema of an array's elements."""
        found = (one.get("items") for one in self._book.variants(schema))
        return next((items for items in found if isinstance(items, Mapping)), {})

    def property(self, schema: Schema, name: str) -> Schema:
        """Return the schema of an object's property."""
        variants = self._book.variants(schema)
        declared = (one["properties"] for one in variants if "properties" in one)
        own = (found.get(name) for found in declared if isinstance(found, Mapping))
        extra = (one.get("additionalProperties") for one in variants)
        return next((found for found in (*own, *extra) if isinstance(found, Mapping)), {})

    def scalar(self, schema: Schema, text: str) -> Any:
        """Return the first reading of a text that conforms, else the likeliest reading."""
        types = self.types(schema)
        readings: list[Any] = []
        if types & {"integer", "number"} and _INTEGER.fullmatch(text):
            readings.append(int(text))
        elif "number" in types and _NUMBER.fullmatch(text):
            readings.append(float(text))
        if "boolean" in types and text in ("true", "false"):
            readings.append(text == "true")
        if "null" in types and text == "null":
            readings.append(None)
        if types & {"object", "array"} and text[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                readings.append(json.loads(text))
        return self.fitting(schema, [*readings, text])

    def listed(self, schema: Schema, texts: Sequence[str]) -> list[Any]:
        """Return the elements of an array."""
        items = self.items(schema)
        return [self.scalar(items, text) for text in texts]

    def named(self, schema: Schema, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Return the properties of an object."""
        return {name: self.scalar(self.property(schema, name), text) for name, text in pairs}

    def fitting(self, schema: Schema, values: Sequence[Any]) -> Any:
        """Return the first reading that conforms, else the first."""
        return next((value for value in values if self._book.is_valid(schema, value)), values[0])

    def nested(
        self, schema: Schema, tree: Tree | list[str], depth: int = 0, *, counted: bool = True
    ) -> Any:
        """Return the value of bracketed fields, by the alternative that they fit.

        `counted` means that elements have brackets of their own, so that one text is no list.
        """
        variants = self._book.variants(schema) if depth < _DEEPEST else ({},)
        readings = [self._shaped(variant, tree, depth) for variant in variants]
        if counted and isinstance(tree, list):
            readings.sort(key=lambda value: isinstance(value, list))
        return self.fitting(schema, readings)

    def _shaped(self, schema: Schema, tree: Tree | list[str], depth: int) -> Any:
        types = self.types(schema)
        if isinstance(tree, list):
            if "array" not in types:
                return self.listed({}, tree) if len(tree) > 1 else self.scalar(schema, tree[0])
            # One text may also be the whole list, as JSON.
            readings = [self.listed(schema, tree)]
            readings += [self.scalar(schema, tree[0])] if len(tree) == 1 else []
            return self.fitting(schema, readings)
        is_counted = all(step.isdecimal() or not step for step in tree)
        if "array" not in types and ("object" in types or not is_counted):
            return {
                step: self.nested(self.property(schema, step), one, depth + 1)
                for step, one in tree.items()
            }
        items = self.items(schema)
        ordered = sorted(tree.items(), key=lambda pair: int(pair[0] or 0))
        elements = [self.scalar(items, text) for step, one in ordered if not step for text in one]
        return elements + [self.nested(items, one, depth + 1) for step, one in ordered if step]


def tree_of(name: str, pairs: Sequence[tuple[str, str]]) -> Tree | list[str] | None:
    """Return the texts under a name, plain or in brackets; None when there are none."""
    plain = [text for key, text in pairs if key == name]
    if plain:
        return plain
    tree: Tree = {}
    for key, text in pairs:
        rest = key.removeprefix(name)
        if not key.startswith(f"{name}[") or len(rest) > 1000:
            continue
        steps = _STEP.findall(rest)
        if "".join(f"[{step}]" for step in steps) != rest:
            continue
        inner: Any = tree
        for step in steps[:-1]:
            inner = inner.setdefault(step, {}) if isinstance(inner, dict) else None
        texts = inner.setdefault(steps[-1], []) if isinstance(inner, dict) else None
        if isinstance(texts, list):
            texts.append(text)
    return tree or None


_BEGINNINGS = {
    "application/pdf": b"%PDF-1.7\n",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/png": b"\x89PNG\r\n\x1a\n",
    "application/zip": b"PK\x03\x04",
}
BODILESS = frozenset({204, 205, 304})
TRANSPORT = "sandbox.transport"
"""Key of the app's state that holds the connection, if there is one."""

_PAGE = "<!doctype html><title>{0}</title><h1>{0}</h1><p>Back soon.</p>"
_UNUSED = re.compile(r"note|remark|comment|description|message")
_OFFSET = re.compile(r"(?<=\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$")
_HUGE = 20_000
_HOSTILE = {
    "Retry-After": "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
    "Content-Disposition": "attachment; filename*=idna''x",
    "Set-Cookie": "a=\u00e9; Path=/",
    "Link": "<<>>; rel=" + ";" * 500,
}


def answer_response(
    operation: ServedOperation, answer: ProviderAnswer, *, url: str = ""
) -> Response:
    """Return the answer with the body and the media type that the document declares.

    Each `url` gets different file content.
    """
    replayed = {"Idempotent-Replayed": "true"} if answer.replayed else {}
    headers = {**answer.headers, **replayed}
    kind, status = operation.answer_type, answer.status
    if status in BODILESS or (kind is None and answer.body is None):
        return Response(status_code=status, headers=headers)
    if kind is None or may_be_json(kind):
        sent_as = "application/json" if kind is None or "*" in kind else kind
        return JSONResponse(answer.body, status_code=status, headers=headers, media_type=sent_as)
    main = essence_of(kind)
    sent_as = "application/octet-stream" if "*" in main else kind
    content: str | bytes
    if "xml" in main or "html" in main:
        content = "<made-up/>"
    elif main.startswith("text/") or "json" in main or "yaml" in main:
        content = "The sandbox made this text up."
    else:
        label = f"The sandbox made this up for {url}\n".encode()
        content = _BEGINNINGS.get(sent_as, b"") + b"\x00\xff\n" + label
        name = f"{operation.operation_id}{mimetypes.guess_extension(sent_as) or '.bin'}"
        headers = {"content-disposition": f'attachment; filename="{name}"', **headers}
    response = Response(content, status_code=status, headers=headers)
    # Starlette would add a charset to the declared type.
    response.headers["content-type"] = sent_as
    return response


def refusal_response(
    document: Document, operation: ServedOperation, problem: RequestRefused, *, now: datetime
) -> Response:
    """Return a refusal as the document declares it, else as a problem document."""
    declared = operation.raw.get("responses", {}).get(str(problem.status))
    if declared is None:
        return problem.to_response()
    content = document.book.follow(declared).get("content") or {}
    if not content:
        return Response(status_code=problem.status, headers=problem.headers)
    listed = [MEDIA_TYPE, *content] if MEDIA_TYPE in content else content
    media_type = next((name for name in listed if is_json_type(name)), None)
    if media_type is None:
        return problem.to_response()
    schema, body = content[media_type].get("schema") or {}, problem.to_json()
    if not document.book.is_valid(schema, body):
        scene = Scene(Random(0), now, now, body)
        with suppress(UnsupportedSchema):
            body = Synthesizer(document.book, {}).object(schema, scene)
    return JSONResponse(
        body, status_code=problem.status, headers=problem.headers, media_type=media_type
    )


def gateway_page(status: int) -> Response:
    """Return the error page of a gateway in front of a provider."""
    return HTMLResponse(_PAGE.format(f"Gateway: {status}"), status_code=status)


def broken_success(
    breach: Breach | OddAnswer,
    status: int,
    answer: ProviderAnswer | None = None,
    earlier: Mapping[str, Any] = {},
) -> Response:
    """Return a success status with a body that its document does not declare.

    Args:
        breach: the kind of body.
        status: the declared status.
        answer: the true answer; None for a page or an error.
        earlier: the ids of an earlier answer.
    """
    if breach == "html":
        return HTMLResponse(_PAGE.format("Maintenance"), status_code=status)
    if breach == "error":
        error = {"error": "not_possible", "message": "It did not work out."}
        return JSONResponse(error, status_code=status)
    whole = answer.body if answer else {}
    if breach == "no_reference":
        return JSONResponse(_unnamed(whole), status_code=status)
    body = whole if isinstance(whole, Mapping) else {}
    headers: Mapping[str, str] = {}
    media_type = "application/json"
    match breach:
        case "null":
            unused = [n for n, v in body.items() if isinstance(v, str) and _UNUSED.search(n)]
            body = {**body, "remark": None, **dict.fromkeys(unused)}
        case "naive_time":
            body = {n: _OFFSET.sub("", v) if isinstance(v, str) else v for n, v in body.items()}
        case "surrogate":
            body = {**body, "remark": "\ud83d"}
        case "hostile_headers":
            headers = _HOSTILE
        case "other_status":
            status, media_type = 203, "text/plain"
        case "multi_status":
            items = [{"status": 201}, {"status": 422, "error": "refused"}]
            status, body = 207, {**body, "items": items}
        case "requires_action":
            body = {**body, "status": "requires_action"}
        case "says_no":
            body = {**body, "success": False, "error": "it was not done"}
        case "huge_id":
            body = {**body, **{n: "k" * _HUGE for n in id_names(body) if isinstance(body[n], str)}}
        case "costly":
            body = {**body, "rows": [[0] * 1_000] * 300}
        case "id_twice":
            body = {**body, **earlier}
    # Not JSONResponse, which cannot write half a character.
    return Response(json.dumps(body), status_code=status, headers=headers, media_type=media_type)


def _unnamed(body: Any) -> Any:
    if isinstance(body, list):
        return [_unnamed(item) for item in body]
    if not isinstance(body, Mapping):
        return body
    names = {*id_names(body), "client_reference", "reference"}
    return {name: _unnamed(value) for name, value in body.items() if name not in names}


async def drop(scope: Scope, receive: Receive) -> None:
    """Close the connection without an answer.

    Raises:
        ConnectionAbortedError: the app runs without a server, so there is no connection to close.
    """
    _connection(scope).abort()
    await _until_closed(receive)


async def break_off(
    response: Response, scope: Scope, receive: Receive, send: Send, *, in_chunk: bool
) -> None:
    """Send the first half of a response and close the connection.

    Raises:
        ConnectionAbortedError: the app runs without a server, so there is no connection to close.
    """
    connection = _connection(scope)
    body = bytes(response.body)
    headers = [(k, v) for k, v in response.raw_headers if not in_chunk or k != b"content-length"]
    start = {"type": "http.response.start", "status": response.status_code, "headers": headers}
    await send(start)
    half = body[: len(body) // 2]
    await send({"type": "http.response.body", "body": half, "more_body": True})
    if in_chunk:
        # It announces more bytes than will follow.
        connection.write(b"fff\r\n" + body[len(half) :])
    connection.close()
    await _until_closed(receive)


def _connection(scope: Scope) -> asyncio.Transport:
    found: asyncio.Transport | None = scope.get("state", {}).get(TRANSPORT)
    if found is None:
        raise ConnectionAbortedError("dropped on purpose")
    return found


async def _until_closed(receive: Receive) -> None:
    # Returning before the server notices the close would make it send a 500.
    while (await receive())["type"] != "http.disconnect":
        pass
