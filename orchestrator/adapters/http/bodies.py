"""Write the body of one request: JSON, a form, parts, or the text itself."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
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
from orchestrator.catalog.file_inputs import takes_bytes
from orchestrator.catalog.inputs import is_form, is_json, is_multipart, sent_type
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.received_files import ReceivedFile
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
    """A body as sent: the same arguments give the same bytes, at every attempt."""

    content_type: str
    content: bytes


class _Part(NamedTuple):
    name: str
    file_name: str | None
    content_type: str
    content: bytes


Files = Mapping[str, tuple[ReceivedFile, bytes]]
"""Files of a call by handle, with their bytes."""


class _Content(NamedTuple):
    """The content of a file, with its type and name if they are known."""

    content: bytes
    content_type: str = ""
    name: str = ""


def write_body(
    endpoint: Endpoint, body: JsonValue, declared: str, files: Files = MappingProxyType({})
) -> WrittenBody:
    """Write the body as its declared media type.

    Raises:
        ArgumentsInvalid: a file is an invalid `data:` URL.
    """
    content_type = sent_type(declared)
    if isinstance(body, dict) and is_multipart(declared):
        return _multipart(content_type, [*_parts(endpoint, body, files)])
    if isinstance(body, dict) and is_form(declared):
        return WrittenBody(content_type, "&".join(_form_parts(endpoint, body)).encode())
    if is_json(content_type):
        return WrittenBody(content_type, json_text(body).encode())
    if isinstance(body, str) and takes_bytes(_schema_of(endpoint, "")):
        file = _file(endpoint, "the body", body, files)
        own_type = file.content_type if "*" in declared else ""
        return WrittenBody(own_type or content_type, file.content)
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
        # OpenAPI writes values without a style by their type, and objects as JSON.
        for element in value if isinstance(value, list) else [value]:
            is_json_value = isinstance(element, (dict, list))
            yield from query_parts(
                name, element, style="json" if is_json_value else "form", explode=True
            )


def _parts(endpoint: Endpoint, body: JsonObject, files: Files) -> Iterator[_Part]:
    """Yield a part for each field, and for each element of a list."""
    for name, value in body.items():
        declared = str(endpoint.encoding.get(name, {}).get("contentType") or "")
        # A list or range of types does not state the type of each part.
        declared = declared if _MEDIA_TYPE.fullmatch(declared) else ""
        is_file = takes_bytes(_schema_of(endpoint, name))
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, str) and is_file:
                file = _file(endpoint, name, element, files)
                part_type = file.content_type or declared or _BINARY
                yield _Part(name, file.name or name, part_type, file.content)
            elif isinstance(element, (dict, list)) or is_json(declared):
                content = json_text(element).encode()
                yield _Part(name, None, declared or "application/json", content)
            else:
                content = scalar_text(element).encode(errors="replace")
                yield _Part(name, None, declared or _PLAIN, content)


def _schema_of(endpoint: Endpoint, field: str) -> JsonObject:
    """Return the schema of a field of the body, or of the whole body ('')."""
    tool = endpoint.tool
    inputs = {b.field: b.name for b in tool.bindings if b.location == "body"}
    schema = tool.properties.get(inputs.get(field, inputs.get("", "")), {})
    if field not in inputs:
        schema = properties_of(_opened(schema, tool)).get(field, {})
    return _opened(schema, tool)


def _opened(schema: JsonObject, tool: Tool) -> JsonObject:
    """Return the schema, or the definition that it refers to."""
    named = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    definitions = tool.input_schema.get("$defs")
    found = definitions.get(named) if isinstance(definitions, dict) else None
    return found if isinstance(found, dict) else schema


def _file(endpoint: Endpoint, name: str, text: str, files: Files) -> _Content:
    """Return a received file, the content of a `data:` URL, or the text itself."""
    if text in files:
        received, content = files[text]
        return _Content(content, received.content_type, received.name)
    if not text.startswith("data:"):
        return _Content(text.encode(errors="replace"))
    found = _DATA_URL.fullmatch(text)
    data = _data_of(found) if found else None
    if found is None or data is None:
        reason = f"{name} begins like a data: URL (RFC 2397) and is none"
        raise ArgumentsInvalid(endpoint.tool.name, [reason])
    return _Content(data, found["type"] if "/" in found["type"] else "")


def _data_of(found: re.Match[str]) -> bytes | None:
    """Return the content of a `data:` URL; None if its base64 is invalid."""
    data = unquote_to_bytes(found["data"])
    if not found["base64"]:
        return data
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return None


def _multipart(content_type: str, parts: Sequence[_Part]) -> WrittenBody:
    """Write parts with a boundary derived from their content: a retry sends the same bytes."""
    boundary = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    essence = content_type.partition(";")[0].strip()
    if not parts:
        return WrittenBody(f"{essence}; boundary={boundary}", f"--{boundary}--\r\n".encode())
    written = httpx.Request(
        "POST",
        "http://parts",
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
        files=[(part.name, (part.file_name, part.content, part.content_type)) for part in parts],
    )
    return WrittenBody(f"{essence}; boundary={boundary}", written.read())
