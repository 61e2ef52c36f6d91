"""Input schemas as providers take them: no combination at the top, and nothing lost by it."""

from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.planning.llm.prompt import offered_schema, tool_parameters
from orchestrator.testing.model_server.conversation_rules import open_ai_tool_breaches

_A: dict[str, Any] = {"type": "string"}


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
            {"oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}]},
            {"a"},
            "Give exactly one of: a; b and c.",
        ),
        (
            {"anyOf": [{"properties": {"b": _A}, "required": ["b"]}, {"required": ["a"]}]},
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
