"""Reads the body of a request by its media type: JSON, a form, parts, or the text itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from email.parser import BytesParser
from email.policy import HTTP
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from orchestrator.sandbox.served_schemas import Schema, SchemaBook
from orchestrator.sandbox.wire_parameters import ABSENT, RawQuery, Style, read_named
from orchestrator.sandbox.wire_values import WireValues

_FORM = "application/x-www-form-urlencoded"
_STYLES = frozenset({"style", "explode", "allowReserved"})


class UnreadableBody(ValueError):
    """A body is not what its content type says."""


class UnknownType(ValueError):
    """A content type that the operation does not take."""


class _Part(NamedTuple):
    content_type: str
    content: bytes


def essence_of(content_type: str) -> str:
    """The media type without parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_json(content_type: str) -> bool:
    """Whether a body of this type is JSON."""
    return essence_of(content_type).endswith(("/json", "+json"))


def described_type(content: Mapping[str, Any], content_type: str) -> Mapping[str, Any]:
    """What a document says of a media type: its own entry, else that of a range it is in.

    Raises:
        UnknownType: nothing.
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
    """The value of a body.

    Raises:
        UnreadableBody: it is not what its content type says.
    """
    schema: Schema = entry.get("schema") or {}
    values = WireValues(book)
    essence = essence_of(content_type)
    if is_json(content_type):
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UnreadableBody(f"the body is not valid {essence}") from error
    if essence == _FORM:
        return _form(values, entry, schema, data)
    if essence.startswith("multipart/"):
        return _of_parts(values, entry, schema, content_type, data)
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
            # Without a style an object is one JSON text, not fields of its own.
            own = Style(name, "deepObject", True, field)
        claimed = [other for other in declared if other != name]
        value = ABSENT if name in taken else read_named(own, query, claimed, values)
        if value is not ABSENT:
            found[name] = value
            if is_styled and style == "form" and explode and isinstance(value, dict):
                taken |= value.keys()
    return found


def _of_parts(
    values: WireValues, entry: Mapping[str, Any], schema: Schema, content_type: str, data: bytes
) -> Any:
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
        name: _field(values, values.property(schema, name), sent) for name, sent in parts.items()
    }


def _field(values: WireValues, schema: Schema, parts: list[_Part]) -> Any:
    is_list = "array" in values.types(schema)
    items = values.items(schema) if is_list else schema
    read = [_one(values, items, part) for part in parts]
    if is_list and not (len(read) == 1 and isinstance(read[0], list)):
        return read
    return read[-1]


def _one(values: WireValues, schema: Schema, part: _Part) -> Any:
    if is_json(part.content_type):
        try:
            return json.loads(part.content)
        except (ValueError, RecursionError) as error:
            raise UnreadableBody("a part is not the JSON that it says it is") from error
    return values.scalar(schema, _text(part.content))


def _text(data: bytes) -> str:
    """The text, or what data is as text: a `data:` URL."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"data:;base64,{base64.b64encode(data).decode()}"
