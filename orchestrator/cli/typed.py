"""K=V pairs of a command line as inputs of a tool, read by what its schema takes."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from orchestrator.catalog.tool import Tool
from orchestrator.cli.options import read_json, split_pair
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import definition_of, reference_of
from orchestrator.json_schema.walker import COMPOSITIONS, subschemas

_ALL = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_TEXT = frozenset({"string", "null"})
_MAX_DEPTH = 16
"""References that are followed: a schema that refers to itself says nothing new deeper down."""


def read_inputs(tool: Tool, pairs: Sequence[str]) -> JsonObject:
    """The inputs that `["city=Oslo", "days=3"]` gives to a tool.

    An input that is a string takes the text as it is written (`phone=0123` keeps its zero); all
    others take JSON. `K=@file.json` takes the content of a file, `K=@@ada` the text `@ada`.

    Raises:
        UsageError: a pair has no `=`, a name comes twice, or a file cannot be read.
    """
    inputs: JsonObject = {}
    for pair in pairs:
        name, text = split_pair(pair)
        if name in inputs:
            raise UsageError(f"{name} is given twice; give a list as JSON: {name}='[1, 2]'")
        kinds = _kinds(tool.properties.get(name, {}), tool.input_schema)
        inputs[name] = _read(name, text, kinds)
    return inputs


def _read(name: str, text: str, kinds: frozenset[str]) -> JsonValue:
    if text.startswith("@@"):
        return text[1:]
    if text.startswith("@"):
        return _read_file(name, Path(text[1:]), kinds)
    if kinds <= _TEXT:
        return None if text == "null" and "null" in kinds else text
    value = read_json(text)
    # What is no JSON of a kind that is taken is a text, where one is taken.
    return text if "string" in kinds and _kind(value) not in kinds else value


def _read_file(name: str, file: Path, kinds: frozenset[str]) -> JsonValue:
    try:
        text = file.read_text(encoding="utf-8-sig")
        if kinds <= _TEXT:
            return text
        value: JsonValue = json.loads(text)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise UsageError(f"{name}: {file} cannot be read: {reason}") from error
    except ValueError as error:
        raise UsageError(f"{name}: {file} is no JSON: {error}") from error
    except RecursionError:
        raise UsageError(f"{name}: {file} is nested too deep") from None
    return value


def _kinds(schema: JsonValue, root: JsonObject, depth: int = 0) -> frozenset[str]:
    """The JSON types that a schema may take, as far as it says; `integer` goes with `number`."""
    kinds = _ALL
    if depth > _MAX_DEPTH or not isinstance(schema, dict):
        return kinds
    for narrowed in _narrowed(schema, root, depth):
        kinds &= narrowed
    return kinds


def _narrowed(schema: JsonObject, root: JsonObject, depth: int) -> Iterator[frozenset[str]]:
    """The types that each keyword of a schema leaves open."""
    if "type" in schema:
        declared = schema["type"]
        listed = declared if isinstance(declared, list) else [declared]
        names = frozenset(str(name) for name in listed)
        yield names | {"integer"} if "number" in names else names
    if "const" in schema:
        yield frozenset({_kind(schema["const"])})
    if isinstance(values := schema.get("enum"), list):
        yield frozenset(_kind(value) for value in values)
    if (reference := reference_of(schema)) is not None:
        yield _kinds(definition_of(reference, root), root, depth + 1)
    for keyword in COMPOSITIONS:
        inner = [_kinds(branch, root, depth + 1) for branch in subschemas(schema, (keyword,))]
        if keyword == "allOf":
            yield from inner
        elif inner:
            yield frozenset().union(*inner)


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
