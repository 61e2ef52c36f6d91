"""Personal values in the place of their handles: of the type that the schema asks for."""

import pytest

from orchestrator.adapters.http.reveal import reveal_arguments
from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import Handle
from orchestrator.core.record import JsonObject
from orchestrator.testing.fakes import fake_tool

NUMBER: JsonObject = {"type": "integer"}


def taking(schema: JsonObject) -> Tool:
    """A tool with one input, and definitions."""
    person: JsonObject = {"type": "object", "properties": {"pin": NUMBER}}
    return fake_tool(
        "call",
        input_schema={
            "type": "object",
            "properties": {"pin": schema},
            "$defs": {"Pin": NUMBER, "A/b": NUMBER, "Person": person},
        },
    )


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (NUMBER, 1984),
        ({"type": "string"}, "1984"),
        ({}, "1984"),
        ({"$ref": "#/$defs/Pin"}, 1984),
        ({"$ref": "#/$defs/A~1b"}, 1984),
        ({"allOf": [{"$ref": "#/$defs/Pin"}], "minimum": 1}, 1984),
        ({"anyOf": [NUMBER, {"type": "null"}]}, 1984),
        ({"anyOf": [NUMBER, {"type": "string"}]}, "1984"),
    ],
)
def test_a_handle_becomes_a_value_of_the_type_that_is_asked_for(
    schema: JsonObject, value: int | str
) -> None:
    """Through references and compositions too; text, where text is taken."""
    revealed = reveal_arguments(taking(schema), {"pin": "pii:pin"}, {Handle("pin"): "1984"})

    assert revealed == {"pin": value}


def test_handles_inside_of_objects_and_lists_are_revealed() -> None:
    """Each by the schema of its own property; what is no handle stays."""
    tool = taking({"type": "array", "items": {"$ref": "#/$defs/Person"}})
    people: JsonObject = {"pin": [{"pin": "pii:pin", "name": "Ada"}, {"note": "is pii:pin"}]}

    revealed = reveal_arguments(tool, people, {Handle("pin"): "1984"})

    assert revealed == {"pin": [{"pin": 1984, "name": "Ada"}, {"note": "is 1984"}]}
