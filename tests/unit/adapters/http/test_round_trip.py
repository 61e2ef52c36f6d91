"""What is written is what a server reads that knows only OpenAPI's table of styles.

The reading side is written here, from the table of the specification and RFC 6570, and shares
nothing with the code that writes.
"""

import functools
import json
import re
import string
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.adapters.http.endpoint import Endpoints
from orchestrator.adapters.http.request import build_request, place_arguments
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.record import JsonObject
from tests.unit.adapters.http.one_operation import catalog_of

# The first example of a way compiles its document, which takes its time on a busy machine.
patient = settings(deadline=None)
ABSENT = object()
NAME = "p"


class Way(NamedTuple):
    """One row of the table: where a parameter is, how it is written, what it is."""

    location: str
    style: str
    explode: bool
    shape: str


def _ways() -> list[Way]:
    """Every combination that OpenAPI defines."""
    both, shapes = (False, True), ("primitive", "array", "object")
    styles = {
        "path": ("simple", "label", "matrix"),
        "query": ("form",),
        "header": ("simple",),
        "cookie": ("form",),
    }
    table = [
        Way(location, style, explode, shape)
        for location, names in styles.items()
        for style in names
        for explode in both
        for shape in shapes
    ]
    delimited = [
        Way("query", style, False, shape)
        for style in ("spaceDelimited", "pipeDelimited")
        for shape in ("array", "object")
    ]
    return [*table, *delimited, Way("query", "deepObject", True, "object")]


# -- the writing side -----------------------------------------------------------------------------


@functools.cache
def _endpoint(location: str, how: str, schema: str) -> Any:
    """The endpoint of a tool with one parameter; documents travel as JSON, to be cached."""
    parameter = {"name": NAME, "in": location, "required": location == "path"}
    path = "/a/{p}/z" if location == "path" else "/a"
    parameters = [{**parameter, **json.loads(how), **json.loads(schema)}]
    catalog = catalog_of({"parameters": parameters}, path=path, method="get")
    tool = catalog.tool("thing")
    return tool, Endpoints({}).of(catalog, tool)


def _sent(location: str, how: JsonObject, schema: JsonObject, value: JsonValue) -> httpx.Request:
    tool, endpoint = _endpoint(location, json.dumps(how), json.dumps(schema))
    placement = place_arguments(tool, {NAME: value}, body_required=False)
    assert endpoint.contract.request_violations(placement) == ()
    return build_request(endpoint, placement, headers={})


_SCHEMAS: dict[str, JsonObject] = {
    "primitive": {},
    "array": {"type": "array"},
    "object": {"type": "object"},
}


def _written(way: Way, value: JsonValue) -> httpx.Request:
    how: JsonObject = {"style": way.style, "explode": way.explode}
    return _sent(way.location, how, {"schema": _SCHEMAS[way.shape]}, value)


# -- the reading side -----------------------------------------------------------------------------


def _place(location: str, request: httpx.Request) -> Any:
    """The raw text of the parameter's place; ABSENT when there is none."""
    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    if location == "path":
        assert path.startswith("/a/")
        assert path.endswith("/z")
        inner = path.removeprefix("/a/").removesuffix("/z")
        assert not set(inner) & set("/?#")
        return inner
    assert path == "/a"
    if location == "query":
        assert not set(query) - set(string.ascii_letters + string.digits + "-._~%=&,")
        return query or ABSENT
    name = b"cookie" if location == "cookie" else NAME.encode()
    found = [value for key, value in request.headers.raw if key.lower() == name]
    assert len(found) <= 1
    if not found:
        return ABSENT
    return found[0].decode("ascii" if location == "cookie" else "utf-8")


def _pairs(parts: list[str], decode: Callable[[str], str]) -> dict[str, str]:
    """`k=v` each."""
    split = [part.partition("=") for part in parts]
    return {decode(key): decode(value) for key, _, value in split}


def _flat(parts: list[str], decode: Callable[[str], str]) -> dict[str, str]:
    """`k,v,k,v`."""
    assert len(parts) % 2 == 0
    return {decode(parts[i]): decode(parts[i + 1]) for i in range(0, len(parts), 2)}


def _listed(text: str, way: Way, delimiter: str, decode: Callable[[str], str]) -> Any:
    """A value of one place: elements between delimiters."""
    if way.shape == "primitive":
        return decode(text)
    parts = text.split(delimiter)
    if way.shape == "array":
        return [decode(part) for part in parts]
    return _pairs(parts, decode) if way.explode else _flat(parts, decode)


def _read_matrix(text: str, way: Way) -> Any:
    assert text.startswith(";")
    parts = text[1:].split(";")
    if way.explode and way.shape == "object":
        return _pairs(parts, unquote)
    return _values(parts, way, ",")


def _read_named(text: str, way: Way, between: str) -> Any:
    """`name=value` parts of a query or of cookies."""
    parts = text.split(between)
    if way.style == "deepObject":
        found = _pairs(parts, unquote)
        assert all(key.startswith(f"{NAME}[") and key.endswith("]") for key in found)
        return {key[len(NAME) + 1 : -1]: value for key, value in found.items()}
    if way.explode and way.shape == "object":
        return _pairs(parts, unquote)
    delimiter = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(way.style, ",")
    return _values(parts, way, delimiter)


def _values(parts: list[str], way: Way, delimiter: str) -> Any:
    """What follows our one name: once for each element when exploded, else all of it at once."""
    names, _, values = zip(*(part.partition("=") for part in parts), strict=True)
    assert set(names) == {NAME}
    if way.explode and way.shape == "array":
        return [unquote(value) for value in values]
    (value,) = values
    return _listed(value, way._replace(explode=False), delimiter, unquote)


