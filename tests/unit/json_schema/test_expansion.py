"""Schemas made self-contained: references, recursion, and OpenAPI 3.0 as JSON Schema 2020-12."""

from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from orchestrator.catalog.compile import compile_documents
from orchestrator.core.record import JsonObject

Make = Callable[..., dict[str, Any]]


def answer_of(one_operation: Make, schema: Any, schemas: Any = None, **more: Any) -> JsonObject:
    """The compiled schema of an answer."""
    content = {"application/json": {"schema": schema}}
    document = one_operation(
        responses={"200": {"description": "Done.", "content": content}},
        components={"schemas": schemas or {}},
        **more,
    )
    (tool,) = compile_documents({"things": document}).tools.values()
    assert tool.output_schema is not None
    return tool.output_schema


def body_of(one_operation: Make, json_body: Make, schema: Any, schemas: Any) -> JsonObject:
    """The compiled schema of a request body."""
    document = one_operation(
        method="post", requestBody=json_body(schema), components={"schemas": schemas}
    )
    (tool,) = compile_documents({"things": document}).tools.values()
    return tool.input_schema


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

    children = {"type": "array", "items": {"$ref": "#/$defs/Tree"}}
    properties = {"name": {"type": "string"}, "children": children}
    assert schema["$defs"] == {"Tree": {**tree, "properties": properties}}
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"name": "a", "children": [{"name": "b", "children": []}]})
    assert not validator.is_valid({"name": "a", "children": [{"children": []}]})


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


def test_data_and_properties_may_look_like_references(one_operation: Make) -> None:
    """Properties named like keywords are no keywords; defaults are data, not schemas."""
    properties: dict[str, Any] = {"$ref": {"type": "string"}, "properties": {}, "example": {}}
    properties["a"] = {"default": {"$ref": "nowhere"}}
    schema = {"type": "object", "properties": properties}

    assert answer_of(one_operation, schema) == schema


@pytest.mark.parametrize(
    ("openapi", "beside", "found"),
    [
        ("3.0.3", {"description": "Here."}, {"type": "string", "description": "Here."}),
        ("3.1.0", {"description": "Here."}, {"type": "string", "description": "Here."}),
        ("3.0.3", {"maxLength": 3}, {"type": "string"}),
        ("3.1.0", {"maxLength": 3}, {"allOf": [{"type": "string"}], "maxLength": 3}),
    ],
)
def test_what_stands_next_to_a_reference(
    one_operation: Make, openapi: str, beside: JsonObject, found: JsonObject
) -> None:
    """A description describes this use of the schema; OpenAPI 3.0 ignores limits there."""
    used = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/S", **beside}}}

    schema = answer_of(one_operation, used, {"S": {"type": "string"}}, openapi=openapi)

    assert schema["properties"] == {"a": found}


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
    """A password that can be set is never promised, not even through allOf; what can be read is."""
    secret = {"type": "string", "writeOnly": True}
    name = {"type": "string", "readOnly": True}
    base = {"type": "object", "properties": {"name": name, "password": secret}}
    schema = {"allOf": [{"$ref": "#/components/schemas/Base"}], "required": ["name", "password"]}

    found = answer_of(one_operation, schema, {"Base": base})

    assert found == {"type": "object", "properties": {"name": name}, "required": ["name"]}


@pytest.mark.parametrize(
    "reference",
    [
        {"$ref": "#/components/schemas/Missing"},
        {"$ref": "#Anchor"},
        {"$ref": "other.yaml#/X"},
        {"$dynamicRef": "#item"},
    ],
)
def test_a_reference_that_leads_nowhere_costs_its_operation(
    one_operation: Make, reference: JsonObject
) -> None:
    """The problem names the place of the reference."""
    content = {"application/json": {"schema": {"properties": {"a": reference}}}}
    document = one_operation(
        responses={"200": {"description": "It.", "content": content}}, openapi="3.1.0"
    )

    (skipped,) = compile_documents({"things": document}).skipped

    assert skipped.pointer.endswith("/schema/properties/a")


