"""Generates arguments for tools from their schemas and examples.

The values of a call that its compensation reads differ between calls, so that no cancel can match
another call.
"""

import json
from collections.abc import Iterator, Mapping
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
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.pii import handle_for
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.parameters import Kind, tool_parameters
from orchestrator.sandbox.served_schemas import SchemaBook
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema

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
        made: JsonObject = make.object(tool.input_schema, hinted)
        # Generated end dates come after the start dates.
        days = [p for p in tool_parameters(tool) if p.kind is Kind.DATE and p.name in made]
        if starts := [str(made[p.name]) for p in days if p.side != "end"]:
            day = (date.fromisoformat(max(starts)[:10]) + timedelta(days=1)).isoformat()
            ends = [p for p in days if p.side == "end" and p.name not in hinted.hints]
            made |= {p.name: day for p in ends if p.accepts(day)}
        if tool.body_content_type == "application/x-www-form-urlencoded":
            # A form cannot express empty objects.
            own = [b.name for b in tool.bindings if b.location == "body" and made.get(b.name) == {}]
            full = _scene(seed, whole=True)
            made |= {name: make.value(tool.properties[name], full, name=name) for name in own}
        for steps in sorted(_read_paths(tool, made)):
            schema = tool.properties.get(steps[0])
            if schema is None or steps[0] in (*tool.reference_inputs, *tool.pii_fields):
                continue
            # A value that cannot be generated is missing, as it would be in a planner's call.
            with suppress(UnsupportedSchema):
                value = _identified(made.get(steps[0]), schema, steps, book, make, scene)
                made = {**made, steps[0]: value}
    except UnsupportedSchema as error:
        raise ArgumentsInvalid(tool.name, [str(error)]) from error
    personal = {name: handle_for(name) for name in tool.pii_fields if name in made}
    arguments = {**made, **personal}
    filled_for_us = dict.fromkeys(tool.reference_inputs, "made-up-mission.1-pair.1")
    problems = check_arguments(catalog, tool, {**filled_for_us, **arguments})
    if problems:
        raise ArgumentsInvalid(tool.name, problems)
    return {n: v for n, v in arguments.items() if n not in tool.reference_inputs}


def _read_paths(tool: Tool, arguments: JsonObject) -> set[tuple[str, ...]]:
    """Return the path to each value by which the compensation finds the call.

    The request's values, and those of it that an id in the answer may repeat: a chosen name.
    """
    found: set[tuple[str, ...]] = set()
    templates = tool.compensation.templates if tool.compensation is not None else ()
    for one in (expression for template in templates for expression in expressions_of(template)):
        for binding in tool.bindings:
            name, place = binding.name, binding.location
            if one.message == "response" and one.source == place == "body":
                for path in (one.path, one.path[-1:]):
                    if path and binding.field == path[0] and name in arguments:
                        found.add((name, *path[1:]))
            if one.message != "request" or one.source != place:
                continue
            if place == "body" and not binding.field:
                found.add((name, *one.path))
            elif one.path and binding.field == one.path[0]:
                found.add((name, *one.path[1:]))
            elif place == "header" and one.path[0].lower() == binding.field.lower():
                found.add((name,))
    return found


def _identified(
    value: Any,
    schema: Mapping[str, Any],
    steps: tuple[str, ...],
    book: SchemaBook,
    make: Synthesizer,
    scene: Scene,
) -> Any:
    """Return the value with a unique leaf at the steps; the first step names the value."""
    if value is None:
        value = make.value(schema, scene, name=steps[0])
    resolved = book.resolve(schema)
    if len(steps) == 1:
        is_choice = not resolved.keys().isdisjoint(("enum", "const"))
        if is_choice or book.type_of(resolved) not in ("string", "integer"):
            return value
        return make.identifier(schema, scene.rng, name=steps[0])
    inner, rest = steps[1], steps[1:]
    if isinstance(value, dict):
        below = book.properties(schema).get(inner)
        if below is not None:
            return {**value, inner: _identified(value.get(inner), below, rest, book, make, scene)}
    if isinstance(value, list) and inner.isdecimal() and int(inner) < len(value):
        own = _identified(value[int(inner)], resolved.get("items") or {}, rest, book, make, scene)
        return [own if i == int(inner) else item for i, item in enumerate(value)]
    return value


def make_up_person(catalog: Catalog) -> dict[str, str]:
    """Return a valid value for every personal field of a catalog, for a PII vault."""
    person: dict[str, str] = {}
    for tool in catalog.tools.values():
        make = Synthesizer(SchemaBook({**tool.input_schema, "openapi": "3.1.0"}), {})
        for field in tool.pii_fields:
            if field not in person and field in tool.properties:
                value: Any = "unknown"
                with suppress(UnsupportedSchema):
                    value = make.value(tool.properties[field], _scene(field), name=field)
                person[field] = value if isinstance(value, str) else json.dumps(value)
    return person


def make_value(schema: JsonObject, name: str) -> JsonValue:
    """Return a value that a schema accepts: a listed one, an example, or a made one.

    Raises:
        ArgumentsInvalid: none can be made.
    """
    listed: list[JsonValue] = []
    for key in ("enum", "examples"):
        values = schema.get(key)
        listed += values if isinstance(values, list) else ()
    for key in ("oneOf", "anyOf"):
        parts = schema.get(key)
        named = parts if isinstance(parts, list) else ()
        listed += [one["const"] for one in named if isinstance(one, dict) and "const" in one]
    listed += [schema[key] for key in ("default", "example") if key in schema]
    if listed:
        return listed[0]
    make = Synthesizer(SchemaBook({**schema, "openapi": "3.1.0"}), {})
    try:
        made: JsonValue = make.value(schema, _scene(name), name=name)
    except UnsupportedSchema as error:
        raise ArgumentsInvalid(name, [str(error)]) from error
    return made


def _scene(seed: str, *, whole: bool = False) -> Scene:
    now = datetime.now(UTC)
    # Bookings are in the future.
    day = now + timedelta(days=30)
    return Scene(Random(seed), now, day, omit=lambda name: not whole, is_request=True)


def _examples(catalog: Catalog, tool: Tool) -> Iterator[tuple[str, Any]]:
    document = catalog.documents.get(tool.document)
    if document is None:
        return
    books = _BOOKS.setdefault(catalog, {})
    if tool.document not in books:
        books[tool.document] = SchemaBook(document)
    book = books[tool.document]
    item = book.follow(_mapping(_mapping(document.get("paths")).get(tool.path)))
    operation = book.follow(_mapping(item.get(tool.method.lower())))
    content = _mapping(book.follow(_mapping(operation.get("requestBody"))).get("content"))
    body = _mapping(next(_first_example(_mapping(content.get(tool.body_content_type or ""))), None))
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
