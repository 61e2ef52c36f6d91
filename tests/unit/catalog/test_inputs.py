"""Inputs: parameters and bodies as one object schema with bindings."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from orchestrator.catalog.compile import compile_documents
from orchestrator.catalog.operations import SkippedOperation
from orchestrator.catalog.tool import IdempotencyKey, InputBinding, Location, Tool
from orchestrator.json_schema.validator import REQUEST_FORMATS, SchemaValidator

Make = Callable[..., dict[str, Any]]


def compiled(document: dict[str, Any]) -> Tool:
    (tool,) = compile_documents({"things": document}).tools.values()
    return tool


def skipped(document: dict[str, Any]) -> SkippedOperation:
    (found,) = compile_documents({"things": document}).skipped
    return found


def binding(tool: Tool, name: str) -> InputBinding:
    (found,) = [b for b in tool.bindings if b.name == name]
    return found


def parameter(name: str, location: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": location, "schema": {"type": "string"}, **more}


def test_the_operation_wins_over_its_path(one_operation: Make) -> None:
    """By name and location; what stands in the path is required even if it does not say so."""
    document = one_operation(path="/t/{z}", parameters=[parameter("x", "query", description="Own")])
    document["paths"]["/t/{z}"]["parameters"] = [
        parameter("x", "query", description="Shared."),
        parameter("z", "path"),
    ]

    tool = compiled(document)

    assert tool.properties["x"]["description"] == "Own"
    assert (list(tool.properties), tool.required_inputs) == (["x", "z"], ("z",))


def test_constraints_follow_a_renamed_property(one_operation: Make, json_body: Make) -> None:
    """Alternatives that require a body property mean it under its new name too."""
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "ref": {"type": "string"}},
        "anyOf": [{"required": ["id"]}, {"required": ["ref"]}],
    }
    taken = [parameter("id", "query")]
    tool = compiled(one_operation(method="post", parameters=taken, requestBody=json_body(schema)))

    assert tool.input_schema["anyOf"] == [{"required": ["body_id"]}, {"required": ["ref"]}]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("Idempotency-Key", ""),
        ("x-idempotency-key", ""),
        ("X-Refund-Idempotency", ""),
        ("Idempotence-Key", ""),
        ("idempotencyToken", ""),
        ("Shop-Request-Id", "An id of the request: a repetition is answered with the same order."),
        ("nonce", "Two requests with one nonce are duplicates."),
        ("dedupe_id", ""),
    ],
)
@pytest.mark.parametrize("location", ["header", "query", "body"])
def test_a_key_of_any_name_and_place_is_no_input(
    one_operation: Make, json_body: Make, name: str, description: str, location: Location
) -> None:
    """Its name says so, or the name of a request's token together with its description."""
    written = {"type": "string", "description": description}
    schema = {"type": "object", "required": [name], "properties": {name: written, "sum": {}}}
    more: dict[str, Any] = (
        {"requestBody": json_body(schema)}
        if location == "body"
        else {"parameters": [parameter(name, location, required=True, schema=written)]}
    )
    tool = compiled(one_operation(method="post", **more))

    assert tool.idempotency_key == IdempotencyKey(location=location, field=name)
    assert name not in tool.properties
    assert tool.required_inputs == ()


def test_a_required_header_with_the_requests_id_is_a_key(one_operation: Make) -> None:
    """It has to differ from call to call, whatever its description says; nobody knows one."""
    written = parameter("Shop-Request-Id", "header", required=True, description="45 days.")

    tool = compiled(one_operation(method="post", parameters=[written]))

    assert tool.idempotency_key == IdempotencyKey(location="header", field="Shop-Request-Id")
    assert tool.properties == {}


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("page_token", "Repeat the request with it for the next page."),
        ("X-Request-Id", "For our logs."),
        ("order_id", "The order; a duplicate is refused."),
    ],
)
def test_other_tokens_and_ids_stay_inputs(one_operation: Make, name: str, description: str) -> None:
    """Neither a page's token, nor a trace, nor the id of a thing recognises a repeated call."""
    tool = compiled(
        one_operation(method="post", parameters=[parameter(name, "query", description=description)])
    )

    assert tool.idempotency_key is None
    assert [*tool.properties] == [name]