def test_references_in_a_circle_cost_their_operation(one_operation: Make) -> None:
    """Parameters that only refer to each other never become anything."""
    at = "#/components/parameters/"
    circle = {"A": {"$ref": f"{at}B"}, "B": {"$ref": f"{at}A"}}
    document = one_operation(parameters=[{"$ref": f"{at}A"}], components={"parameters": circle})

    (skipped,) = compile_documents({"things": document}).skipped

    assert "circle" in skipped.reason


def _resources(count: int, properties: int) -> dict[str, Any]:
    """Schemas of a circle: each refers to the next, the last to the first."""
    return {
        f"R{n}": {
            "type": "object",
            "description": f"Resource {n}.",
            "properties": {
                **{f"p{i}": {"type": "string"} for i in range(properties)},
                "next": {"$ref": f"#/components/schemas/R{(n + 1) % count}"},
            },
        }
        for n in range(count)
    }


def test_tools_share_what_they_refer_to(one_operation: Make) -> None:
    """A definition is expanded once and held once, however many tools can reach it."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/R0"}}}
    document = one_operation(
        responses={"200": {"description": "Done.", "content": content}},
        components={"schemas": _resources(3, 2)},
    )
    other = {**document["paths"]["/thing"]["get"], "operationId": "thing_other"}
    document["paths"]["/other"] = {"get": other}

    one, two = compile_documents({"things": document}).tools.values()

    ours, theirs = (tool.output_schema["$defs"] for tool in (one, two))  # type: ignore[index]
    assert isinstance(ours, dict) and isinstance(theirs, dict)
    assert [ours[name] is theirs[name] for name in ("R0", "R1", "R2")] == [True, True, True]


def test_distant_definitions_are_abridged(one_operation: Make) -> None:
    """Two thousand schema nodes of definitions are carried, the nearest; then only words."""
    schema = {"type": "array", "items": {"$ref": "#/components/schemas/R0"}}

    found = answer_of(one_operation, schema, _resources(50, 99))

    defs = found["$defs"]
    assert isinstance(defs, dict)
    whole = {name for name, schema in defs.items() if "properties" in schema}  # type: ignore[operator]
    assert whole == {f"R{n}" for n in range(19)}
    assert defs["R19"] == {
        "type": "object",
        "description": "Resource 19.",
        "$comment": "abridged: the document has the rest",
    }
    assert len(defs) == 20
    Draft202012Validator.check_schema(found)
    value: Any = {"p1": "x"}
    for _ in range(60):
        value = {"next": value}
    assert Draft202012Validator(found).is_valid([value])
    assert not Draft202012Validator(found).is_valid([{"next": {"p1": 3}}])


def test_many_mentions_of_a_schema_are_not_written_out(one_operation: Make) -> None:
    """A schema small enough to be inlined becomes a definition where it is mentioned too often."""
    item = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(40)}}
    mention = {"$ref": "#/components/schemas/Item"}

    few = answer_of(one_operation, {"properties": {"a": mention, "b": mention}}, {"Item": item})
    many = answer_of(
        one_operation, {"properties": {f"a{n}": mention for n in range(40)}}, {"Item": item}
    )

    assert few["properties"] == {"a": item, "b": item}
    assert "$defs" not in few
    assert many["properties"] == {f"a{n}": {"$ref": "#/$defs/Item"} for n in range(40)}
    assert many["$defs"] == {"Item": item}


def test_a_long_chain_of_schemas_compiles(one_operation: Make) -> None:
    """Neither a chain of references nor the definitions it becomes exhaust the stack."""
    schemas: dict[str, Any] = {
        f"S{n}": {"type": "object", "properties": {"a": {"$ref": f"#/components/schemas/S{n + 1}"}}}
        for n in range(3_000)
    }
    schemas["S3000"] = {"type": "string"}

    found = answer_of(one_operation, {"$ref": "#/components/schemas/S0"}, schemas)

    Draft202012Validator.check_schema(found)
    assert not Draft202012Validator(found).is_valid({"a": {"a": 3}})


def test_a_recursive_body_is_opened_for_its_properties(
    one_operation: Make, json_body: Make
) -> None:
    """A read-only property is no input, even if an extending schema requires it."""
    parent = {"$ref": "#/components/schemas/Base"}
    properties = {"id": {"type": "string", "readOnly": True}, "parent": parent}
    base = {"type": "object", "properties": properties}
    own = {"name": {"type": "string"}}
    schema = {"allOf": [parent], "required": ["id", "name"], "properties": own}

    found = body_of(one_operation, json_body, schema, {"Base": base})

    assert isinstance(found["properties"], dict)
    assert set(found["properties"]) == {"parent", "name"}
    assert found["required"] == ["name"]
    assert not Draft202012Validator(found).is_valid({"name": "a", "parent": {"parent": 3}})


def test_definitions_of_other_places_are_distinguished(one_operation: Make) -> None:
    """Schemas of one name in two places become two definitions."""
    places = {"schemas": "object", "x-more": "array"}
    trees = {
        at: {"Tree": {"type": kind, "properties": {"below": {"$ref": f"#/components/{at}/Tree"}}}}
        for at, kind in places.items()
    }
    schema = {"properties": {at: {"$ref": f"#/components/{at}/Tree"} for at in places}}
    content = {"application/json": {"schema": schema}}
    done = {"200": {"description": "Done.", "content": content}}
    document = one_operation(responses=done, components=trees)
    (tool,) = compile_documents({"things": document}).tools.values()

    assert tool.output_schema is not None
    assert len(tool.output_schema["$defs"]) == 2  # type: ignore[arg-type]
    assert Draft202012Validator(tool.output_schema).is_valid({"schemas": {}, "x-more": []})
    assert not Draft202012Validator(tool.output_schema).is_valid({"schemas": [], "x-more": {}})


PAGE: dict[str, Any] = {
    "$id": "page",
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"$dynamicRef": "#item"}}},
    "$defs": {"any": {"$dynamicAnchor": "item"}},
}


def test_a_reference_that_depends_on_the_way_to_it_accepts_anything(one_operation: Make) -> None:
    """One template gets its content from two schemas; the provider checks what it holds."""
    own = {"of": {"$dynamicAnchor": "item", "type": "string"}}
    schemas = {"Page": PAGE, "Pets": {"$id": "pets", "$ref": "page", "$defs": own}}
    properties = {n: {"$ref": f"#/components/schemas/{n}"} for n in ("Pets", "Page")}

    schema = answer_of(
        one_operation, {"type": "object", "properties": properties}, schemas, openapi="3.1.0"
    )

    held = {n: p["properties"]["items"]["items"] for n, p in schema["properties"].items()}  # type: ignore[index,union-attr,call-overload]
    assert held == {"Pets": {}, "Page": {}}


def test_a_name_that_one_schema_has_means_that_one(one_operation: Make) -> None:
    """As a plain reference would, to an `$anchor` as well."""
    schemas = {
        "Node": {
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"next": {"$dynamicRef": "#node"}, "at": {"$dynamicRef": "#place"}},
        },
        "Place": {"$anchor": "place", "type": "string"},
    }

    schema = answer_of(
        one_operation, {"$ref": "#/components/schemas/Node"}, schemas, openapi="3.1.0"
    )

    validator = Draft202012Validator(schema)
    assert validator.is_valid({"next": {"next": {"at": "x"}}})
    assert not validator.is_valid({"next": {"next": {"at": 1}}})
    assert list(schema["$defs"]) == ["Node"]  # type: ignore[arg-type]
