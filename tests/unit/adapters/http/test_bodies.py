"""Bodies as their document declares them: forms, parts, files, text, ranges of types."""

import re
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from orchestrator.adapters.http.endpoint import Endpoints
from orchestrator.adapters.http.request import build_request, place_arguments
from orchestrator.catalog.arguments import check_arguments
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.record import JsonObject
from tests.unit.adapters.http.one_operation import catalog_of

FORM = "application/x-www-form-urlencoded"


def _sent(
    content: dict[str, Any], arguments: JsonObject, version: str = "3.1.0", key: str = ""
) -> httpx.Request:
    body = {"required": True, "content": content}
    catalog = catalog_of(
        {"x-orchet-requires-confirmation": False, "requestBody": body}, version=version
    )
    tool = catalog.tool("thing")
    assert check_arguments(catalog, tool, arguments) == ()
    endpoint = Endpoints({}).of(catalog, tool)
    placement = place_arguments(tool, arguments, body_required=True, key=tool.key_of(key))
    assert endpoint.contract.request_violations(placement) == ()
    return build_request(endpoint, placement, headers={})


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize("content_type", ["application/json", FORM])
@pytest.mark.parametrize("given", [{"name": "Ann"}, {}])
def test_the_idempotency_key_goes_into_its_field(content_type: str, given: JsonObject) -> None:
    """A body property that takes the key is required of nobody and sent with each call."""
    key = {"type": "string", "format": "uuid"}
    schema = {
        **_object(idempotency_key=key, name={"type": "string"}),
        "required": ["idempotency_key"],
    }
    content = {content_type: {"schema": schema}}
    body = _sent(content, given, key="m-1.leg.1").content.decode()

    found = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", body)
    assert len(found) == 1
    assert ("Ann" in body) is bool(given)


ITEMS: dict[str, Any] = {"type": "array", "items": _object(price={"type": "string"})}


@pytest.mark.parametrize(
    ("encoding", "form"),
    [
        ({"style": "deepObject", "explode": True}, "items[0][price]=p&items[1][price]=q"),
        ({"style": "form", "explode": True}, "items[0][price]=p&items[1][price]=q"),
        ({}, 'items={"price":"p"}&items={"price":"q"}'),
    ],
)
def test_lists_of_objects_in_forms(encoding: dict[str, Any], form: str) -> None:
    """In brackets where a style is declared, JSON by OpenAPI's own default where none is."""
    content = {FORM: {"schema": _object(items=ITEMS), "encoding": {"items": encoding}}}
    request = _sent(content, {"items": [{"price": "p"}, {"price": "q"}]})

    assert unquote(request.read().decode()) == form


TYPED: dict[str, tuple[str, Any, str, bytes]] = {
    "a form whose type has parameters": (f"{FORM}; charset=utf-8", {"a": "x y"}, FORM, b"a=x%20y"),
    "a range, of which JSON is sent": ("*/*", {"a": 1}, "application/json", b'{"a":1}'),
    "another range": ("application/*", {"a": 1}, "application/json", b'{"a":1}'),
    "text that we do not write": ("application/xml", {"body": "<a>1</a>"}, "", b"<a>1</a>"),
    "a file as a whole body": ("image/png", {"body": "data:;base64,iVD/"}, "", b"\x89P\xff"),
    "text": ("text/plain", {"body": "hé"}, "", "hé".encode()),
    "a number as text": ("text/plain", {"body": 5}, "", b"5"),
    "a truth value as text": ("text/plain", {"body": True}, "", b"true"),
}


@pytest.mark.parametrize("case", TYPED)
def test_a_body_is_sent_by_its_declared_type(case: str) -> None:
    """A range is no type that a request could have; an object described as XML is the caller's."""
    declared, given, sent_type, body = TYPED[case]
    schemas: dict[str, Any] = {
        "text/plain": {"type": ["string", "integer", "boolean"]},
        "image/png": {"type": "string", "format": "binary"},
        "application/xml": {"type": "object", "required": ["a"]},
    }
    schema = schemas.get(declared, _object(a={"type": ["string", "integer"]}))
    request = _sent({declared: {"schema": schema}}, given)

    assert request.headers["content-type"].startswith(sent_type or declared)
    assert request.read() == body


def _parts(request: httpx.Request) -> list[tuple[Any, Any, str, bytes]]:
    head = b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n"
    message: Any = BytesParser(policy=HTTP).parsebytes(head + request.read())
    found = []
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content_type, body = part.get_content_type(), part.get_payload(decode=True)
        found.append((name, part.get_filename(), content_type, body))
    return found


def test_parts_of_every_kind() -> None:
    """Text, files as they are and by `data:` URL, JSON, declared types, a part for each element."""
    binary = {"type": "string", "format": "binary"}
    schema = _object(
        note={"type": "string"},
        scan=binary,
        pages={"type": "array", "items": binary},
        meta={"type": "object"},
        tags={"type": "array", "items": {"type": "string"}},
        label={"type": "string"},
    )
    encoding = {"label": {"contentType": "text/csv"}, "scan": {"contentType": "image/png"}}
    request = _sent(
        {"multipart/form-data": {"schema": schema, "encoding": encoding}},
        {
            "note": "hé",
            "scan": "data:;base64,iVD/",
            "pages": ["data:text/html;charset=utf-8,%3Cb%3E", "plain"],
            "meta": {"a": [1]},
            "tags": ["x", "y"],
            "label": "a;b",
        },
    )

    assert _parts(request) == [
        ("label", None, "text/csv", b"a;b"),
        ("meta", None, "application/json", b'{"a":[1]}'),
        ("note", None, "text/plain", "hé".encode()),
        ("pages", "pages", "text/html", b"<b>"),
        ("pages", "pages", "application/octet-stream", b"plain"),
        ("scan", "scan", "image/png", b"\x89P\xff"),
        ("tags", None, "text/plain", b"x"),
        ("tags", None, "text/plain", b"y"),
    ]


def test_a_retry_sends_the_same_parts() -> None:
    """Byte for byte, its boundaries included: a provider compares what comes under one key."""
    content = {"multipart/form-data": {"schema": _object(a={}, b={})}}
    first, second = (_sent(content, {"a": "x", "b": [1, 2]}) for _ in range(2))

    assert first.read() == second.read()
    assert first.headers["content-type"] == second.headers["content-type"]


def test_a_url_of_data_that_is_none_is_refused() -> None:
    """Nobody sends half a file."""
    schema = _object(scan={"type": "string", "format": "binary"})

    with pytest.raises(ArgumentsInvalid, match="data: URL"):
        _sent({"multipart/form-data": {"schema": schema}}, {"scan": "data:;base64,%%%"})


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["text/plain", FORM, "application/json"], "application/json"),
        (["application/xml", "application/vnd.shop.v2+json"], "application/vnd.shop.v2+json"),
        (["multipart/form-data", FORM, "application/xml"], FORM),
        (["application/json; charset=utf-8", "application/xml"], "application/json; charset=utf-8"),
        (["*/*", "application/json"], "application/json"),
        (["application/xml", "multipart/form-data"], "multipart/form-data"),
    ],
)
def test_of_several_types_json_is_sent_else_a_form(offered: list[str], chosen: str) -> None:
    request = _sent({name: {"schema": _object(a={})} for name in offered}, {"a": "x"})

    assert request.headers["content-type"].split("; boundary")[0] == chosen