def _read(way: Way, request: httpx.Request) -> Any:
    """What a server reads, all of it text."""
    text = _place(way.location, request)
    if text is ABSENT:
        return {"array": [], "object": {}}[way.shape]
    if way.location == "query":
        return _read_named(text, way, "&")
    if way.location == "cookie":
        return _read_named(text, way, "; ")
    if way.location == "header":
        return _listed(text, way, ",", str)
    if way.style == "label":
        assert text.startswith(".")
        return _listed(text[1:], way, "." if way.explode else ",", unquote)
    return _read_matrix(text, way) if way.style == "matrix" else _listed(text, way, ",", unquote)


# -- what is written ------------------------------------------------------------------------------

RESERVED = st.text(st.sampled_from(":/?#[]@!$&'()*+,;=%|. \"<>\\^`{}~-_"), max_size=6)
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=8),
    RESERVED,
    st.sampled_from(["", " ", "a b", "100%", "%2F", "é", "日本", "🛫", "a\u0301", "..", "null"]),
)
SCALARS = st.one_of(TEXTS, st.integers(), st.booleans())
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "primitive": SCALARS,
    "array": st.lists(SCALARS, max_size=4),
    "object": st.dictionaries(TEXTS, SCALARS, max_size=4),
}


def _text(value: Any) -> str:
    """A scalar as a server that parses text would expect it."""
    return json.dumps(value) if isinstance(value, bool | int) else value


def _as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _text(held) for key, held in value.items()}
    return [_text(held) for held in value] if isinstance(value, list) else _text(value)


def _parts(value: Any) -> list[str]:
    texts = _as_text(value)
    if isinstance(texts, dict):
        return [*texts, *texts.values()]
    return texts if isinstance(texts, list) else [texts]


def _plain(way: Way, value: Any) -> str:
    """What is written in a path, as it reads where somebody decodes its slashes."""
    texts = _as_text(value)
    between = {"simple": ",", "label": "." if way.explode else ",", "matrix": ","}[way.style]
    if way.style == "matrix" and way.explode:
        between = ";" if way.shape == "object" else f";{NAME}="
    if isinstance(texts, dict):
        joint = "=" if way.explode else between
        texts = [f"{key}{joint}{held}" for key, held in texts.items()]
    named = "" if way.explode and way.shape == "object" else f"{NAME}="
    start = {"simple": "", "label": ".", "matrix": f";{named}"}[way.style]
    return start + between.join(texts if isinstance(texts, list) else [texts])


def _must_be_refused(way: Way, value: Any) -> bool:
    """Whether no request could carry the value so that it is read as it was written."""
    parts = _parts(value)
    if way.location == "path":
        if value in ([], {}) or not {".", ".."}.isdisjoint(re.split(r"[/\\]", _plain(way, value))):
            return True
        if way.style == "simple" and ",".join(parts) in ("", ".", ".."):
            return way.shape != "object"
        if way.style == "label":
            if way.shape != "primitive" and way.explode and any("." in part for part in parts):
                return True
            written = ("." if way.explode else ",").join(parts)
            return way.shape != "object" and written in ("", ".")
    if way.location == "header":
        if any(ord(c) < 32 or ord(c) == 127 for part in parts for c in part):
            return True
        if way.explode and way.shape == "object" and any("=" in key for key in value):
            return True
        return way.shape != "primitive" and any("," in part for part in parts)
    if way.style == "deepObject":
        return any(mark in key for key in value for mark in "[]")
    delimiter = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(way.style)
    return delimiter is not None and any(delimiter in part for part in parts)


def _is_at_the_edge_of_a_header(value: Any) -> bool:
    """Spaces around a header's value are no part of it: HTTP takes them off."""
    text = ",".join(_parts(value))
    return text != text.strip(" ")


@pytest.mark.parametrize("shape", VALUES)
@patient
@given(data=st.data())
def test_what_is_read_is_what_was_given(shape: str, data: st.DataObject) -> None:
    """In every place and style, exploded or not; what cannot be carried is refused, not bent."""
    value = data.draw(VALUES[shape])
    for way in (way for way in _ways() if way.shape == shape):
        if way.location == "header" and _is_at_the_edge_of_a_header(value):
            continue
        if _must_be_refused(way, value):
            with pytest.raises(ArgumentsInvalid):
                _written(way, value)
            continue

        assert _read(way, _written(way, value)) == _as_text(value), way


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(SCALARS, st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
).filter(lambda value: value is not None)


LOCATIONS = ("path", "query", "header", "cookie")


def _content_read(location: str, content: JsonObject, value: Any) -> str:
    """What a server reads of a parameter that is written as content."""
    text = _place(location, _sent(location, {}, {"content": content}, value))
    raw: str = text.removeprefix(f"{NAME}=") if location in ("query", "cookie") else text
    return raw if location == "header" else unquote(raw)


@patient
@given(value=JSON_VALUES)
def test_parameters_with_content_are_json(value: Any) -> None:
    """Of any shape and depth, in every place; a path takes no text with a step of dots."""
    steps = re.split(r"[/\\]", json.dumps(value, ensure_ascii=False))
    for location in LOCATIONS if {".", ".."}.isdisjoint(steps) else LOCATIONS[1:]:
        read = _content_read(location, {"application/json": {"schema": {}}}, value)

        assert json.loads(read) == value, location


@patient
@given(value=st.text(st.sampled_from('ab"{}[]é &=%'), min_size=1))
def test_parameters_with_text_content_are_the_text(value: str) -> None:
    """Other content than JSON gets no quotes, in any place."""
    assume(value == value.strip())
    content: JsonObject = {"text/plain": {"schema": {"type": "string"}}}
    for location in LOCATIONS:
        assert _content_read(location, content, value) == value, location
