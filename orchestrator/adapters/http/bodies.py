"""Write the body of one request (JSON, a form, parts or text), and read the files of a call."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple, Protocol
from urllib.parse import unquote_to_bytes

import httpx
from pydantic import JsonValue

from orchestrator.adapters.http.endpoint import Endpoint
from orchestrator.adapters.http.parameter_styles import json_text, query_parts, scalar_text
from orchestrator.catalog.arguments import (
    FilePlace,
    file_places,
    size_problems,
    takes_bytes,
    with_files_written,
)
from orchestrator.catalog.inputs import is_form, is_json, is_multipart, sent_type
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.received_files import FILE, ReceivedFile
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of

_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?[\w-]+=[\w.+\"-]+)*")
_DATA_URL = re.compile(
    r"data:(?P<type>(?:[\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[\w.+-]+)*)(?P<base64>;base64)?,(?P<data>.*)",
    re.DOTALL,
)
"""RFC 2397."""
_BINARY = "application/octet-stream"
_PLAIN = "text/plain; charset=utf-8"


class _Part(NamedTuple):
    name: str
    file_name: str | None
    content_type: str
    content: bytes


Files = Mapping[str, tuple[ReceivedFile, bytes]]
"""Files of a call by handle, with their bytes."""


def write_body(
    endpoint: Endpoint, body: JsonValue, declared: str, files: Files = MappingProxyType({})
) -> tuple[str, bytes]:
    """Return the media type and the content of a body; retries give the same bytes.

    Raises:
        ArgumentsInvalid: a file is an invalid `data:` URL.
    """
    content_type = sent_type(declared)
    if isinstance(body, dict) and is_multipart(declared):
        parts = [*_parts(endpoint, body, files)]
        boundary = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
        essence = content_type.partition(";")[0].strip()
        content_type = f"{essence}; boundary={boundary}"
        if not parts:
            return content_type, f"--{boundary}--\r\n".encode()
        written = httpx.Request(
            "POST",
            "http://parts",
            headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
            files=[(one.name, (one.file_name, one.content, one.content_type)) for one in parts],
        )
        return content_type, written.read()
    if isinstance(body, dict) and is_form(declared):
        return content_type, "&".join(_form_parts(endpoint, body)).encode()
    if is_json(content_type):
        return content_type, json_text(body).encode()
    if isinstance(body, str) and takes_bytes(_schema_of(endpoint, "")):
        content, own_type, _ = _file(endpoint, "the body", body, files)
        return own_type if "*" in declared and own_type else content_type, content
    return content_type, scalar_text(body).encode(errors="replace")


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
    for name, value in body.items():
        declared = str(endpoint.encoding.get(name, {}).get("contentType") or "")
        # A list or range of types does not state the type of each part.
        declared = declared if _MEDIA_TYPE.fullmatch(declared) else ""
        is_file = takes_bytes(_schema_of(endpoint, name))
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, str) and is_file:
                content, part_type, file_name = _file(endpoint, name, element, files)
                yield _Part(name, file_name or name, part_type or declared or _BINARY, content)
            elif isinstance(element, (dict, list)) or is_json(declared):
                content = json_text(element).encode()
                yield _Part(name, None, declared or "application/json", content)
            else:
                content = scalar_text(element).encode(errors="replace")
                yield _Part(name, None, declared or _PLAIN, content)


def _schema_of(endpoint: Endpoint, field: str) -> JsonObject:
    tool = endpoint.tool
    inputs = {b.field: b.name for b in tool.bindings if b.location == "body"}
    schema = tool.properties.get(inputs.get(field, inputs.get("", "")), {})
    if field not in inputs:
        schema = properties_of(resolve(schema, tool.input_schema)).get(field, {})
    return resolve(schema, tool.input_schema)


def _file(endpoint: Endpoint, name: str, text: str, files: Files) -> tuple[bytes, str, str]:
    """Return content, type and name of a file, a `data:` URL, or the text itself."""
    if text in files:
        received, content = files[text]
        return content, received.content_type, received.name
    if not text.startswith("data:"):
        return text.encode(errors="replace"), "", ""
    with suppress(binascii.Error):
        if (found := _DATA_URL.fullmatch(text)) is not None:
            data = unquote_to_bytes(found["data"])
            content = base64.b64decode(data, validate=True) if found["base64"] else data
            return content, found["type"] if "/" in found["type"] else "", ""
    reason = f"{name} begins like a data: URL (RFC 2397) and is none"
    raise ArgumentsInvalid(endpoint.tool.name, [reason])


class FileStore(Protocol):
    """Files that missions received, by handle."""

    def keep(
        self, mission_id: str, content: bytes, *, content_type: str = "", name: str = ""
    ) -> ReceivedFile:
        """Store a file, or raise StateMissing; equal bytes keep their first description."""

    def read(self, mission_id: str, handle: str) -> tuple[ReceivedFile, bytes] | None:
        """Return a file and its bytes, or None; raise StateMissing if it cannot be read now."""


_ANY = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Media types that say nothing about the content."""


@dataclass(frozen=True)
class SentFiles:
    """The files of a call by their handles, and the reasons why some cannot be sent."""

    found: Mapping[str, tuple[ReceivedFile, bytes]] = field(default_factory=dict, repr=False)
    problems: tuple[str, ...] = ()

    @property
    def received(self) -> tuple[ReceivedFile, ...]:
        """Descriptions of the files, without their bytes."""
        return tuple(received for received, _ in self.found.values())

    def in_text(self, tool: Tool, arguments: JsonObject) -> JsonObject:
        """Return the arguments with the content of files that are sent as text, in base64."""

        def written(place: FilePlace) -> str:
            content = self.found[place.handle][1]
            if place.form == "base64":
                return base64.b64encode(content).decode()
            if place.form == "base64url":
                return base64.urlsafe_b64encode(content).decode()
            return place.handle

        return with_files_written(tool, arguments, written) if self.found else arguments


def find_files(
    endpoint: Endpoint, arguments: JsonObject, files: FileStore | None, *, mission_id: str
) -> SentFiles:
    """Return the files whose handles are in the arguments of a call.

    A mission can send only files that it received itself.

    Raises:
        StateMissing: the store cannot be read now.
    """
    found: dict[str, tuple[ReceivedFile, bytes]] = {}
    problems: list[str] = []
    for place in file_places(endpoint.tool, arguments):
        kept = found.get(place.handle)
        if kept is None and files is not None and mission_id:
            kept = files.read(mission_id, place.handle)
        if kept is None:
            problems.append(
                f"{place.name} names a file that this mission has not received, or that is no "
                f"longer kept; give the handle that an answer of this mission has as {FILE!r}"
            )
            continue
        found[place.handle], received = kept, kept[0]
        problems += size_problems(place, received)
        if place.form != "bytes" or received.content_type in _ANY:
            continue
        declared = endpoint.tool.body_content_type or ""
        if is_multipart(declared):
            part = endpoint.encoding.get(place.path[-1], {})
            declared = str(part.get("contentType") or "*/*")
        types = [one.partition(";")[0].strip().lower() for one in declared.split(",")]
        is_declared = any(fnmatchcase(received.content_type, one) for one in types)
        if _ANY.isdisjoint(types) and not is_declared:
            file = received.name or "the file"
            takes = f"{place.name} takes {', '.join(types)}"
            problems.append(f"{takes}, and {file} is {received.content_type}")
    return SentFiles(found, tuple(dict.fromkeys(problems)))
