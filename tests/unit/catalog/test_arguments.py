"""Arguments checked against the contract, before anything is sent."""

from typing import Any

import pytest

from orchestrator.catalog.arguments import by_text, check_arguments, personal_fields
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import InputBinding
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from tests.fakes import fake_tool

_SEARCH: dict[str, Any] = {
    "origin": {"type": "string", "minLength": 2},
    "date": {"type": "string", "format": "date"},
    "adults": {"type": "integer", "minimum": 1, "maximum": 9},
    "cabin": {"type": "string", "enum": ["economy", "business"]},
    "traveler_email": {"type": "string", "format": "email", "maxLength": 5},
    "guests": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": False,
            "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}},
        },
    },
}


def _catalog(properties: dict[str, Any], **schema: Any) -> Catalog:
    body = {"type": "object", "properties": properties, **schema}
    content = {"application/json": {"schema": body}}
    sent = {"required": True, "content": content}
    common = {"x-orchet-tool": True, "requestBody": sent, "responses": {}}
    booked = {
        "x-orchet-pii-required": ["traveler_email", "name"],
        "x-orchet-cancels": "flight_cancel",
        "x-orchet-compensation-args": {"origin": "$request.body#/origin"},
    }
    cancelled = {"x-orchet-cancel-for": "flight_book"}
    kinds: dict[str, dict[str, Any]] = {"book": booked, "cancel": cancelled, "other": {}}
    paths = {
        f"/{kind}": {"post": {"operationId": f"flight_{kind}", **common, **more}}
        for kind, more in kinds.items()
    }
    info = {"title": "t", "version": "1"}
    document: dict[str, Any] = {"openapi": "3.1.0", "info": info, "paths": paths}
    return Catalog.from_documents({"flights": document})


def _check(arguments: JsonObject, tool: str = "flight_book", **schema: Any) -> tuple[str, ...]:
    catalog = _catalog(_SEARCH, **schema)
    return check_arguments(catalog, catalog.tool(tool), arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"origin": "Oslo", "date": "2026-12-03", "adults": 2, "cabin": "economy"},
        {"traveler_email": "pii:traveler_email", "guests": [{"name": "pii:name"}]},
    ],
)
def test_valid_arguments_have_no_problems(arguments: JsonObject) -> None:
    """A handle has neither format nor length nor pattern to meet, also where it is nested."""
    assert _check(arguments) == ()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"date": "2026-02-30"}, "date must be a date like 2026-12-03"),
        ({"adults": 12}, "adults must be at most 9"),
        ({"adults": "two"}, "adults must be an integer"),
        ({"cabin": "first"}, "cabin must be one of economy, business"),
        ({"origin": "x"}, "origin must have at least 2 characters"),
        ({"guests": [{"name": "ada"}]}, "guests[0].name must match the pattern ^[A-Z]"),
        ({"guests": [{}]}, "guests[0].name is missing"),
        (
            {"guests": [{"name": "A", "nme": 1}]},
            "guests[0].nme is no input here; did you mean name?",
        ),
        ({"orgin": "Oslo"}, "orgin is no input here; did you mean origin?"),
        ({"zzz": 1}, "zzz is no input here"),
    ],
)
def test_each_fault_is_one_sentence(arguments: JsonObject, problem: str) -> None:
    """Which field, and what it must be; never the value."""
    assert _check(arguments) == (problem,)


def test_alternatives_say_what_each_of_them_misses() -> None:
    """One of two ids is enough, and the sentence says so."""
    either = [{"required": ["origin"]}, {"required": ["date"]}]

    assert _check({}, anyOf=either) == ("origin or date is missing",)
    assert _check({"origin": "Oslo"}, anyOf=either) == ()


def test_a_handle_of_another_field_is_a_problem() -> None:
    """Only the fields of the tool's contract may be sent to its provider."""
    assert (
        "pii:passport is no personal field of this tool; it takes pii:name, pii:traveler_email"
        in (_check({"origin": "pii:passport"}))
    )


def test_a_cancel_may_carry_what_its_booking_carried() -> None:
    """An id that the provider made from a value goes back to it; to no other tool."""
    catalog = _catalog(_SEARCH)

    assert personal_fields(catalog, catalog.tool("flight_cancel")) == {"traveler_email", "name"}
    assert personal_fields(catalog, catalog.tool("flight_other")) == frozenset()


@pytest.mark.parametrize(
    ("pattern", "fits", "breaks"),
    [
        (r"^\p{L}+$", "Ærø", "Ær0"),
        (r"^\d+\_x$", "1_x", "1x"),
        (r"^(?<year>\d{4})$", "2026", "26"),
    ],
)
def test_patterns_are_those_of_ecma_262(pattern: str, fits: str, breaks: str) -> None:
    """Unicode properties, named groups and needless escapes mean what they mean to JSON Schema."""
    catalog = _catalog({"origin": {"type": "string", "pattern": pattern}})
    tool = catalog.tool("flight_book")

    assert check_arguments(catalog, tool, {"origin": fits}) == ()
    assert check_arguments(catalog, tool, {"origin": breaks}) == (
        f"origin must match the pattern {pattern}",
    )


def test_a_schema_that_cannot_be_evaluated_is_the_documents_fault() -> None:
    """A pattern that is none is named as such, and no library's exception leaves."""
    catalog = _catalog({"origin": {"type": "string", "pattern": "("}})

    with pytest.raises(DocumentInvalid, match="flight_book cannot be evaluated"):
        check_arguments(catalog, catalog.tool("flight_book"), {"origin": "Oslo"})


@pytest.mark.parametrize("blank", ["", " ", "\u200b"])
def test_nothing_is_cancelled_by_a_blank_id(blank: str) -> None:
    """A provider may answer that it is done."""
    schema = {"origin": {"type": "string"}}
    catalog = _catalog(schema)

    problems = check_arguments(catalog, catalog.tool("flight_cancel"), {"origin": blank})

    assert problems == ("origin is blank, and names nothing to cancel",)
    assert check_arguments(catalog, catalog.tool("flight_book"), {"origin": blank}) == ()


@pytest.mark.parametrize(
    ("schema", "given", "sent"),
    [
        ({"type": "integer"}, "608097003", 608097003),
        ({"type": "string"}, 725653563933458435, "725653563933458435"),
        ({"type": "string"}, 7.0, "7"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "-7", -7),
        ({"type": "integer"}, "007", "007"),
        ({"type": "integer"}, "7.5", "7.5"),
        ({"type": "string", "maxLength": 2}, 700, 700),
        ({"type": ["string", "integer"]}, "7", "7"),
        ({"type": "string"}, True, True),
    ],
)
@pytest.mark.parametrize("location", ["path", "query", "header", "body"])
def test_a_parameter_takes_a_number_and_its_digits_alike(
    schema: JsonObject, given: Any, sent: Any, location: Any
) -> None:
    """The request has the same text for both; a body has not."""
    binding = InputBinding(name="x", location=location, field="x")
    inputs: JsonObject = {"type": "object", "properties": {"x": schema}}
    tool = fake_tool("thing").model_copy(update={"bindings": (binding,), "input_schema": inputs})
    fits = given if location == "body" else sent

    assert by_text(tool, {"x": given}) == {"x": fits}
    assert type(by_text(tool, {"x": given})["x"]) is type(fits)
