"""The request of a tool call: arguments in their places, written after their validation."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

import httpx
from pydantic import JsonValue

from orchestrator.adapters.http.bodies import Files, write_body
from orchestrator.adapters.http.credentials import Credential
from orchestrator.adapters.http.destinations import origin_of
from orchestrator.adapters.http.endpoint import Endpoint
from orchestrator.adapters.http.parameter_styles import (
    encode,
    header_text,
    path_segment,
    query_parts,
    unwritable_part,
)
from orchestrator.catalog.inputs import is_form
from orchestrator.catalog.tool import InputBinding, Location, Tool
from orchestrator.core.errors import ArgumentsInvalid, EgressRefused
from orchestrator.core.record import JsonObject

_ACCEPT = "application/json, application/problem+json;q=0.9, */*;q=0.1"

_OF_THE_CONNECTION = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers of the connection, which no document can declare as arguments."""
_DOTS: Final = frozenset({".", ".."})
_SLASH: Final = re.compile(r"[/\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Placement:
    """The values of a request by their places, not yet written."""

    parameters: tuple[tuple[InputBinding, JsonValue], ...] = ()
    """Path, query, header and cookie parameters."""
    body: JsonValue = None
    has_body: bool = False


def place_arguments(
    tool: Tool, arguments: JsonObject, *, body_required: bool, key: str | None = None
) -> Placement:
    """Place the arguments by the tool's bindings, and the idempotency key in its field.

    Null parameters are left out, because no style can write them. With `body_required`, an empty
    object is sent if no argument belongs to the body.
    """
    given = [(b, arguments[b.name]) for b in tool.bindings if b.name in arguments]
    parameters = [(b, value) for b, value in given if b.location != "body" and value is not None]
    in_body = [(b, value) for b, value in given if b.location == "body"]
    if (taken := tool.idempotency_key) is not None and key is not None:
        style = "form" if taken.location == "query" else "simple"
        place = InputBinding(
            name=taken.field, location=taken.location, field=taken.field, style=style
        )
        (in_body if taken.location == "body" else parameters).append((place, key))
    whole = [value for b, value in in_body if not b.field]
    fields = {b.field: value for b, value in in_body if b.field}
    return Placement(
        parameters=tuple(parameters),
        body=whole[0] if whole else fields,
        has_body=bool(in_body) or (body_required and tool.body_content_type is not None),
    )


def build_request(
    endpoint: Endpoint,
    placement: Placement,
    *,
    headers: Mapping[str, str],
    credentials: Sequence[tuple[Credential, str]] = (),
    files: Files = MappingProxyType({}),
) -> httpx.Request:
    """Return the request to send; `headers` are the client's own, such as the call's id.

    Raises:
        ArgumentsInvalid: a value cannot be written in its place of a request.
        EgressRefused: the URL leads to a server that the document does not declare.
    """
    _check_styles(endpoint, placement)
    url = _url(endpoint, placement, credentials)
    parts = [
        part
        for b, value in _placed(placement, "cookie")
        for part in query_parts(b.field, value, style=b.style, explode=b.explode)
    ]
    # A credential is sent as it was issued: the provider compares it and may not decode it.
    parts += [f"{c.field}={value}" for c, value in credentials if c.location == "cookie"]
    named = (
        ("Accept", _ACCEPT),
        # Only these: this client decompresses them itself, within a limit.
        ("Accept-Encoding", "gzip, deflate"),
        ("User-Agent", "orchestrator-missions"),
        *headers.items(),
        *_header_parameters(endpoint.tool, placement),
        *((c.field, c.written(value)) for c, value in credentials if c.location == "header"),
        *([("Cookie", "; ".join(parts))] if parts else []),
    )
    # The last header of each name wins: arguments replace the client's own headers, credentials
    # replace arguments.
    written = {name.lower(): (name, text) for name, text in named}.values()
    encoded = [
        (_header_bytes(endpoint.tool, n, n), _header_bytes(endpoint.tool, n, v)) for n, v in written
    ]
    method, declared, content = endpoint.tool.method, endpoint.tool.body_content_type, None
    if placement.has_body and declared is not None:
        content_type, content = write_body(endpoint, placement.body, declared, files)
        encoded.append((b"Content-Type", content_type.encode()))
    try:
        return httpx.Request(method, url, headers=encoded, content=content)
    except httpx.InvalidURL:
        raise ArgumentsInvalid(endpoint.tool.name, ["they are too long for a URL"]) from None


def _check_styles(endpoint: Endpoint, placement: Placement) -> None:
    """Refuse lists and objects whose elements the receiver could not distinguish."""
    tool = endpoint.tool
    written, body = [*placement.parameters], placement.body
    if is_form(tool.body_content_type or "") and isinstance(body, dict):
        written += [
            (b, body[b.field])
            for b in tool.bindings
            if b.location == "body" and b.field in body and endpoint.is_styled(b.field)
        ]
    for b, value in written:
        part = unwritable_part(value, location=b.location, style=b.style, explode=b.explode)
        if part is not None:
            reason = f"{b.name} holds {part}, which its style in the document cannot carry"
            raise ArgumentsInvalid(tool.name, [reason])


def _url(
    endpoint: Endpoint, placement: Placement, credentials: Iterable[tuple[Credential, str]]
) -> str:
    tool = endpoint.tool
    # Some documents distinguish operations by the query of their path, or by a fragment, which is
    # never sent.
    path, _, fixed = _path(tool, placement).partition("#")[0].partition("?")
    url = f"{endpoint.base_url}{path}"
    parts = [
        part
        for b, value in _placed(placement, "query")
        for part in query_parts(
            b.field, value, style=b.style, explode=b.explode, reserved=b.field in endpoint.reserved
        )
    ]
    keys = {f"{encode(c.field)}=": encode(v) for c, v in credentials if c.location == "query"}
    # An argument must not take the place of a credential, whichever of the two the provider reads.
    parts = [part for part in parts if not part.startswith(tuple(keys))]
    parts += [f"{name}{value}" for name, value in keys.items()]
    origin = origin_of(url)
    if origin is None or origin not in endpoint.origins:
        host = f"{origin[1]}:{origin[2]}" if origin else "no host"
        raise EgressRefused(tool.name, f"{host} is not a server that its document declares")
    query = "&".join([*filter(None, [fixed]), *parts])
    return f"{url}?{query}" if query else url


def _path(tool: Tool, placement: Placement) -> str:
    path = tool.path if tool.path.startswith("/") else f"/{tool.path}"
    for binding, value in _placed(placement, "path"):
        text = path_segment(binding.field, value, style=binding.style, explode=binding.explode)
        if not text or not _DOTS.isdisjoint(_SLASH.split(unquote(text))):
            # Dots would lead up, and an empty part to another operation. A proxy in front of a
            # provider may decode a slash first, and then go up.
            raise ArgumentsInvalid(tool.name, [f"{binding.name} cannot be part of a path"])
        path = path.replace("{" + binding.field + "}", text)
    return path


def _placed(placement: Placement, location: Location) -> Iterable[tuple[InputBinding, JsonValue]]:
    return (pair for pair in placement.parameters if pair[0].location == location)


def _header_parameters(tool: Tool, placement: Placement) -> Iterable[tuple[str, str]]:
    for binding, value in _placed(placement, "header"):
        if binding.field.lower() in _OF_THE_CONNECTION:
            raise ArgumentsInvalid(tool.name, [f"{binding.name} is a header that we set ourselves"])
        if binding.style == "json" or value not in ([], {}):
            text = header_text(value, style=binding.style, explode=binding.explode)
            yield binding.field, text


def _header_bytes(tool: Tool, name: str, text: str) -> bytes:
    """Encode a header; refuse line breaks, which would begin another header."""
    if _CONTROL.search(text):
        raise ArgumentsInvalid(tool.name, [f"{name} holds characters that a header cannot carry"])
    return text.strip(" ").encode(errors="replace")
