"""Hostile documents: patterns, paths and schemas cost bounded time."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from orchestrator.sandbox.document_reading import read_document, redirected
from orchestrator.sandbox.schema_validators import is_match, texts_matching
from orchestrator.sandbox.served_schemas import SchemaBook
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema

Json = dict[str, Any]

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ENDLESS = ["^(a+)+$", "^(a|a)*$", "^(?=(a+)+$)a*$", r"^(a*)*\1$", "^(?!(a|aa)+$)a*b$"]
LONG = "a" * 40 + "!"
NAMES: dict[str, Any] = {"^(a+)+$": {}}
Opener = Callable[..., Any]


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    """Fail when a test takes more than five seconds of processor time."""
    began = time.process_time()
    yield
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", ENDLESS)
def test_a_pattern_is_matched_in_bounded_time(pattern: str) -> None:
    """A pattern that backtracks over a text is decided, or left to the client."""
    assert is_match(pattern, LONG) in (True, False)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^(a+)+$", "aaa", True),
        ("^(a+)+$", LONG, False),
        (r"^\p{L}+$", "Ægir", True),
        (r"^\d+$", "٣", False),
        ("^(?!x)y$", "y", True),
        ("^(?!x)y$", "x", False),
        ("^[A-Z]{2}\\-[0-9]{4}$", "AB-1234", True),
    ],
)
def test_an_ordinary_pattern_is_decided(pattern: str, text: str, found: bool) -> None:
    assert is_match(pattern, text) is found


@pytest.mark.parametrize("pattern", ["a" * 20_000, r"(?<n>a)\k<n>", "[^]", "("])
def test_an_undecided_pattern_refuses_nothing(pattern: str) -> None:
    """An unsupported or unbounded pattern counts as a match."""
    assert is_match(pattern, LONG)


@pytest.mark.parametrize(
    "pattern",
    ["(((a{99}){99}){99}){99}", "a{1000000000}", "([\x00-\U0010ffff]{100}){100}", "(" * 5_000, "("],
)
def test_no_endless_text_is_made(pattern: str) -> None:
    """A pattern of nested repetitions, or an invalid one, gives fewer texts, not an error."""
    assert sum(map(len, texts_matching(pattern, Random(0), attempts=20))) < 200_000


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^(a+)+$"},
        {"type": "object", "patternProperties": {"^(a+)+$": {"type": "integer"}}},
        {"type": "object", "patternProperties": NAMES, "additionalProperties": False},
        {"type": "object", "patternProperties": NAMES, "unevaluatedProperties": False},
        {"type": "object", "propertyNames": {"pattern": "^(a+)+$"}},
    ],
)
def test_a_value_is_checked_in_bounded_time(schema: dict[str, Any], version: str) -> None:
    book = SchemaBook({"openapi": version, "components": {"schemas": {"X": schema}}})
    value = LONG if schema["type"] == "string" else {LONG: 1}
    assert book.is_valid(schema, value) in (True, False)


def test_names_that_a_pattern_is_for_are_not_additional() -> None:
    """Additional are the names that no pattern is for."""
    schema = {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}
    book = SchemaBook({"openapi": "3.1.0"})

    assert book.is_valid(schema, {"x-a": 1})
    assert not book.is_valid(schema, {"x-a": "one"})
    assert not book.is_valid(schema, {"x-a": 1, "y": 1})


async def test_a_request_is_checked_in_bounded_time(open_app: Opener, shop: Json) -> None:
    """A pattern of a parameter does not keep the server busy."""
    search = shop["paths"]["/books"]["get"]
    next(p for p in search["parameters"] if p["name"] == "author")["schema"]["pattern"] = "^(a+)+$"
    async with open_app() as http:
        answer = await http.get("/shop/books", params={"author": LONG})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 10**12},
        {"type": "array", "items": {"type": "string"}, "minItems": 10**12},
        {"type": "array", "minItems": 90, "items": {"$ref": "#/components/schemas/Deep"}},
    ],
)
def test_no_endless_value_is_made(schema: dict[str, Any]) -> None:
    """A value that would be too large is refused with a message."""
    deep = {"type": "array", "minItems": 90, "items": {"type": "array", "minItems": 90}}
    deep["items"]["items"] = {"type": "integer"}  # type: ignore[index]
    book = SchemaBook({"openapi": "3.1.0", "components": {"schemas": {"Deep": deep}}})
    with pytest.raises(UnsupportedSchema):
        Synthesizer(book, {}).value(schema, Scene(Random(0), NOON, NOON))


def test_a_thing_made_of_many_of_its_kind_stays_small() -> None:
    """Parts that need not be there are left out once there are many."""
    refers = {"$ref": "#/components/schemas/Node"}
    node = {"type": "object", "properties": {f"p{i}": refers for i in range(20)}}
    book = SchemaBook({"openapi": "3.1.0", "components": {"schemas": {"Node": node}}})
    assert Synthesizer(book, {}).value(refers, Scene(Random(0), NOON, NOON)) != {}


def test_a_path_of_many_parameters_is_matched_at_once() -> None:
    """No regular expression goes back and forth between neighbouring parameters."""
    names = [f"p{i}" for i in range(20)]
    many = "/x/" + "".join(f"{{{name}}}" for name in names) + "END"
    parameters = [{"name": n, "in": "path", "required": True, "schema": {}} for n in names]
    get = {"operationId": "x", "parameters": parameters, "responses": {}}
    document = read_document("d", {"openapi": "3.1.0", "paths": {many: {"get": get}}})

    assert document.candidates("get", "/x/" + "a" * 200, {}) == []
    assert len(document.candidates("get", "/x/" + "a" * 200 + "END", {})) == 1


@pytest.mark.parametrize(
    ("template", "path", "values"),
    [
        ("/a", "/a", []),
        ("/a", "/b", None),
        ("/a/{x}", "/a/1", ["1"]),
        ("/a/{x}", "/a/", None),
        ("/a/{x}", "/a/1/2", None),
        ("/a/{x}/b", "/a/1/b", ["1"]),
        ("/a/{x}/b/{y}", "/a/1/b/2", ["1", "2"]),
        ("/{x}.{y}", "/a.b.c", ["a.b", "c"]),
        ("/{x}.{y}", "/.b", None),
        ("/{x}{y}", "/abc", ["ab", "c"]),
        ("/{x}{y}", "/a", None),
        ("/{x}...{y}", "/a....b", ["a.", "b"]),
        ("/a{x}a", "/aa", None),
        ("/a{x}a", "/a", None),
        ("/a{x}a", "/aaa", ["a"]),
    ],
)
def test_a_path_gives_its_values(template: str, path: str, values: list[str] | None) -> None:
    """Each parameter takes at least one character and no slash, the first as many as it can."""
    document = read_document("d", {"openapi": "3.1.0", "paths": {template: {"get": {}}}})
    assert document.operations[0].path_values(path) == values


async def test_a_provider_that_has_no_id_left_says_so(open_app: Opener, shop: Json) -> None:
    """The search for a free id ends when the schema allows only one."""
    placed = shop["components"]["schemas"]["Order"]["properties"]
    placed["order_id"] = {"type": "string", "pattern": "^only$"}
    async with open_app() as http:
        book = (await http.get("/shop/books", params={"author": "Eco"})).json()["books"][0]
        body = {"book_id": book["book_id"], "note": "one"}
        answers = [await http.post("/shop/orders", json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 501]
    assert "order_id" in answers[1].text


@pytest.mark.parametrize("kind", ["parameters", "requestBodies", "responses"])
def test_references_in_a_circle_are_named(kind: str) -> None:
    """References that lead to each other are followed once, and their operation is left out."""
    refers = {"$ref": f"#/components/{kind}/A"}
    where: dict[str, Any] = {
        "parameters": {"parameters": [refers]},
        "requestBodies": {"requestBody": refers},
        "responses": {"responses": {"200": refers}},
    }
    post = {"operationId": "x", "responses": {}, **where[kind]}
    circle = {"A": {"$ref": f"#/components/{kind}/B"}, "B": refers}
    raw = {"openapi": "3.1.0", "paths": {"/x": {"post": post}}, "components": {kind: circle}}
    (skipped,) = read_document("d", raw).skipped
    assert "circle" in skipped.reason


def test_paths_that_refer_to_each_other_are_not_turned_for_ever() -> None:
    """A path that is a reference to itself, by way of another, stays unresolved."""
    paths = {"/x": {"$ref": "#/paths/~1y"}, "/y": {"$ref": "#/paths/~1x"}}
    turned = redirected({"d": {"openapi": "3.1.0", "paths": paths}}, "http://127.0.0.1:1")
    read = read_document("d", turned["d"])
    assert read.operations == ()
    assert [skipped.pointer for skipped in read.skipped] == ["/paths/~1x/$ref", "/paths/~1y/$ref"]


def test_a_schema_that_is_its_own_alternative_is_named() -> None:
    """An operation whose answer is one of itself is left out."""
    itself = {"$ref": "#/components/schemas/A"}
    schemas = {"A": {"oneOf": [itself, {"type": "string"}]}}
    answer = {"description": "x", "content": {"application/json": {"schema": itself}}}
    post = {"operationId": "x", "responses": {"201": answer}}
    raw = {"openapi": "3.1.0", "paths": {"/x": {"post": post}}, "components": {"schemas": schemas}}
    (skipped,) = read_document("d", raw).skipped
    assert "part of itself" in skipped.reason


async def test_an_answer_that_must_contain_itself_is_refused(open_app: Opener, shop: Json) -> None:
    order = shop["components"]["schemas"]["Order"]
    order["properties"]["again"] = {"$ref": "#/components/schemas/Order"}
    order["required"] = [*order.get("required", []), "again"]
    async with open_app() as http:
        book = (await http.get("/shop/books", params={"author": "Eco"})).json()["books"][0]
        answer = await http.post("/shop/orders", json={"book_id": book["book_id"]})
    assert answer.status_code == 501
