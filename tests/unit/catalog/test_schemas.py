"""Schemas made self-contained: references, recursion, and OpenAPI 3.0 as JSON Schema 2020-12."""

from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from orchestrator.catalog.compile import compile_document
from orchestrator.errors import DocumentInvalid
from orchestrator.record import JsonObject

Make = Callable[..., dict[str, Any]]


def answer_of(one_operation: Make, schema: Any, schemas: Any = None, **more: Any) -> JsonObject:
    """The compiled schema of an answer."""
    content = {"application/json": {"schema": schema}}
    document = one_operation(
        responses={"200": {"description": "Done.", "content": content}},
        components={"schemas": schemas or {}},
        **more,
    )
    (tool,) = compile_document("things", document).values()
    assert tool.output_schema is not None
    return tool.output_schema


def body_of(one_operation: Make, json_body: Make, schema: Any, schemas: Any) -> JsonObject:
    """The compiled schema of a request body."""
    document = one_operation(
        method="post", requestBody=json_body(schema), components={"schemas": schemas}
    )
    (tool,) = compile_document("things", document).values()
    return tool.input_schema


def test_a_reference_is_inlined(one_operation: Make) -> None:
    """The compiled schema needs the document no more."""
    schema = {"type": "object", "properties": {"price": {"$ref": "#/components/schemas/Money"}}}
    money = {"type": "object", "properties": {"amount": {"type": "number"}}}

    assert answer_of(one_operation, schema, {"Money": money})["properties"] == {"price": money}


def test_a_recursive_schema_becomes_a_definition(one_operation: Make) -> None:
    """A tree refers to itself by a local $defs, and validates to any depth."""
    tree = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
        },
    }

    schema = answer_of(one_operation, {"$ref": "#/components/schemas/Tree"}, {"Tree": tree})

    assert schema["$defs"] == {
        "Tree": {
            **tree,
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            },
        }
    }
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"name": "a", "children": [{"name": "b", "children": []}]})
    assert not validator.is_valid({"name": "a", "children": [{"children": []}]})


def test_a_recursive_body_is_opened_for_its_properties(
    one_operation: Make, json_body: Make
) -> None:
    """The inputs are the properties of the recursive object itself."""
    rule = {
        "type": "object",
        "properties": {"op": {"type": "string"}, "inner": {"$ref": "#/components/schemas/Rule"}},
    }

    schema = body_of(
        one_operation, json_body, {"$ref": "#/components/schemas/Rule"}, {"Rule": rule}
    )

    assert schema["properties"] == {"op": {"type": "string"}, "inner": {"$ref": "#/$defs/Rule"}}
    Draft202012Validator.check_schema(schema)
    assert not Draft202012Validator(schema).is_valid({"inner": {"op": 3}})


def test_two_schemas_that_refer_to_each_other_compile(one_operation: Make) -> None:
    """A circle through several schemas ends in definitions too."""
    a = {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}}
    b = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}}}

    schema = answer_of(one_operation, {"$ref": "#/components/schemas/A"}, {"A": a, "B": b})

    assert isinstance(schema["$defs"], dict)
    assert sorted(schema["$defs"]) == ["A", "B"]


def test_shared_schemas_do_not_blow_up(one_operation: Make) -> None:
    """Thirty levels that each mention the next twice stay small: large schemas are defined once."""
    schemas: dict[str, Any] = {
        f"L{n}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/components/schemas/L{n + 1}"} for side in "ab"},
        }
        for n in range(30)
    }
    schemas["L30"] = {"type": "string"}

    schema = answer_of(one_operation, {"$ref": "#/components/schemas/L0"}, schemas)

    assert len(str(schema)) < 200_000
    Draft202012Validator.check_schema(schema)


def test_what_looks_like_a_reference_in_an_example_is_left_alone(one_operation: Make) -> None:
    """Examples, defaults and enums are data, not schemas."""
    schema = {"type": "object", "properties": {"a": {"default": {"$ref": "nowhere"}}}}

    assert answer_of(one_operation, schema)["properties"] == {"a": {"default": {"$ref": "nowhere"}}}


