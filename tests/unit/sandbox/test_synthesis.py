"""Values made up from schemas, and lists narrowed by the names of arguments."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from orchestrator.sandbox.answer_composer import keep, match
from orchestrator.sandbox.served_schemas import SchemaBook
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TREE = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
    },
}


def book(version: str = "3.1.0") -> SchemaBook:
    return SchemaBook({"openapi": version, "components": {"schemas": {"Tree": TREE}}})


def make(
    schema: dict[str, Any], *, seed: int = 0, version: str = "3.1.0", **hints: Any
) -> dict[str, Any]:
    whole = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    scene = Scene(Random(seed), NOON, NOON, hints)
    return Synthesizer(book(version), {}).object(whole, scene)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "uuid"},
        {"type": "string", "format": "email"},
        {"type": "string", "minLength": 40, "maxLength": 41},
        {"type": "string", "maxLength": 2},
        {"type": "string", "pattern": "^[A-Z]{2}[0-9]{4}$"},
        {"type": "string", "pattern": "^[a-z]+$", "maxLength": 30},
        {"type": "string", "enum": ["a", "b"]},
        {"const": 7},
        {"type": "integer", "exclusiveMinimum": 3, "maximum": 4},
        {"type": "integer", "multipleOf": 15, "minimum": 15, "maximum": 60},
        {"type": "number", "minimum": -90, "maximum": -80},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
        {"type": ["string", "null"]},
        {"type": "boolean"},
        {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "minItems": 2},
        {"type": "array", "items": {"type": "integer"}, "minItems": 5, "maxItems": 5},
        {"type": "array", "items": {"type": "integer"}, "maxItems": 0},
        {"oneOf": [{"type": "integer"}, {"type": "string"}]},
        {"anyOf": [{"type": "object", "required": ["y"], "properties": {"y": {"const": 1}}}]},
        {"allOf": [{"$ref": "#/components/schemas/Tree"}, {"required": ["children"]}]},
        {"$ref": "#/components/schemas/Tree"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {},
    ],
)
def test_value_conforms(schema: dict[str, Any]) -> None:
    made = [make(schema, seed=seed)["x"] for seed in range(5)]

    assert [value for value in made if not book().is_valid(schema, value)] == []


def test_value_conforms_in_30() -> None:
    """OpenAPI 3.0 writes some limits in its own way."""
    bounded = {"type": "integer", "minimum": 3, "exclusiveMinimum": True, "maximum": 4}
    for schema in (bounded, {"type": "string", "nullable": True}):
        made = make(schema, version="3.0.3")
        assert book("3.0.3").is_valid(schema, made["x"]), made


def test_hint_is_taken_where_it_fits() -> None:
    """A valid hint becomes the value; an invalid one is ignored."""
    schema = {"type": "integer", "maximum": 9}

    assert make(schema, x=5) == {"x": 5}
    assert make(schema, x=50)["x"] <= 9


def test_same_seed_makes_the_same() -> None:
    schema = {"$ref": "#/components/schemas/Tree"}

    assert make(schema, seed=3) == make(schema, seed=3)


def test_impossible_schema_is_named() -> None:
    """The error names the property and asks for an example."""
    with pytest.raises(UnsupportedSchema, match=r"'x'.*example"):
        make({"type": "integer", "minimum": 5, "maximum": 4})


@pytest.mark.parametrize(
    ("states", "standing", "cancelled"),
    [
        (["cancelled", "confirmed"], "confirmed", "cancelled"),
        (["pending", "settled", "cancelled"], "pending", "cancelled"),
        (["deleted", "cancelled"], "deleted", "cancelled"),
        (["completed", "refunded"], "completed", "refunded"),
        (["closed", "open"], "open", None),
        (["extended", "running"], "extended", None),
        (["open"], "open", None),
    ],
)
def test_a_status_says_if_it_stands(
    states: list[str], standing: str, cancelled: str | None
) -> None:
    """The state comes from the values that the document declares."""
    make_status = Synthesizer(book(), {}).status
    schema = {"enum": states}

    assert make_status(schema, is_cancelled=False) == standing
    assert make_status(schema, is_cancelled=True) == cancelled


def test_a_state_says_that_something_ended() -> None:
    ended = Synthesizer(book(), {}).ended
    states = (["running", "ended"], ["open", "auto-closed"], ["extended"])

    assert [ended({"enum": one}) for one in states] == ["ended", "auto-closed", None]


ITEMS: list[dict[str, Any]] = [
    {"id": "a", "price": {"amount": 10.0, "currency": "EUR"}, "stars": 3, "severity": "minor"},
    {"id": "b", "price": {"amount": 20.0, "currency": "EUR"}, "stars": 4, "severity": "severe"},
    {"id": "c", "price": {"amount": 30.0, "currency": "EUR"}, "stars": 5, "severity": "extreme"},
]
EVENTS: list[dict[str, Any]] = [
    {"id": "a", "start_date": "2026-12-01", "end_date": "2026-12-03", "status": "confirmed"},
    {"id": "b", "start_date": "2026-12-05", "status": "cancelled"},
    {"id": "c", "start_date": "2026-12-09", "title": "Trip to Lisbon", "status": "confirmed"},
]
RANKS = {"severity": ["minor", "moderate", "severe", "extreme"]}


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ({}, "abc"),
        ({"max_price": 20}, "ab"),
        ({"max_price": 19.99}, "a"),
        ({"min_price": 20}, "bc"),
        ({"min_stars": 4}, "bc"),
        ({"max_stars": 3, "max_price": 5}, ""),
        ({"min_severity": "severe"}, "bc"),
        ({"limit": 2}, "ab"),
        ({"max_results": 1, "min_stars": 4}, "b"),
        ({"max_speed": 1}, "abc"),
    ],
)
def test_bounds(arguments: dict[str, Any], kept: str) -> None:
    """A bound compares what it names; one that names nothing narrows nothing."""
    assert "".join(item["id"] for item in keep(ITEMS, arguments, ranks=RANKS)) == kept


@pytest.mark.parametrize(
    ("arguments", "is_span", "kept"),
    [
        ({"start_date": "2026-12-05"}, False, "b"),
        ({"start_date": "2026-12-02"}, True, "abc"),
        ({"start_date": "2026-12-04", "end_date": "2026-12-06"}, True, "b"),
        ({"end_date": "2026-12-01"}, True, "a"),
        ({"event_status": "CONFIRMED"}, False, "ac"),
        ({"query": "lisbon, my trip"}, False, "c"),
        ({"query": "bon"}, False, ""),
        ({"colour": "red"}, False, "abc"),
    ],
)
def test_matches(arguments: dict[str, Any], is_span: bool, kept: str) -> None:
    """Values are compared without case, words as wholes, spans by what they touch."""
    found = match(EVENTS, arguments, is_span=is_span)

    assert "".join(item["id"] for item in found) == kept
