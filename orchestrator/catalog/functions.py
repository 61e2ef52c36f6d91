"""Function tools, OpenAI's and MCP's, compiled to tools: plain schemas without a document."""

import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.function_domains import domains_by_name
from orchestrator.catalog.function_effects import changes_anything
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import DocumentInvalid, FunctionWarning
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of

DOCUMENT = "functions"
"""What the errors and the tools name in place of a document."""
_INPUTS: Final = ("parameters", "inputSchema", "input_schema")
"""Where the inputs stand: in a function, and in a tool as an MCP server lists it."""


def compile_functions(functions: Iterable[Mapping[str, Any]]) -> dict[str, Tool]:
    """Tools by name, of `{"type": "function", "function": {...}}`, of bare ones and of MCP tools.

    What a function does not say of itself is inferred: its effect (`function_effects`: what cannot
    be told to only read is confirmed first) and its domain (`function_domains`). A hint that says
    that a function only reads, where its words say that it changes something, is a FunctionWarning.

    Raises:
        DocumentInvalid: a function without a name, of a shape that is not known, or a name twice.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for index, entry in enumerate(functions):
        inner = entry.get("function")
        function = inner if isinstance(inner, Mapping) else entry
        name = function.get("name")
        if not isinstance(name, str) or not name.strip():
            raise DocumentInvalid(DOCUMENT, f"/{index}/name", "a function needs a name")
        if name in found:
            raise DocumentInvalid(DOCUMENT, f"/{index}", f"the name {name!r} is taken")
        found[name] = function
    told = {name: str(one.get("description") or "") for name, one in found.items()}
    domains = domains_by_name(told, otherwise=DOCUMENT)
    tools = {}
    # No comprehension: a warning names the caller by counting frames.
    for index, (name, function) in enumerate(found.items()):
        tools[name] = _compile_function(function, index, domain=domains[name])
    return tools


def _compile_function(function: Mapping[str, Any], index: int, *, domain: str) -> Tool:
    schema = _parameters(function, index)
    changes = _changes_anything(function, properties_of(schema))
    return Tool(
        name=str(function["name"]),
        document=DOCUMENT,
        domain=str(function.get("domain") or domain),
        description=str(function.get("description") or ""),
        method=str(function.get("method") or "POST").upper(),
        path=str(function.get("path") or ""),
        input_schema=schema,
        output_schema=_answer(function),
        effect=Effect.WRITE if changes else Effect.READ,
        card_type=DEFAULT_CARD if changes else None,
        examples=_examples(function, index),
    )


def _changes_anything(function: Mapping[str, Any], inputs: Collection[str]) -> bool:
    finding = changes_anything(function, inputs)
    if finding.disbelieved:
        told = (
            f"{function['name']}: {finding.disbelieved} says that it only reads, its words say "
            "that it changes something: each call will be confirmed first"
        )
        warnings.warn(told, FunctionWarning, stacklevel=5)
    return finding.changes


def _answer(function: Mapping[str, Any]) -> JsonObject | None:
    """The schema of the answer, which MCP tools may declare."""
    schema = function.get("outputSchema")
    return dict(schema) if isinstance(schema, Mapping) else None


def _parameters(function: Mapping[str, Any], index: int) -> JsonObject:
    """The input schema; a function without one takes nothing."""
    keyword = next((key for key in _INPUTS if function.get(key) is not None), "")
    if not keyword:
        return {"type": "object", "properties": {}}
    parameters, place = function[keyword], f"/{index}/{keyword}"
    if not isinstance(parameters, Mapping):
        raise DocumentInvalid(DOCUMENT, place, "a JSON Schema is wanted here")
    if parameters.get("type", "object") != "object":
        raise DocumentInvalid(
            DOCUMENT, f"{place}/type", "inputs have names: an object is wanted here"
        )
    return {"type": "object", "properties": {}, **parameters}


def _examples(function: Mapping[str, Any], index: int) -> tuple[str, ...]:
    for keyword in ("x-orqen-examples", "examples"):
        found = function.get(keyword)
        if found is None:
            continue
        if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
            raise DocumentInvalid(DOCUMENT, f"/{index}/{keyword}", "a list of requests is wanted")
        return tuple(found)
    return ()
