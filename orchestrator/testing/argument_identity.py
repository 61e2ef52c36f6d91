"""What a call must say so that it can be taken back, and no other call be meant by it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from orchestrator.catalog.call_templates import expressions_of
from orchestrator.catalog.expressions import Expression
from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.sandbox.served_schemas import SchemaBook
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema

Steps = tuple[str, ...]


def tell_apart(
    arguments: JsonObject, tool: Tool, *, book: SchemaBook, make: Synthesizer, scene: Scene
) -> JsonObject:
    """The arguments with all that the tool's compensation reads of them, and none of it shared.

    What is read though it is optional is made; an id or a reference is another with each scene.
    """
    for steps in sorted(_read_back(tool)):
        name = steps[0]
        schema = tool.properties.get(name)
        if schema is None or name in tool.reference_inputs or name in tool.pii_fields:
            continue
        # What cannot be made is missing, as it would be in a call of a planner's.
        with suppress(UnsupportedSchema):
            told = _Telling(book, make, scene)
            arguments = {**arguments, name: told.told(arguments.get(name), schema, steps)}
    return arguments


class _Telling:
    def __init__(self, book: SchemaBook, make: Synthesizer, scene: Scene) -> None:
        self._book = book
        self._make = make
        self._scene = scene

    def told(self, value: Any, schema: Mapping[str, Any], steps: Steps) -> Any:
        """The value with a leaf of its own where the steps lead; the first names the value."""
        if value is None:
            value = self._make.value(schema, self._scene, name=steps[0])
        if len(steps) == 1:
            return self._leaf(value, schema, steps[0])
        inner = steps[1]
        if isinstance(value, dict):
            below = self._book.properties(schema).get(inner)
            if below is not None:
                return {**value, inner: self.told(value.get(inner), below, steps[1:])}
        if isinstance(value, list) and inner.isdecimal() and int(inner) < len(value):
            items = self._book.resolve(schema).get("items") or {}
            told = self.told(value[int(inner)], items, steps[1:])
            return [told if i == int(inner) else item for i, item in enumerate(value)]
        return value

    def _leaf(self, value: Any, schema: Mapping[str, Any], name: str) -> Any:
        resolved = self._book.resolve(schema)
        is_choice = not resolved.keys().isdisjoint(("enum", "const"))
        if is_choice or self._book.type_of(resolved) not in ("string", "integer"):
            return value
        return self._make.identifier(schema, self._scene.rng, name=name)


def _read_back(tool: Tool) -> set[Steps]:
    """For each reading of the request the input that it reads, and the way into it."""
    templates = tool.compensation.templates if tool.compensation is not None else ()
    return {
        steps
        for template in templates
        for expression in expressions_of(template)
        if expression.message == "request"
        for steps in _inputs(expression, tool)
    }


def _inputs(expression: Expression, tool: Tool) -> Iterator[Steps]:
    for binding in tool.bindings:
        if binding.location != expression.source:
            continue
        if binding.location == "body" and not binding.field:
            yield (binding.name, *expression.path)
        elif expression.path and binding.field == expression.path[0]:
            yield (binding.name, *expression.path[1:])
        elif binding.location == "header" and expression.path[0].lower() == binding.field.lower():
            yield (binding.name,)
