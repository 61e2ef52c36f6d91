"""Arguments for tools, made from their schemas: declared examples first, the rest made up."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from weakref import WeakKeyDictionary

from orchestrator.catalog.arguments import check_arguments
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.pii import handle_for
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.parameters import Kind, tool_parameters
from orchestrator.sandbox.served_schemas import SchemaBook
from orchestrator.sandbox.synthesis import Scene, Synthesizer, UnsupportedSchema
from orchestrator.testing.argument_identity import tell_apart

_AHEAD = timedelta(days=30)
"""Made-up dates are this far ahead: what is booked is in the future."""
_FORM = "application/x-www-form-urlencoded"
_BOOKS: WeakKeyDictionary[Catalog, dict[str, SchemaBook]] = WeakKeyDictionary()


def make_arguments(
    catalog: Catalog, tool: Tool, *, seed: str = "", whole: bool = False
) -> JsonObject:
    """Arguments that a tool accepts: what it requires, or all that it takes.

    What the orchestrator fills itself is left out, personal fields are handles, and what the
    contract reads back to find a call is made though it is optional, and another with each seed.

    Args:
        catalog: the tool's.
        tool: whose arguments.
        seed: of everything made up; two calls with different seeds are two different calls.
        whole: also what is optional, at every depth.

    Raises:
        ArgumentsInvalid: nothing that was tried fits; its problems say which inputs need an
            example.
    """
    book = SchemaBook({**tool.input_schema, "openapi": "3.1.0"})
    make, scene = Synthesizer(book, {}), _scene(seed, whole=whole)
    try:
        hinted = replace(scene, hints=dict(_examples(catalog, tool)))
        made = _in_order(make.object(tool.input_schema, hinted), tool, given=hinted.hints)
        if tool.body_content_type == _FORM:
            made |= _filled(made, tool, make, _scene(seed, whole=True))
        made = tell_apart(made, tool, book=book, make=make, scene=scene)
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
    """A value for every personal field of a catalog, as its schema wants it, for a PII vault."""
    person: dict[str, str] = {}
    for tool in catalog.tools.values():
        book = SchemaBook({**tool.input_schema, "openapi": "3.1.0"})
        make = Synthesizer(book, {})
        for field in tool.pii_fields:
            if field not in person and field in tool.properties:
                person[field] = _text(make, tool.properties[field], field)
    return person


def _text(make: Synthesizer, schema: JsonObject, field: str) -> str:
    try:
        value = make.value(schema, _scene(field), name=field)
    except UnsupportedSchema:
        return "unknown"
    return value if isinstance(value, str) else json.dumps(value)


def _filled(made: JsonObject, tool: Tool, make: Synthesizer, scene: Scene) -> JsonObject:
    """Objects with members in place of those without: a form has no way to write one of these."""
    bare = [b.name for b in tool.bindings if b.location == "body" and made.get(b.name) == {}]
    return {name: make.value(tool.properties[name], scene, name=name) for name in bare}


def _in_order(made: JsonObject, tool: Tool, *, given: Collection[str]) -> JsonObject:
    """The same, what was made up for a last day after what was made up for the first."""
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
    """What the document gives as examples of whole requests and of parameters, by input."""
    document = catalog.documents.get(tool.document)
    if document is None:
        return
    book = _book_of(catalog, tool.document)
    item = book.follow(_mapping(_mapping(document.get("paths")).get(tool.path)))
    operation = book.follow(_mapping(item.get(tool.method.lower())))
    body = _example_of_body(book, operation, tool)
    for binding in tool.bindings:
        if binding.location == "body" and binding.field in body:
            yield binding.name, body[binding.field]
    parameters = [*item.get("parameters", ()), *operation.get("parameters", ())]
    for parameter in (book.follow(p) for p in parameters):
        for binding in tool.bindings:
            if (binding.location, binding.field) == (parameter.get("in"), parameter.get("name")):
                yield from ((binding.name, value) for value in _first_example(parameter))


def _book_of(catalog: Catalog, name: str) -> SchemaBook:
    """The schemas of a document, which take long to prepare: once for all tools of a catalog."""
    books = _BOOKS.setdefault(catalog, {})
    if name not in books:
        books[name] = SchemaBook(catalog.documents[name])
    return books[name]


def _example_of_body(
    book: SchemaBook, operation: Mapping[str, Any], tool: Tool
) -> Mapping[str, Any]:
    content = _mapping(book.follow(_mapping(operation.get("requestBody"))).get("content"))
    media = _mapping(content.get(tool.body_content_type or ""))
    return _mapping(next(_first_example(media), None))


def _first_example(holder: Mapping[str, Any]) -> Iterator[Any]:
    if "example" in holder:
        yield holder["example"]
    for example in _mapping(holder.get("examples")).values():
        if "value" in _mapping(example):
            yield example["value"]
            return


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
