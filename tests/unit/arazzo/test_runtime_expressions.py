"""Runtime expressions: what they read, and what a template becomes."""

import pytest
from pydantic import JsonValue

from orchestrator.arazzo.json_paths import ValueMissing, query_json_path
from orchestrator.arazzo.runtime_expressions import (
    HttpMessage,
    Scope,
    evaluate_text,
    expressions_in,
    fill,
    parse_runtime_expression,
)

BODY: JsonValue = {"items": [{"id": "a1", "price": 5}, {"id": "b2", "price": 50}], "a/b": {"~": 1}}
SCOPE = Scope(
    inputs={"city": "Rome", "trip": {"days": [1, 2]}, "a.b": "dotted", "none": None},
    steps={"find": {"ids": ["x", "y"], "whole": BODY}},
    workflows={"flight": {"price": 9.5}},
    outputs={"order": 7},
    message=HttpMessage(
        status=201,
        headers={"Location": "/x/1"},
        body=BODY,
        method="POST",
        url="https://x/y",
        request={
            "path": {"id": 3},
            "query": {"q": "z"},
            "header": {"x-h": "1"},
            "body": {"": BODY},
        },
    ),
)


def select(selector: str, kind: str) -> JsonValue:
    return {"$select": {"context": "$response.body", "selector": selector, "type": kind}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$url", "https://x/y"),
        ("$method", "POST"),
        ("$statusCode", 201),
        ("$response.header.location", "/x/1"),
        ("$response.body", BODY),
        ("$response.body#/items/0/id", "a1"),
        ("$response.body#/a~1b/~0", 1),
        ("$response.body.items[1].id", "b2"),
        ("$request.path.id", 3),
        ("$request.query.q", "z"),
        ("$request.header.X-H", "1"),
        ("$request.body#/items/1/price", 50),
        ("$inputs.city", "Rome"),
        ("$inputs.a.b", "dotted"),
        ("$inputs.none", None),
        ("$inputs.trip#/days/1", 2),
        ("$inputs.trip.days[0]", 1),
        ("$steps.find.outputs.ids", ["x", "y"]),
        ("$steps.find.outputs.ids#/1", "y"),
        ("$steps.find.outputs.whole.items[0].price", 5),
        ("$steps.find.outputs", {"ids": ["x", "y"], "whole": BODY}),
        ("$workflows.flight.outputs.price", 9.5),
        ("$workflows.flight.inputs.city", "Rome"),
        ("$outputs.order", 7),
    ],
)
def test_an_expression_reads_its_value_with_its_type(text: str, value: JsonValue) -> None:
    assert evaluate_text(text, SCOPE) == value


@pytest.mark.parametrize(
    "text",
    ["$inputs.town", "$inputs.city#/x", "$response.body#/items/9/id", "$response.header.x",
     "$steps.book.outputs.id", "$steps.find.outputs.x", "$workflows.hotel.outputs.x",
     "$workflows.flight.outputs.x", "$outputs.x", "$components.parameters.x"],
)  # fmt: skip
def test_a_missing_value_is_a_sentence_that_names_the_expression(text: str) -> None:
    with pytest.raises(ValueMissing) as caught:
        evaluate_text(text, SCOPE)

    assert text in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["$inputs", "$steps.find.ids", "$response.headers.x", "$message.payload", "$response.path.x",
     "$inputs.x#no", "$response.bodies", "$request.cookie.x"],
)  # fmt: skip
def test_a_malformed_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\$"):
        parse_runtime_expression(text)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("$5 and {braces}", "$5 and {braces}"),
        ("$inputsX", "$inputsX"),
        ("{$inputs.city}, {$statusCode}", "Rome, 201"),
        ("{$inputs.trip}", '{"days": [1, 2]}'),
        ("n: {$inputs.none}", "n: null"),
        ({"a": ["$inputs.city", 1, None]}, {"a": ["Rome", 1, None]}),
        (select("$.items[?@.price>9].id", "jsonpath"), ["b2"]),
        (select("/items/0/id", "jsonpointer"), "a1"),
        (
            {"$replace": {"payload": "$inputs.trip", "replacements": [
                {"target": "/days/0", "type": "jsonpointer", "value": "$inputs.city"},
                {"target": "/more", "type": "jsonpointer", "value": 2},
            ]}},
            {"days": ["Rome", 2], "more": 2},
        ),
    ],
)  # fmt: skip
def test_a_template_is_filled(template: JsonValue, value: JsonValue) -> None:
    assert fill(template, SCOPE) == value
    assert SCOPE.inputs["trip"] == {"days": [1, 2]}


def test_a_value_in_a_query_stays_one_string() -> None:
    """A value with quotes cannot end the string that it stands in."""
    scope = Scope(inputs={"x": "a' || @.secret == 'b"}, message=SCOPE.message)
    items: JsonValue = [{"id": "a' || @.secret == 'b"}, {"id": "c", "secret": "b"}]
    scope.message = HttpMessage(body=items)

    found = fill(select("$[?@.id=='{$inputs.x}'].id", "jsonpath"), scope)

    assert found == ["a' || @.secret == 'b"]


@pytest.mark.parametrize(
    ("selector", "given"), [("$.items[?@.id == {$inputs.x}]", "a" * 1_100), ("$[{$inputs.x}]", 0.5)]
)
def test_a_value_that_spoils_its_query_is_a_missing_value(selector: str, given: JsonValue) -> None:
    scope = Scope(inputs={"x": given}, message=SCOPE.message)

    with pytest.raises(ValueMissing, match="cannot be evaluated"):
        fill(select(selector, "jsonpath"), scope)


def test_a_path_that_is_none_leads_to_no_value() -> None:
    with pytest.raises(ValueMissing, match="is no property"):
        fill("$inputs.trip..days", SCOPE)


def test_a_query_that_takes_too_long_is_refused() -> None:
    deep: JsonValue = [[[{"a": index}] for index in range(30)] for _ in range(100)]

    with pytest.raises(ValueMissing, match="bounded time"):
        query_json_path("$..[?count($..*) > 1]..[?count($..*) > 2]", deep)


def test_all_expressions_of_a_template_are_found() -> None:
    template: JsonValue = {"a": ["$inputs.x", {"b": "{$steps.s.outputs.y} {$url}"}], "c": "$9"}

    found = {one.text for one in expressions_in(template)}

    assert found == {"$inputs.x", "$steps.s.outputs.y", "$url"}