def test_the_key_may_be_declared(one_operation: Make) -> None:
    """The contract names the field, or says that none is a key."""
    parameters = [parameter("X-Order", "header"), parameter("Idempotency-Key", "header")]
    named = {"parameters": parameters, "x-orchet-idempotency-key": "x-order"}
    none = {"parameters": parameters, "x-orchet-idempotency-key": False}

    assert [*compiled(one_operation(method="post", **named)).properties] == ["Idempotency-Key"]
    assert compiled(one_operation(method="post", **none)).idempotency_key is None
    found = skipped(one_operation(method="post", **{**named, "x-orchet-idempotency-key": "other"}))
    assert found.pointer.endswith("/x-orchet-idempotency-key")


@pytest.mark.parametrize(
    "schema",
    [
        {"format": "uuid", "maxLength": 36},
        {"pattern": "^[A-Za-z0-9-]{10,45}$"},
        {"pattern": "^[A-Z0-9]{26}$"},
        {"pattern": "^[a-zA-Z]+$", "minLength": 20, "maxLength": 24},
        {"pattern": "^[0-9]+$"},
        {"minLength": 64, "maxLength": 64},
        {"maxLength": 20},
        {"maxLength": 40},
    ],
)
def test_a_key_has_the_form_that_its_schema_asks_for(
    one_operation: Make, schema: dict[str, Any]
) -> None:
    """It is derived from the call: equal at each repetition, and another one for the cancel."""
    written = parameter("Idempotency-Key", "header", schema={"type": "string", **schema})
    tool = compiled(one_operation(method="post", parameters=[written]))
    calls = [f"{uuid4()}.leg.{step}{ending}" for step in (1, 2) for ending in ("", ".cancel")]

    keys = [tool.key_of(call) for call in calls]

    validator = SchemaValidator(written["schema"], format_checker=REQUEST_FORMATS)
    assert all(validator.is_valid(key) for key in keys)
    assert len({*keys}) == len(calls)
    assert keys == [tool.key_of(call) for call in calls]
    assert keys == [tool.key_of(key) for key in keys if key is not None]


def test_a_required_key_of_an_impossible_form_skips_the_tool(one_operation: Make) -> None:
    """Nobody is asked to approve a call that can never be sent."""
    schema = {"type": "string", "pattern": "^(red|blue)$"}
    written = parameter("Idempotency-Key", "header", required=True, schema=schema)

    found = skipped(one_operation(method="post", parameters=[written]))

    assert "Idempotency-Key" in found.reason
    assert "x-orchet-idempotency-key: false" in found.remedy


@pytest.mark.parametrize(
    ("name", "place", "description"),
    [
        ("appid", "query", "Your unique API key."),
        ("api_key", "query", ""),
        ("X-Api-Key", "header", ""),
        ("token", "header", "Your access token."),
        ("key", "cookie", "Authenticates the caller."),
        ("access_key", "query", "Your API access key"),
        ("user_key", "header", "Your user key, an API credential."),
    ],
)
def test_a_credential_is_no_input(
    one_operation: Make, name: str, place: str, description: str
) -> None:
    """No person and no model is asked for it; its value comes from the secrets."""
    written = parameter(name, place, description=description, required=True)

    tool = compiled(one_operation(parameters=[written]))

    assert (tool.properties, tool.credentials) == ({}, (name,))


@pytest.mark.parametrize(
    ("name", "place", "more"),
    [
        ("key", "query", {"description": "The key of the entry."}),
        ("token", "query", {"description": "Where the next page begins."}),
        ("auth", "query", {"description": "The authorization of the card payment to capture."}),
        ("secret", "query", {"description": "The name of the secret to read."}),
        ("token", "path", {"description": "The access token to revoke."}),
        ("api_key", "query", {"x-orchet-credential": False}),
    ],
)
def test_what_is_only_called_like_a_credential_is_an_input(
    one_operation: Make, name: str, place: str, more: dict[str, Any]
) -> None:
    """Keys and tokens of other things are asked for, and so is what the contract excepts."""
    path = "/t/{token}" if place == "path" else "/t"
    tool = compiled(one_operation(path=path, parameters=[parameter(name, place, **more)]))

    assert [*tool.properties] == [name]


