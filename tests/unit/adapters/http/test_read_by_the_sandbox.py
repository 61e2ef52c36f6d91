"""What the product writes, the sandbox reads as the same value; they share no code.

Each reads the document by itself: whatever one of them takes a style to mean, the other must too.
"""

import functools
import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from starlette.requests import Request

from orchestrator.adapters.http.endpoint import Endpoints
from orchestrator.adapters.http.request import build_request, place_arguments
from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.record import JsonObject
from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.request_validation import RequestValidator, sent_path
from tests.unit.adapters.http.one_operation import document_of

patient = settings(deadline=None, max_examples=60)
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


class _Pair:
    """The product's and the sandbox's reading of one operation."""

    def __init__(
        self, path: str, operation: dict[str, Any], schemas: dict[str, Any], version: str = "3.1.0"
    ) -> None:
        free = {"x-orchet-requires-confirmation": False, **operation}
        server = "https://api.example.com/v1"
        document: Any = document_of(
            free, path=path, version=version, server=server, schemas=schemas
        )
        self.catalog = Catalog.from_documents({"d": document})
        self.tool = self.catalog.tool("thing")
        self.endpoint = Endpoints({}).of(self.catalog, self.tool)
        read = read_document("d", document)
        (self.operation,) = read.operations
        self.validator = RequestValidator(read)

    def read(self, arguments: JsonObject, *, is_checked: bool = True) -> dict[str, Any]:
        """The arguments as the sandbox finds them in the request that the product makes of them."""
        if is_checked:
            assert check_arguments(self.catalog, self.tool, arguments) == ()
        placement = place_arguments(self.tool, arguments, body_required=False)
        if is_checked:
            assert self.endpoint.contract.request_violations(placement) == ()
        request = build_request(self.endpoint, placement, headers={})
        target, _, query = request.url.raw_path.decode().partition("?")
        scope = {
            "type": "http",
            "method": request.method,
            "path": unquote(target),
            "raw_path": target.encode(),
            "root_path": "/v1",
            "query_string": query.encode(),
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }
        return self.validator.arguments(
            self.operation, Request(scope), sent_path(scope), request.read()
        )


@functools.cache
def _parameter(location: str, how: str, schema: str) -> _Pair:
    parameter = {"name": "p", "in": location, "required": location == "path"}
    path = "/a/{p}/z" if location == "path" else "/a"
    declared = {**parameter, **json.loads(how), "schema": json.loads(schema)}
    return _Pair(path, {"parameters": [declared]}, {})


@functools.cache
def _body(content_type: str, encoding: str, schema: str) -> _Pair:
    entry: dict[str, Any] = {"schema": json.loads(schema)}
    if encoding != "{}":
        entry["encoding"] = {"p": json.loads(encoding)}
    return _Pair("/a", {"requestBody": {"content": {content_type: entry}}}, {})


SCALARS: dict[str, tuple[JsonObject, st.SearchStrategy[Any]]] = {
    "text": ({"type": "string"}, st.text(st.characters(codec="utf-8"), max_size=6)),
    "whole": ({"type": "integer"}, st.integers(-(2**60), 2**60)),
    "number": (
        {"type": "number"},
        st.floats(allow_nan=False, allow_infinity=False, width=32).filter(lambda x: x != 0 or x),
    ),
    "flag": ({"type": "boolean"}, st.booleans()),
}
NAMES = st.sampled_from(["a", "b-c", "é", "long name", "x.y"])
Kind = tuple[JsonObject, st.SearchStrategy[Any]]


def _list_of(kind: Kind) -> Kind:
    schema: JsonObject = {"type": "array", "items": kind[0]}
    return schema, st.lists(kind[1], min_size=1, max_size=3)


def _object_of(kind: Kind) -> Kind:
    schema: JsonObject = {
        "type": "object",
        "properties": dict.fromkeys(["a", "b-c", "é", "long name", "x.y"], kind[0]),
    }
    return schema, st.dictionaries(NAMES, kind[1], min_size=1, max_size=3)


FLAT = {
    name: kind
    for scalar, one in SCALARS.items()
    for name, kind in (
        (scalar, one),
        (f"list of {scalar}", _list_of(one)),
        (f"object of {scalar}", _object_of(one)),
    )
}
NESTED = {
    "list of objects": _list_of(_object_of(SCALARS["whole"])),
    "list of objects of lists": _list_of(_object_of(_list_of(SCALARS["text"]))),
    "object of objects": _object_of(_object_of(SCALARS["flag"])),
    "object of lists": _object_of(_list_of(SCALARS["text"])),
    "list of lists": _list_of(_list_of(SCALARS["whole"])),
}
WAYS: list[tuple[str, dict[str, Any]]] = [
    ("path", {}),
    ("path", {"explode": True}),
    ("path", {"style": "label"}),
    ("path", {"style": "label", "explode": True}),
    ("path", {"style": "matrix"}),
    ("path", {"style": "matrix", "explode": True}),
    ("query", {}),
    ("query", {"explode": False}),
    ("query", {"allowReserved": True}),
    ("query", {"explode": False, "allowReserved": True}),
    ("query", {"style": "spaceDelimited"}),
    ("query", {"style": "spaceDelimited", "explode": True}),
    ("query", {"style": "pipeDelimited"}),
    ("query", {"style": "pipeDelimited", "explode": True}),
    ("query", {"style": "deepObject", "explode": True}),
    ("header", {}),
    ("header", {"explode": True}),
]


def _returns(pair: _Pair, value: JsonValue) -> None:
    try:
        read = pair.read({"p": value})
    except ArgumentsInvalid:
        assume(False)
    else:
        assert read == {"p": value}


