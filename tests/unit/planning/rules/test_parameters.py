"""What inputs mean, read from their names and schemas."""

import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.parameters import (
    Kind,
    Parameter,
    read_parameter,
    tool_parameters,
)

STRING: JsonObject = {"type": "string"}
INTEGER: JsonObject = {"type": "integer"}
NUMBER: JsonObject = {"type": "number"}


def read(name: str, schema: JsonObject) -> Parameter:
    return read_parameter(name, schema, schema, required=True)


@pytest.mark.parametrize(
    ("name", "schema", "kind"),
    [
        ("departure_date", {"type": "string", "format": "date"}, Kind.DATE),
        ("startDate", STRING, Kind.DATE),
        ("begins_at", {"type": "string", "format": "date-time"}, Kind.DATETIME),
        ("time", STRING, Kind.TIME),
        ("origin", STRING, Kind.PLACE),
        ("pickup-location", STRING, Kind.PLACE),
        ("to", {"type": "string", "description": "City of arrival."}, Kind.PLACE),
        ("to", {"type": "string", "description": "Who reads it."}, Kind.OTHER),
        ("max_price", NUMBER, Kind.AMOUNT),
        ("amount_cents", INTEGER, Kind.AMOUNT),
        ("party_size", INTEGER, Kind.COUNT),
        ("nights", INTEGER, Kind.NIGHTS),
        ("page_size", INTEGER, Kind.COUNT),
        ("max_results", INTEGER, Kind.PAGING),
        ("latitude", NUMBER, Kind.OTHER),
        ("recipient", {"type": "string", "format": "email"}, Kind.EMAIL),
        ("email_id", STRING, Kind.IDENTIFIER),
        ("currency", {"type": "string", "enum": ["EUR", "USD"]}, Kind.CURRENCY),
        ("cuisine", {"type": "string", "enum": ["thai", "french"]}, Kind.CHOICE),
        ("version", {"type": "string", "enum": ["v1"]}, Kind.CONSTANT),
        ("q", STRING, Kind.QUERY),
        ("message", STRING, Kind.TEXT),
        ("subject", STRING, Kind.TITLE),
        ("direct_only", {"type": "boolean"}, Kind.FLAG),
        ("items", {"type": "array", "items": STRING}, Kind.LIST),
        (
            "price",
            {"type": "object", "properties": {"amount": NUMBER, "currency": STRING}},
            Kind.MONEY,
        ),
    ],
)
def test_kind_is_read_from_name_and_schema(name: str, schema: JsonObject, kind: Kind) -> None:
    """The schema decides where it says something; else the last word of the name does."""
    assert read(name, schema).kind is kind


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("check_in", "start"),
        ("check_out", "end"),
        ("return_date", "end"),
        ("departure_date", "start"),
        ("due_date", "end"),
        ("date", None),
    ],
)
def test_dates_know_which_end_of_a_stretch_they_are(name: str, side: str | None) -> None:
    """Common pairs of names are told apart; a plain date is neither."""
    assert read(name, {"type": "string", "format": "date"}).side == side


def test_nullable_alternative_is_the_other_one() -> None:
    """An anyOf of a schema and null is read as that schema."""
    assert read(
        "day", {"anyOf": [{"type": "null"}, {"type": "string", "format": "date"}]}
    ).kind is (Kind.DATE)


def test_values_are_held_to_the_whole_schema() -> None:
    """Formats, patterns and definitions all decide whether a value is accepted."""
    root: JsonObject = {"$defs": {"Code": {"type": "string", "pattern": "^[A-Z]{3}$"}}}
    code = read_parameter("code", {"$ref": "#/$defs/Code"}, root, required=True)
    day = read("day", {"type": "string", "format": "date"})

    assert code.first_accepted("Berlin", None, "BER") == "BER"
    assert not day.accepts("2026-13-01")


def test_references_that_are_filled_in_are_no_parameters() -> None:
    """The planner leaves the caller's own reference to the orchestrator."""
    tool = Tool(
        name="order_place",
        document="shop",
        domain="shop",
        input_schema={"properties": {"client_reference": STRING, "sku": STRING}},
        reference_inputs=("client_reference",),
    )

    assert [p.name for p in tool_parameters(tool)] == ["sku"]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "number", "description": "Kilowatt hours."}, Kind.OTHER),
        ({"type": "number", "description": "In euros."}, Kind.AMOUNT),
        ({"type": "number", "description": "Price in SEK."}, Kind.AMOUNT),
        ({"type": "number"}, Kind.AMOUNT),
    ],
)
def test_a_value_is_money_unless_its_description_speaks_of_none(
    schema: JsonObject, kind: Kind
) -> None:
    """A meter shows no money."""
    parameter = read_parameter("value", schema, schema, required=True)

    assert (parameter.kind, parameter.takes_any_number) == (kind, kind is Kind.OTHER)


@pytest.mark.parametrize(
    "schema", [{"type": "string", "format": "duration"}, {"enum": ["PT30M", "PT1H", "P2W"]}]
)
def test_lengths_of_time_are_a_kind_of_their_own(schema: JsonObject) -> None:
    """By their format, or by what they list."""
    assert read_parameter("length", schema, schema, required=True).kind is Kind.DURATION
