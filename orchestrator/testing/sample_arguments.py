"""Generates arguments for tools from their schemas and examples.

The values of a call that its compensation reads differ between calls, so that no cancel can match
another call.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import JsonValue

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.call_templates import expressions_of
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.expressions import Expression
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.pii import handle_for
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.parameters import Kind, tool_parameters
from orchestrator.sandbox.served_schemas import SchemaBook
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema

_AHEAD = timedelta(days=30)
"""How far ahead generated dates are, as bookings are in the future."""
_FORM = "application/x-www-form-urlencoded"
Steps = tuple[str, ...]
_BOOKS: WeakKeyDictionary[Catalog, dict[str, SchemaBook]] = WeakKeyDictionary()


def make_arguments(
    catalog: Catalog, tool: Tool, *, seed: str = "", whole: bool = False
) -> JsonObject:
    """Return arguments that a tool accepts.

    Inputs that the orchestrator fills itself are left out, personal fields are handles, and inputs
    that the compensation reads are included.

    Args:
        catalog: the catalog of the tool.
        tool: the tool to call.
        seed: seeds all generated values; calls with different seeds differ.
        whole: include optional inputs, at every depth.

    Raises:
        ArgumentsInvalid: no candidate is valid; its problems name the inputs that need an example.
    """
    book = SchemaBook({**tool.input_schema, "openapi": "3.1.0"})
    make, scene = Synthesizer(book, {}), _scene(seed, whole=whole)
    try:
        hinted = replace(scene, hints=dict(_examples(catalog, tool)))
        made = _in_order(make.object(tool.input_schema, hinted), tool, given=hinted.hints)
        if tool.body_content_type == _FORM:
            made |= _filled(made, tool, make, _scene(seed, whole=True))
        made = _Identifier(book, make, scene).identified(made, tool)
    except UnsupportedSchema as error:
        raise ArgumentsInvalid(tool.name, [str(error)]) from error
    personal = {name: handle_for(name) for name in tool.pii_fields if name in made}
    arguments = {**made, **personal}
    filled_for_us = dict.fromkeys(tool.reference_inputs, "made-up-mission.1-pair.1")
    problems = check_arguments(catalog, tool, {**filled_for_us, **arguments})
    if problems:
        raise ArgumentsInvalid(tool.name, problems)
    return {n: v for n, v in arguments.items() if n not in tool.reference_inputs}


def make_up_person(catalog: Catalog) -> dict[str, str]:
    """Return a valid value for every personal field of a catalog, for a PII vault."""
    person: dict[str, str] = {}
    for tool in catalog.tools.values():
        book = SchemaBook({**tool.input_schema, "openapi": "3.1.0"})
        make = Synthesizer(book, {})
        for field in tool.pii_fields:
            if field not in person and field in tool.properties:
                person[field] = _text(make, tool.properties[field], field)
    return person


def make_value(schema: JsonObject, name: str) -> JsonValue:
    """Return a value that a schema accepts: a listed one, an example, or a made one.

    Raises:
        ArgumentsInvalid: none can be made.
    """
    listed = [*_listed(schema), *(schema[key] for key in ("default", "example") if key in schema)]
    if listed:
        return listed[0]
    make = Synthesizer(SchemaBook({**schema, "openapi": "3.1.0"}), {})
    try:
        made: JsonValue = make.value(schema, _scene(name), name=name)
    except UnsupportedSchema as error:
        raise ArgumentsInvalid(name, [str(error)]) from error
    return made


def _listed(schema: JsonObject) -> Iterator[JsonValue]:
    """Yield the values that a schema lists, in its order."""
    for key in ("enum", "examples"):
        values = schema.get(key)
        yield from values if isinstance(values, list) else ()
    for key in ("oneOf", "anyOf"):
        parts = schema.get(key)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and "const" in part:
                yield part["const"]


def _text(make: Synthesizer, schema: JsonObject, field: str) -> str:
    try:
        value = make.value(schema, _scene(field), name=field)
    except UnsupportedSchema:
        return "unknown"
    return value if isinstance(value, str) else json.dumps(value)


def _filled(made: JsonObject, tool: Tool, make: Synthesizer, scene: Scene) -> JsonObject:
    """Return members for empty objects, which a form cannot express."""
    bare = [b.name for b in tool.bindings if b.location == "body" and made.get(b.name) == {}]
    return {name: make.value(tool.properties[name], scene, name=name) for name in bare}


def _in_order(made: JsonObject, tool: Tool, *, given: Collection[str]) -> JsonObject:
    """Move generated end dates after the start dates."""
    days = [p for p in tool_parameters(tool) if p.kind is Kind.DATE and p.name in made]
    starts = [str(made[p.name]) for p in days if p.side != "end"]
    later: JsonObject = {}
    for parameter in days:
        if parameter.side == "end" and parameter.name not in given and starts:
            day = date.fromisoformat(max(starts)[:10]) + timedelta(days=1)
            if parameter.accepts(day.isoformat()):
                later[parameter.name] = day.isoformat()
    return {**made, **later}


def _scene(seed: str, *, whole: bool = False) -> Scene:
    now = datetime.now(UTC)
    return Scene(Random(seed), now, now + _AHEAD, omit=lambda name: not whole, is_request=True)


def _examples(catalog: Catalog, tool: Tool) -> Iterator[tuple[str, Any]]:
    """Yield the document's examples of requests and parameters, by input."""
    document = catalog.documents.get(tool.document)
    if document is None:
        return
    name = tool.document
    books = _BOOKS.setdefault(catalog, {})
    if name not in books:
        books[name] = SchemaBook(catalog.documents[name])
    book = books[name]
    item = book.follow(_mapping(_mapping(document.get("paths")).get(tool.path)))
    operation = book.follow(_mapping(item.get(tool.method.lower())))
    content = _mapping(book.follow(_mapping(operation.get("requestBody"))).get("content"))
    media = _mapping(content.get(tool.body_content_type or ""))
    body = _mapping(next(_first_example(media), None))
    for binding in tool.bindings:
        if binding.location == "body" and binding.field in body:
            yield binding.name, body[binding.field]
    parameters = [*item.get("parameters", ()), *operation.get("parameters", ())]
    for parameter in (book.follow(p) for p in parameters):
        for binding in tool.bindings:
            if (binding.location, binding.field) == (parameter.get("in"), parameter.get("name")):
                yield from ((binding.name, value) for value in _first_example(parameter))