def _edges(value: Any) -> bool:
    """HTTP takes spaces off the edges of a header."""
    return any(text != text.strip() or text in ("", ".", "..") for text in _texts(value))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for held in value.values() for text in _texts(held))]
    if isinstance(value, list):
        return [text for held in value for text in _texts(held)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("kind", FLAT)
@patient
@given(data=st.data())
def test_flat_parameters(kind: str, data: st.DataObject) -> None:
    """Of every type, in every place and style; what cannot be carried was refused."""
    schema, values = FLAT[kind]
    value = data.draw(values)
    location, how = data.draw(st.sampled_from(WAYS))
    if location in ("path", "header"):
        assume(not _edges(value))

    _returns(_parameter(location, json.dumps(how), json.dumps(schema)), value)


@pytest.mark.parametrize("kind", NESTED)
@patient
@given(data=st.data())
def test_nested_parameters(kind: str, data: st.DataObject) -> None:
    """In brackets, where OpenAPI says nothing else."""
    schema, values = NESTED[kind]
    how = data.draw(st.sampled_from([{"style": "deepObject", "explode": True}, {}]))

    _returns(_parameter("query", json.dumps(how), json.dumps(schema)), data.draw(values))


@pytest.mark.parametrize("kind", [*FLAT, *NESTED])
@patient
@given(data=st.data())
def test_bodies(kind: str, data: st.DataObject) -> None:
    """JSON, forms with and without an encoding, parts."""
    schema, values = {**FLAT, **NESTED}[kind]
    whole = {"type": "object", "properties": {"p": schema}}
    content_type = data.draw(st.sampled_from([FORM, MULTIPART, "application/vnd.x+json"]))
    encoding: dict[str, Any] = {}
    if content_type == FORM:
        encoding = data.draw(st.sampled_from([{}, {"style": "deepObject", "explode": True}]))
    if content_type == MULTIPART:
        assume(kind != "list of lists")
    value = data.draw(values)

    _returns(_body(content_type, json.dumps(encoding), json.dumps(whole)), value)


def test_what_breaks_the_schema_is_refused_by_its_place() -> None:
    """Nested fields are held to their schemas, by names that say where they are."""
    schema = NESTED["list of objects"][0]
    pair = _parameter("query", '{"style": "deepObject"}', json.dumps(schema))
    with pytest.raises(RequestRefused) as refused:
        pair.read({"p": [{"a": 1}, {"a": "x"}]}, is_checked=False)

    assert [violation.field for violation in refused.value.violations] == ["p.1.a"]


def test_a_file_is_read_as_it_was_given() -> None:
    """Bytes that are no text come back as the `data:` URL that they were sent as."""
    schema = {"type": "object", "properties": {"p": {"type": "string", "format": "binary"}}}
    pair = _body(MULTIPART, "{}", json.dumps(schema))

    assert pair.read({"p": "data:;base64,iVD/"}) == {"p": "data:;base64,iVD/"}


def test_one_text_in_brackets_is_rather_no_list() -> None:
    """Where a list or a text may stand, an element of a list would have brackets of its own."""
    either = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"enum": ["", "auto"]}]}
    schema = {"type": "object", "properties": {"p": {"properties": {"rates": either}}}}
    pair = _body(FORM, '{"style": "deepObject", "explode": true}', json.dumps(schema))

    values: tuple[JsonValue, ...] = ("", ["", "auto"], ["x"])
    for value in values:
        assert pair.read({"p": {"rates": value}}) == {"p": {"rates": value}}


@pytest.mark.parametrize("kind", ["sent", "kept"])
def test_alternatives_are_led_by_what_their_schemas_say(kind: str) -> None:
    """The sandbox takes what the product sends, without a mapping and with names that differ."""
    schemas: dict[str, Any] = {
        name: {
            "type": "object",
            "required": [need],
            "properties": {"kind": {"type": "string", "enum": [kinds]}, need: {"type": "string"}},
        }
        for name, kinds, need in (("First", "sent", "to"), ("Second", "kept", "where"))
    }
    choice = {
        "oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in schemas],
        "discriminator": {"propertyName": "kind"},
    }
    whole = {"type": "object", "properties": {"p": choice}}
    body = {"requestBody": {"content": {"application/json": {"schema": whole}}}}
    value: JsonObject = {"kind": kind, "to": "x", "where": "y"}

    assert _Pair("/a", body, schemas).read({"p": value}) == {"p": value}


@pytest.mark.parametrize(
    "more", [{"allOf": [{"type": "object"}]}, {"type": "string", "enum": ["a"]}]
)
def test_null_is_sent_where_it_is_meant(more: dict[str, Any]) -> None:
    """OpenAPI 3.0 leaves open what `nullable` means beside other keywords; all of us agree."""
    whole = {"type": "object", "properties": {"p": {"nullable": True, **more}}}
    body = {"requestBody": {"content": {"application/json": {"schema": whole}}}}

    assert _Pair("/a", body, {}, "3.0.3").read({"p": None}) == {"p": None}


@pytest.mark.parametrize(
    ("how", "value"), [({}, ["a;b", "c d"]), ({"explode": False}, ["a,b", "c"]), ({}, {"a": 1})]
)
def test_cookies(how: dict[str, Any], value: JsonValue) -> None:
    """They are held to their schemas; what an operation does is not told by them."""
    kind = "array" if isinstance(value, list) else "object"
    items = {"type": kind, "items": {"type": "string"}, "additionalProperties": {"type": "integer"}}
    pair = _parameter("cookie", json.dumps(how), json.dumps({**items, "minItems": 2}))

    assert pair.read({"p": value}) == {}
    if isinstance(value, list):
        with pytest.raises(RequestRefused):
            pair.read({"p": value[:1]}, is_checked=False)