def test_a_property_called_like_a_keyword_is_a_property(one_operation: Make) -> None:
    """Properties named $ref, properties or example are no keywords."""
    properties = {"$ref": {"type": "string"}, "properties": {"type": "string"}, "example": {}}

    assert answer_of(one_operation, {"type": "object", "properties": properties}) == {
        "type": "object",
        "properties": properties,
    }


@pytest.mark.parametrize("openapi", ["3.0.3", "3.1.0"])
def test_words_beside_a_reference_are_kept(one_operation: Make, openapi: str) -> None:
    """A description beside $ref describes this use of the schema."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/components/schemas/S", "description": "Here."}},
    }

    found = answer_of(one_operation, schema, {"S": {"type": "string"}}, openapi=openapi)

    assert found["properties"] == {"a": {"type": "string", "description": "Here."}}


def test_limits_beside_a_reference_count_in_3_1_only(one_operation: Make) -> None:
    """OpenAPI 3.0 ignores what stands beside $ref, 3.1 adds it."""
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/components/schemas/S", "maxLength": 3}},
    }
    schemas = {"S": {"type": "string"}}

    newer = answer_of(one_operation, schema, schemas)
    older = answer_of(one_operation, schema, schemas, openapi="3.0.3")

    assert newer["properties"] == {"a": {"allOf": [{"type": "string"}], "maxLength": 3}}
    assert older["properties"] == {"a": {"type": "string"}}


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"allOf": [{"type": "object"}], "nullable": True, "description": "D"},
            {"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}], "description": "D"},
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
        ({"maximum": 9, "exclusiveMaximum": True}, {"exclusiveMaximum": 9}),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
    ],
)
def test_openapi_3_0_is_turned_into_json_schema(
    one_operation: Make, written: JsonObject, wanted: JsonObject
) -> None:
    """nullable, boolean exclusive limits and example mean in 2020-12 what they mean in 3.0."""
    schema = {"type": "object", "properties": {"a": written}}

    assert answer_of(one_operation, schema, openapi="3.0.3")["properties"] == {"a": wanted}


def test_write_only_properties_are_not_answered(one_operation: Make) -> None:
    """A password that can be set is never promised in an answer, not even through allOf."""
    secret = {"type": "string", "writeOnly": True}
    base = {"type": "object", "properties": {"name": {}, "password": secret}}
    schema = {"allOf": [{"$ref": "#/components/schemas/Base"}], "required": ["name", "password"]}

    found = answer_of(one_operation, schema, {"Base": base})

    assert found == {"type": "object", "properties": {"name": {}}, "required": ["name"]}


def test_read_only_properties_are_answered(one_operation: Make) -> None:
    """What cannot be sent can be read."""
    schema = {"type": "object", "properties": {"id": {"type": "string", "readOnly": True}}}

    assert answer_of(one_operation, schema) == schema


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("#/components/schemas/Missing", "leads nowhere"),
        ("#Anchor", "leads nowhere"),
        ("other.yaml#/X", "another file"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused(
    one_operation: Make, reference: str, reason: str
) -> None:
    """The error says where the reference stands."""
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}}

    with pytest.raises(DocumentInvalid, match=reason) as refused:
        answer_of(one_operation, schema)

    assert refused.value.pointer.endswith("/schema/properties/a")


def test_references_in_a_circle_are_refused(one_operation: Make) -> None:
    """Parameters that only refer to each other never become anything."""
    document = one_operation(
        parameters=[{"$ref": "#/components/parameters/A"}],
        components={
            "parameters": {
                "A": {"$ref": "#/components/parameters/B"},
                "B": {"$ref": "#/components/parameters/A"},
            }
        },
    )

    with pytest.raises(DocumentInvalid, match="circle"):
        compile_document("things", document)
