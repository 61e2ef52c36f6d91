"""Writes the body of one request: JSON, a form, parts, or the text itself."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import httpx
from pydantic import JsonValue

from orchestrator.adapters.http.endpoint import Endpoint
from orchestrator.adapters.http.parameter_styles import (
    json_text,
    query_parts,
    scalar_text,
)
from orchestrator.catalog.inputs import is_form, is_json, is_multipart, sent_type
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of

_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?[\w-]+=[\w.+\"-]+)*")
_DATA_URL = re.compile(
    r"data:(?P<type>(?:[\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[\w.+-]+)*)(?P<base64>;base64)?,(?P<data>.*)",
    re.DOTALL,
)
"""RFC 2397."""
_BINARY = "application/octet-stream"
_PLAIN = "text/plain; charset=utf-8"


class WrittenBody(NamedTuple):
    """A body as it will leave: the same arguments give the same bytes, at every attempt."""

    content_type: str
    content: bytes


class _Part(NamedTuple):
    name: str
    is_file: bool
    content_type: str
    content: bytes


def write_body(endpoint: Endpoint, body: JsonValue, declared: str) -> WrittenBody:
    """The body written as the media type that is declared for it.

    Raises:
        ArgumentsInvalid: a file is written as a `data:` URL that is none.
    """
    content_type = sent_type(declared)
    if isinstance(body, dict) and is_multipart(declared):
        return _multipart(content_type, [*_parts(endpoint, body)])
    if isinstance(body, dict) and is_form(declared):
        return WrittenBody(content_type, "&".join(_form_parts(endpoint, body)).encode())
    if is_json(content_type):
        return WrittenBody(content_type, json_text(body).encode())
    if isinstance(body, str) and _is_file(_schema_of(endpoint, "")):
        return WrittenBody(content_type, _file(endpoint, "the body", body)[1])
    return WrittenBody(content_type, scalar_text(body).encode(errors="replace"))


def _form_parts(endpoint: Endpoint, body: JsonObject) -> Iterator[str]:
    styles = {b.field: b for b in endpoint.tool.bindings if b.location == "body"}
    for name, value in body.items():
        binding = styles.get(name)
        if endpoint.is_styled(name):
            yield from query_parts(
                name,
                value,
                style=binding.style if binding else "form",
                explode=binding.explode if binding else True,
                reserved=endpoint.encoding[name].get("allowReserved") is True,
            )
            continue
        # OpenAPI: without a style each value is written by its type, objects as JSON.
        for element in value if isinstance(value, list) else [value]:
            is_json_value = isinstance(element, (dict, list))
            yield from query_parts(
                name, element, style="json" if is_json_value else "form", explode=True
            )


def _parts(endpoint: Endpoint, body: JsonObject) -> Iterator[_Part]:
    """A part for each field, and for each element of a list."""
    for name, value in body.items():
        declared = str(endpoint.encoding.get(name, {}).get("contentType") or "")
        # Of several types, or of a range of them, each part would have to say which it is.
        declared = declared if _MEDIA_TYPE.fullmatch(declared) else ""
        is_file = _is_file(_schema_of(endpoint, name))
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, str) and is_file:
                content_type, content = _file(endpoint, name, element)
                yield _Part(name, True, content_type or declared or _BINARY, content)
            elif isinstance(element, (dict, list)) or is_json(declared):
                content = json_text(element).encode()
                yield _Part(name, False, declared or "application/json", content)
            else:
                content = scalar_text(element).encode(errors="replace")
                yield _Part(name, False, declared or _PLAIN, content)


def _schema_of(endpoint: Endpoint, field: str) -> JsonObject:
    """The schema of a field of the body, or of all of it ('')."""
    tool = endpoint.tool
    inputs = {b.field: b.name for b in tool.bindings if b.location == "body"}
    schema = tool.properties.get(inputs.get(field, inputs.get("", "")), {})
    if field not in inputs:
        schema = properties_of(_opened(schema, tool)).get(field, {})
    return _opened(schema, tool)


def _opened(schema: JsonObject, tool: Tool) -> JsonObject:
    """The schema, or the definition that is all it says."""
    named = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    definitions = tool.input_schema.get("$defs")
    found = definitions.get(named) if isinstance(definitions, dict) else None
    return found if isinstance(found, dict) else schema


def _is_file(schema: JsonObject) -> bool:
    """Whether a value is the content of a file; of a list, whether its elements are."""
    items = schema.get("items")
    of_element = items if isinstance(items, dict) else {}
    return any(
        one.get("format") == "binary" or "contentMediaType" in one for one in (schema, of_element)
    )


def _file(endpoint: Endpoint, name: str, text: str) -> tuple[str, bytes]:
    """Media type ('' for untold) and bytes of a file: of a `data:` URL, or of the text itself."""
    if not text.startswith("data:"):
        return "", text.encode(errors="replace")
    found = _DATA_URL.fullmatch(text)
    try:
        content = unquote_to_bytes(found["data"]) if found else None
        if content is not None and found and found["base64"]:
            content = base64.b64decode(content, validate=True)
    except binascii.Error:
        content = None
    if content is None or found is None:
        reason = f"{name} begins like a data: URL (RFC 2397) and is none"
        raise ArgumentsInvalid(endpoint.tool.name, [reason])
    return found["type"] if "/" in found["type"] else "", content


def _multipart(content_type: str, parts: Sequence[_Part]) -> WrittenBody:
    """The parts between boundaries that are made from them: a retry sends the very same bytes."""
    boundary = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    essence = content_type.partition(";")[0].strip()
    if not parts:
        return WrittenBody(f"{essence}; boundary={boundary}", f"--{boundary}--\r\n".encode())
    written = httpx.Request(
        "POST",
        "http://parts",
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
        files=[
            (part.name, (part.name if part.is_file else None, part.content, part.content_type))
            for part in parts
        ],
    )
    return WrittenBody(f"{essence}; boundary={boundary}", written.read())