def _first_example(holder: Mapping[str, Any]) -> Iterator[Any]:
    if "example" in holder:
        yield holder["example"]
    for example in _mapping(holder.get("examples")).values():
        if "value" in _mapping(example):
            yield example["value"]
            return


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class _Identifier:
    """Gives a call unique values by which its compensation finds only that call."""

    def __init__(self, book: SchemaBook, make: Synthesizer, scene: Scene) -> None:
        self._book = book
        self._make = make
        self._scene = scene

    def identified(self, arguments: JsonObject, tool: Tool) -> JsonObject:
        """Return the arguments with a unique value wherever the compensation reads one."""
        chosen = {steps for steps in _chosen_ids(tool) if steps[0] in arguments}
        for steps in sorted(_read_back(tool) | chosen):
            name = steps[0]
            schema = tool.properties.get(name)
            if schema is None or name in tool.reference_inputs or name in tool.pii_fields:
                continue
            # A value that cannot be generated is missing, as it would be in a planner's call.
            with suppress(UnsupportedSchema):
                value = self._value(arguments.get(name), schema, steps)
                arguments = {**arguments, name: value}
        return arguments

    def _value(self, value: Any, schema: Mapping[str, Any], steps: Steps) -> Any:
        """Return the value with a unique leaf at the steps; the first step names the value."""
        if value is None:
            value = self._make.value(schema, self._scene, name=steps[0])
        if len(steps) == 1:
            name = steps[0]
            resolved = self._book.resolve(schema)
            is_choice = not resolved.keys().isdisjoint(("enum", "const"))
            if is_choice or self._book.type_of(resolved) not in ("string", "integer"):
                return value
            return self._make.identifier(schema, self._scene.rng, name=name)
        inner = steps[1]
        if isinstance(value, dict):
            below = self._book.properties(schema).get(inner)
            if below is not None:
                return {**value, inner: self._value(value.get(inner), below, steps[1:])}
        if isinstance(value, list) and inner.isdecimal() and int(inner) < len(value):
            items = self._book.resolve(schema).get("items") or {}
            own = self._value(value[int(inner)], items, steps[1:])
            return [own if i == int(inner) else item for i, item in enumerate(value)]
        return value


def _read_back(tool: Tool) -> set[Steps]:
    """Return the path to each request value that the compensation reads, by input."""
    templates = tool.compensation.templates if tool.compensation is not None else ()
    return {
        steps
        for template in templates
        for expression in expressions_of(template)
        if expression.message == "request"
        for steps in _inputs(expression, tool)
    }


def _chosen_ids(tool: Tool) -> set[Steps]:
    """Return the path to each request value that an id in the answer may repeat: a chosen name."""
    templates = tool.compensation.templates if tool.compensation is not None else ()
    return {
        (binding.name, *path[1:])
        for template in templates
        for expression in expressions_of(template)
        if expression.message == "response" and expression.source == "body"
        for path in (expression.path, expression.path[-1:])
        for binding in tool.bindings
        if binding.location == "body" and path and binding.field == path[0]
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
