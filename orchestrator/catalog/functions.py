"""OpenAI-style function tools compiled to tools: plain schemas without a document."""

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.catalog.card_types import DEFAULT_CARD
from orchestrator.catalog.operations import SAFE_METHODS
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject

DOCUMENT = "functions"
"""What the errors and the tools name in place of a document."""


def compile_functions(functions: Iterable[Mapping[str, Any]]) -> dict[str, Tool]:
    """Tools by name, of `{"type": "function", "function": {...}}` and of bare functions.

    Raises:
        DocumentInvalid: a function without a name, of a shape that is not known, or a name twice.
    """
    tools: dict[str, Tool] = {}
    for index, entry in enumerate(functions):
        inner = entry.get("function")
        tool = _compile_function(inner if isinstance(inner, Mapping) else entry, index)
        if tool.name in tools:
            raise DocumentInvalid(DOCUMENT, f"/{index}", f"the name {tool.name!r} is taken")
        tools[tool.name] = tool
    return tools


def _compile_function(function: Mapping[str, Any], index: int) -> Tool:
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        raise DocumentInvalid(DOCUMENT, f"/{index}/name", "a function needs a name")
    method = str(function.get("method") or "").upper()
    changes = bool(method) and method not in SAFE_METHODS
    return Tool(
        name=name,
        document=DOCUMENT,
        domain=str(function.get("domain") or DOCUMENT),
        description=str(function.get("description") or ""),
        method=method or "POST",
        path=str(function.get("path") or ""),
        input_schema=_parameters(function, index),
        effect=Effect.WRITE if changes else Effect.READ,
        card_type=DEFAULT_CARD if changes else None,
        examples=_examples(function, index),
    )


def _parameters(function: Mapping[str, Any], index: int) -> JsonObject:
    """The input schema; a function without one takes nothing."""
    parameters = function.get("parameters")
    if parameters is None:
        return {"type": "object", "properties": {}}
    if not isinstance(parameters, Mapping):
        raise DocumentInvalid(DOCUMENT, f"/{index}/parameters", "a JSON Schema is wanted here")
    if parameters.get("type", "object") != "object":
        raise DocumentInvalid(
            DOCUMENT, f"/{index}/parameters/type", "inputs have names: an object is wanted here"
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
