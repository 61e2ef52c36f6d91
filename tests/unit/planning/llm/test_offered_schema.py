"""Input schemas as providers take them: no combination at the top, and nothing lost by it."""

import json
import re
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of, required_of, walk
from orchestrator.planning.llm.offered_schema import given_arguments, offered_schema, wire_key
from orchestrator.planning.llm.prompt import tool_parameters
from orchestrator.testing.model_server.provider_apis import open_ai_tool_breaches

_A: dict[str, Any] = {"type": "string"}
_NEEDS_A = {"required": ["a"]}


def test_every_tool_of_the_documents_can_be_offered(shipped: Catalog) -> None:
    """One that cannot would cost each request that shows it."""
    functions = [
        {"name": name, "parameters": tool_parameters(tool)} for name, tool in shipped.tools.items()
    ]

    assert list(open_ai_tool_breaches(functions, "auto")) == []
    cancel = tool_parameters(shipped.tools["flight_cancel_booking"])
    assert "Give at least one of: booking_id; client_reference." in str(cancel["description"])


def test_what_fits_is_left_as_it_is() -> None:
    """The very schema."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": _A}}

    assert offered_schema(schema) is schema


@pytest.mark.parametrize(
    ("combined", "names", "told"),
    [
        (
            {"oneOf": [_NEEDS_A, {"required": ["b", "c"]}]},
            {"a"},
            "Give exactly one of: a; b and c.",
        ),
        (
            {"anyOf": [{"properties": {"b": _A}, "required": ["b"]}, _NEEDS_A]},
            {"a", "b"},
            'The inputs together fit {"anyOf"',
        ),
        ({"allOf": [{"properties": {"b": _A}}, {"$ref": "#/$defs/C"}]}, {"a", "b", "c"}, "allOf"),
        ({"not": {"required": ["a"]}}, {"a"}, "not"),
        ({"enum": [{"a": "x"}]}, {"a"}, "enum"),
    ],
)
def test_a_combination_is_told_in_words(
    combined: dict[str, Any], names: set[str], told: str
) -> None:
    """And whatever its members name can be given."""
    schema = {
        "type": "object",
        "description": "Who.",
        "properties": {"a": _A},
        "$defs": {"C": {"type": "object", "properties": {"c": _A}}},
        **combined,
    }
    made = offered_schema(schema)

    assert list(open_ai_tool_breaches([{"name": "t", "parameters": made}], "auto")) == []
    assert set(made["properties"]) == names  # type: ignore[arg-type]
    assert str(made["description"]).startswith("Who. ")
    assert told in str(made["description"])
    assert made["properties"]["a"] == _A  # type: ignore[index,call-overload]


ODD: JsonObject = {
    "type": "object",
    "properties": {
        "filter[platform]": {"type": "string"},
        "filter(platform)": {"type": "string"},
        "$top": {"type": "integer"},
        "user name": {"type": "string"},
        "n" * 70: {"type": "boolean"},
        "plain.name": {"type": "string"},
        "slot": {"$ref": "#/$defs/Slot"},
        "guests": {"type": "array", "items": {"type": "object", "properties": {"@id": {}}}},
    },
    "required": ["filter[platform]"],
    "$defs": {
        "Slot": {
            "type": "object",
            "properties": {"@odata.type": {"type": "string"}, "end": {"type": "object"}},
            "required": ["@odata.type"],
        }
    },
}


def test_names_of_properties_are_those_that_every_provider_takes() -> None:
    """At every level, each name once, and required under the name that is offered."""
    offered = offered_schema(ODD)
    names = [name for inner in walk(offered) for name in properties_of(inner)]

    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in names)
    assert len(properties_of(offered)) == len(properties_of(ODD))
    assert {*required_of(offered)} <= {*properties_of(offered)}
    assert "plain.name" in names


def test_a_call_under_offered_names_is_read_under_the_own_ones() -> None:
    """The mapping is reversed at every level."""
    own: JsonObject = {
        "filter[platform]": "ios",
        "$top": 3,
        "n" * 70: True,
        "slot": {"@odata.type": "x", "end": {}},
        "guests": [{"@id": 1}],
    }
    given: JsonObject = {
        wire_key("filter[platform]"): "ios",
        wire_key("$top"): 3,
        wire_key("n" * 70): True,
        "slot": {wire_key("@odata.type"): "x", "end": {}},
        "guests": [{wire_key("@id"): 1}],
    }

    assert given_arguments(ODD, given) == own
    assert given_arguments(ODD, own) == own


def test_an_object_or_a_list_as_text_is_read() -> None:
    """Where the schema takes no text, and the text is what it takes."""
    odd = wire_key("@odata.type")
    slot = json.dumps({odd: "x", "end": "{}"})
    given: JsonObject = {"slot": slot, "guests": "[{}]", "user name": "{}"}

    assert given_arguments(ODD, given) == {
        "slot": {"@odata.type": "x", "end": {}},
        "guests": [{}],
        "user name": "{}",
    }
    assert given_arguments(ODD, {"slot": "[1]", "guests": "no"}) == {"slot": "[1]", "guests": "no"}


def test_only_an_optional_null_that_nothing_takes_is_left_out() -> None:
    """A required one stays, for the check to name it."""
    given: JsonObject = {"filter[platform]": None, "$top": None, "slot": {"end": None}}
    spelled: JsonObject = {"filter[platform]": "None", "$top": "null", "slot": {"end": "undefined"}}

    assert given_arguments(ODD, given) == {"filter[platform]": None, "slot": {}}
    assert given_arguments(ODD, spelled) == {"filter[platform]": "None", "slot": {}}