@pytest.mark.parametrize("name", ["Accept", "content-type", "Authorization"])
def test_headers_that_http_owns_are_ignored(one_operation: Make, name: str) -> None:
    """OpenAPI ignores parameters with these names."""
    assert compiled(one_operation(parameters=[parameter(name, "header")])).bindings == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object"},
        {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "string"}]},
        {
            "type": "object",
            "properties": {"kind": {"type": "string"}},
            "oneOf": [{"properties": {"card": {"type": "string"}}}],
        },
        {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}},
        {"type": "array", "items": {"type": "integer"}},
    ],
    ids=["map", "free", "mixed", "own-properties", "pattern", "list"],
)
def test_a_body_whose_fields_cannot_be_told_one_by_one_stays_whole(
    one_operation: Make, json_body: Make, schema: dict[str, Any]
) -> None:
    """Such a body is the input `body`, bound to the whole body."""
    tool = compiled(one_operation(method="post", requestBody=json_body(schema)))

    assert tool.properties == {"body": schema}
    assert (binding(tool, "body").field, binding(tool, "body").required) == ("", True)


def test_an_all_of_body_is_flattened(one_operation: Make, json_body: Make) -> None:
    """Properties and required of all members stand at the top of the input schema."""
    base = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    more = {"required": ["b"], "properties": {"b": {"type": "integer"}}}
    sent = json_body({"allOf": [{"$ref": "#/components/schemas/Base"}, more]})
    shared = {"schemas": {"Base": base}}
    tool = compiled(one_operation(method="post", requestBody=sent, components=shared))

    assert list(tool.properties) == ["a", "b"]
    assert tool.required_inputs == ("a", "b")


def test_an_optional_body_needs_its_required_fields_only_when_it_is_sent(
    one_operation: Make, json_body: Make
) -> None:
    """Required properties of an optional body depend on the other properties."""
    schema = {"type": "object", "required": ["a"], "properties": {"a": {}, "b": {}}}
    tool = compiled(one_operation(method="post", requestBody=json_body(schema, required=False)))

    assert tool.required_inputs == ()
    assert tool.input_schema["dependentRequired"] == {"b": ["a"]}


def test_at_least_one_property_is_said_by_name(one_operation: Make, json_body: Make) -> None:
    """MinProperties of a body would count parameters too, so it becomes alternatives."""
    schema = {"type": "object", "minProperties": 1, "properties": {"a": {}, "b": {}}}
    tool = compiled(one_operation(method="patch", requestBody=json_body(schema)))

    assert tool.input_schema["anyOf"] == [{"required": ["a"]}, {"required": ["b"]}]


def test_read_only_properties_are_no_inputs(one_operation: Make, json_body: Make) -> None:
    """They are left out of properties and required, at every depth."""
    hidden = {"type": "string", "readOnly": True}
    line = {"type": "object", "required": ["id"], "properties": {"id": hidden, "n": {}}}
    schema = {
        "type": "object",
        "required": ["id", "line"],
        "properties": {"id": hidden, "line": line},
    }

    tool = compiled(one_operation(method="post", requestBody=json_body(schema)))

    assert list(tool.properties) == ["line"]
    assert tool.required_inputs == ("line",)
    assert tool.properties["line"]["properties"] == {"n": {}}
    assert tool.properties["line"]["required"] == []


def test_a_required_property_that_is_not_described_is_an_input(
    one_operation: Make, json_body: Make
) -> None:
    """Nothing that the provider requires is lost, even when its schema is."""
    schema = {"type": "object", "required": ["b", "a"], "properties": {"a": {"type": "string"}}}
    tool = compiled(one_operation(method="post", requestBody=json_body(schema)))

    assert tool.properties["b"] == {}
    assert tool.required_inputs == ("b", "a")
    assert binding(tool, "b").location == "body"


def test_json_is_chosen_before_forms(one_operation: Make) -> None:
    """A media type without a schema that is not JSON is text."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    content = {"multipart/form-data": {"schema": schema}, "application/json": {"schema": schema}}

    tool = compiled(one_operation(method="post", requestBody={"content": content}))
    text = compiled(one_operation(method="post", requestBody={"content": {"text/plain": {}}}))

    assert tool.body_content_type == "application/json"
    assert text.properties == {"body": {"type": "string"}}


def test_the_order_of_body_properties_decides_no_binding(
    one_operation: Make, json_body: Make
) -> None:
    """Bindings and clashing names come out the same, however the properties are ordered."""
    parameters = [parameter("x", "query"), parameter("y", "query")]
    names = ["x", "y", "body_x"]

    def bindings(order: list[str]) -> tuple[InputBinding, ...]:
        schema = {"type": "object", "properties": {name: {} for name in order}}
        return compiled(
            one_operation(method="post", parameters=parameters, requestBody=json_body(schema))
        ).bindings

    assert bindings(names) == bindings(names[::-1])
