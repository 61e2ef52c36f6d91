"""The inputs of a tool, and the places of the document that declare them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.catalog.inputs import choose_content_type
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import InputBinding, Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode


@dataclass(frozen=True)
class Input:
    """One input."""

    binding: InputBinding
    schema: JsonObject
    """Compiled."""
    pointer: str = ""
    """Where it is declared: a parameter, a property of a body; '' when that cannot be told."""
    schema_pointer: str = ""
    """Where its schema stands: where it is declared, or what that refers to."""

    @property
    def is_whole_body(self) -> bool:
        """Whether it stands for a body that has no named parts."""
        return self.binding.location == "body" and not self.binding.field


def inputs_of(operation: Operation, tool: Tool) -> Iterator[Input]:
    """Each input of a tool, in its order."""
    places = {(location, name): found for location, name, found in _declared(operation)}
    schemas = tool.properties
    for binding in tool.bindings:
        schema = schemas[binding.name]
        found = places.get((binding.location, binding.field))
        if found is None:
            yield Input(binding, schema)
        else:
            yield Input(binding, schema, found.pointer, _schema_of(found, binding).pointer)


def _declared(operation: Operation) -> Iterator[tuple[str, str, DocumentNode]]:
    for parameter in operation.parameters():
        yield parameter.require("in").text(), parameter.require("name").text(), parameter
    body = operation.node.at("requestBody")
    media_types = dict(body.items("content")) if body is not None else {}
    if (chosen := choose_content_type(media_types)) is not None:
        written = media_types[chosen].raw("schema")
        for name, place in _properties(written, set()) if written is not None else ():
            yield "body", name, place


def _properties(
    schema: DocumentNode, seen: set[tuple[str, ...]]
) -> Iterator[tuple[str, DocumentNode]]:
    """The properties that a schema declares, those of the members of its allOf first."""
    # What leads nowhere has a finding of its own.
    with suppress(DocumentInvalid):
        schema = schema.resolved()
        if schema.path in seen:
            return
        seen.add(schema.path)
        members = schema.raw("allOf")
        for member in members.raw_elements() if members is not None else ():
            yield from _properties(member, seen)
        properties = schema.raw("properties")
        yield from properties.raw_items() if properties is not None else ()


def _schema_of(place: DocumentNode, binding: InputBinding) -> DocumentNode:
    written = place if binding.location == "body" else place.raw("schema")
    if written is None:
        return place
    target = written.resolved()
    # A parameter and the schema that is written in it are one place to whoever mends it.
    return target if binding.location == "body" or target.path != written.path else place
