"""Puts personal values in the place of their handles, just before a request is built."""

import json
from collections.abc import Mapping

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.core.pii import Handle, field_of, handle_of, replace_handles
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import properties_of


def reveal_arguments(tool: Tool, arguments: JsonObject, values: Mapping[Handle, str]) -> JsonObject:
    """The arguments with values for handles.

    A handle that stands alone becomes a value of the type that its schema asks for: the vault holds
    text, and `1984` may have to be a number. One inside other text becomes text.
    """
    if not values:
        return arguments
    properties = tool.properties
    return {
        name: _reveal(value, properties.get(name, {}), tool.input_schema, values)
        for name, value in arguments.items()
    }


def personal_literals(tool: Tool, arguments: JsonObject) -> list[tuple[Handle, str]]:
    """Personal inputs that came as values and not as handles; they are hidden like the others."""
    given = [(name, arguments.get(name)) for name in tool.pii_fields]
    return [
        (Handle(name), str(value))
        for name, value in given
        if isinstance(value, str | int | float) and field_of(value) is None
    ]


def _reveal(
    value: JsonValue, schema: JsonObject, root: JsonObject, values: Mapping[Handle, str]
) -> JsonValue:
    schema = resolve(schema, root)
    if isinstance(value, dict):
        properties = properties_of(schema)
        return {k: _reveal(v, properties.get(k, {}), root, values) for k, v in value.items()}
    if isinstance(value, list):
        items = schema.get("items")
        element = items if isinstance(items, dict) else {}
        return [_reveal(held, element, root, values) for held in value]
    if not isinstance(value, str):
        return value
    handle = handle_of(value)
    if handle is not None and handle in values:
        return _typed(values[handle], schema)
    fields = {known.field for known in values}
    return replace_handles(value, fields, lambda found: values.get(found, str(found)))


def _typed(text: str, schema: JsonObject) -> JsonValue:
    declared = schema.get("type")
    kinds = declared if isinstance(declared, list) else [declared]
    if declared is None or "string" in kinds:
        return text
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        # As it is: the check that follows says that the type is wrong, without quoting it.
        return text
    return value
