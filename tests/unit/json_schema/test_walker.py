"""The walker: every schema inside another is found once, and nothing that is data."""

from collections.abc import Container
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import JsonValue
from referencing.jsonschema import DRAFT202012

from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import follow, parse_pointer
from orchestrator.json_schema.walker import (
    COMPOSITIONS,
    IN_PLACE,
    KEYWORDS,
    alternatives_of,
    properties_of,
    required_of,
    subschema_nodes,
    subschemas,
    walk,
    walk_nodes,
    with_subschemas,
)

STRING: JsonObject = {"type": "string"}
_HELD: dict[str, JsonValue] = {
    "schema": {"title": "S"},
    "list": [{"title": "L"}, True],
    "map": {"a/b": {"title": "M"}, "type": {"title": "N"}},
}
EVERYTHING: JsonObject = {keyword: _HELD[holds] for keyword, holds in KEYWORDS.items()}


def titles(schemas: Any) -> set[str]:
    """The titles of those that have one."""
    return {s["title"] for s in schemas if isinstance(s, dict) and "title" in s}


@pytest.mark.parametrize("keyword", sorted({*Draft202012Validator.VALIDATORS, *KEYWORDS}))
def test_it_finds_what_the_standard_says(keyword: str) -> None:
    """The very schemas that `referencing` finds under each keyword of 2020-12."""
    schema: JsonObject = {keyword: EVERYTHING.get(keyword, {"title": "none"})}

    assert list(subschemas(schema)) == list(DRAFT202012.subresources_of(schema))


@pytest.mark.parametrize("keywords", [KEYWORDS, COMPOSITIONS, IN_PLACE])
def test_a_document_has_them_at_their_places(keywords: Container[str]) -> None:
    """One table serves documents and compiled schemas."""
    found = list(subschema_nodes(DocumentNode.of("things", EVERYTHING), keywords))

    assert [node.value for node in found] == list(subschemas(EVERYTHING, keywords))
    assert all(follow(EVERYTHING, parse_pointer(node.pointer)) is node.value for node in found)
    assert all(node.path[0] in keywords for node in found)


def test_nested_compositions_are_walked_to_the_end() -> None:
    """Every level of them, properties and elements between them."""
    schema: JsonObject = {
        "allOf": [
            {"anyOf": [{"oneOf": [{"title": "deep"}, False]}, {"items": {"title": "element"}}]},
            {"properties": {"a": {"not": {"title": "excluded"}}}},
        ]
    }

    assert titles(walk(schema)) == {"deep", "element", "excluded"}
    assert titles(walk(schema, COMPOSITIONS)) == {"deep"}
    assert len(list(walk(schema, most_levels=1))) == 3
    assert len(list(walk_nodes(DocumentNode.of("things", schema)))) == 10


def test_data_is_no_schema() -> None:
    """Examples, defaults and extensions may look like one; references are not followed."""
    held: JsonObject = {"properties": {"a": {"title": "no"}}}
    schema: JsonObject = {"default": held, "const": held, "enum": [held], "examples": [held]}
    schema |= {"x-more": held, "properties": {"properties": STRING, "$ref": True}}

    assert list(subschemas(schema)) == [STRING, True]
    plain: list[JsonValue] = [True, None, 5, "string", [STRING]]
    assert [list(walk(one)) for one in plain] == [[]] * 5
    circle: JsonObject = {"$defs": {"A": {"$ref": "#/$defs/A"}}, "items": {"$ref": "#"}}
    assert len(list(walk(circle))) == 3


@pytest.mark.parametrize(
    ("schema", "place"),
    [({"properties": ["a"]}, "/properties"), ({"allOf": {"a": {}}}, "/allOf")],
)
def test_what_is_malformed_is_an_error_of_a_document_only(schema: JsonObject, place: str) -> None:
    """A compiled schema, which may be a plain function's, is read as far as it can be."""
    with pytest.raises(DocumentInvalid) as refused:
        list(walk_nodes(DocumentNode.of("things", schema)))

    assert refused.value.pointer == place
    assert list(subschemas(schema)) == []


def test_nesting_without_end_is_refused() -> None:
    """A document of a hundred levels would exhaust whoever reads what is compiled from it."""
    schema: JsonObject = {}
    for _ in range(100):
        schema = {"items": schema}

    with pytest.raises(DocumentInvalid, match="nested more than 100 levels"):
        list(walk_nodes(DocumentNode.of("things", schema)))


def test_schemas_are_changed_where_they_stand() -> None:
    """Under the keywords that are named; the schema given is not changed."""
    schema: JsonObject = {
        "items": {"a": 1},
        "allOf": [{"b": 1}, True],
        "properties": {"p": {"c": 1}},
        "default": {"d": 1},
    }

    changed = with_subschemas(
        schema, lambda inner: {**inner, "x": 2}, ("items", "allOf", "default")
    )

    assert changed == {
        "items": {"a": 1, "x": 2},
        "allOf": [{"b": 1, "x": 2}, True],
        "properties": {"p": {"c": 1}},
        "default": {"d": 1},
    }
    assert schema["items"] == {"a": 1}


def test_an_object_schema_is_read_whatever_it_holds() -> None:
    """A property that allows all is {}, what is malformed is not there."""
    schema: JsonObject = {"properties": {"a": STRING, "b": True}, "required": ["a", 5]}

    assert properties_of(schema) == {"a": STRING, "b": {}}
    assert required_of(schema) == ("a",)
    assert properties_of({"properties": ["a"]}) == {}
    assert required_of({"required": "a"}) == required_of(True) == ()
    assert alternatives_of({"oneOf": [{"required": ["a"]}, True], "anyOf": []}) == [("a",), ()]
