"""The walker over JSON Schemas: which keywords hold schemas, and what an object schema names.

References are not followed: `references.resolve` does that, one schema at a time. A compiled
schema may have any shape; malformed keywords in it hold nothing. In a document they are errors.

```python
for inner in subschemas(schema, COMPOSITIONS):       # the members of its allOf, anyOf and oneOf
for inner in walk(schema):                           # itself and all schemas inside it
for name, inner in properties_of(resolve(schema, root)).items():
```
"""

import sys
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import resolve

COMPOSITIONS: Final = ("allOf", "anyOf", "oneOf")
CONDITIONS: Final = ("else", "if", "not", "then")
IN_PLACE: Final = (*COMPOSITIONS, *CONDITIONS, "dependentSchemas")
"""Keywords whose schemas apply to the same value as the schema itself."""
_LISTS = (*COMPOSITIONS, "prefixItems")
_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_SINGLE = (
    *CONDITIONS,
    "additionalProperties",
    "contains",
    "contentSchema",
    "items",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
KEYWORDS: Final[Mapping[str, Literal["schema", "list", "map"]]] = {
    **dict.fromkeys(_LISTS, "list"),
    **dict.fromkeys(_MAPS, "map"),
    **dict.fromkeys(_SINGLE, "schema"),
}
"""Each keyword with what it holds: one schema, a list of schemas, or schemas by name."""
_MAX_NESTING = 100
"""Most levels of nested schemas; real documents stay below twenty."""
_MOST_TAKEN = 5_000
"""Most properties that one schema may take from elsewhere by `properties: {$ref: ...}`."""


def subschemas(schema: JsonValue, keywords: Container[str] = KEYWORDS) -> Iterator[JsonValue]:
    """Yield the direct subschemas of a compiled schema, in its order: objects and booleans."""
    for keyword, held in schema.items() if isinstance(schema, dict) else ():
        holds = KEYWORDS.get(keyword) if keyword in keywords else None
        if holds == "schema":
            yield held
        elif holds == "map" and isinstance(held, dict):
            yield from held.values()
        elif holds == "list" and isinstance(held, list):
            yield from held


def subschema_nodes(
    schema: DocumentNode, keywords: Container[str] = KEYWORDS
) -> Iterator[DocumentNode]:
    """Yield the direct subschemas of a schema in a document, as written.

    Raises:
        DocumentInvalid: a keyword has an invalid value.
    """
    for keyword, child in schema.raw_items() if isinstance(schema.value, dict) else ():
        holds = KEYWORDS.get(keyword) if keyword in keywords else None
        if holds == "schema":
            yield child
        elif holds == "map":
            yield from (inner for _, inner in named_schemas(child))
        elif holds == "list":
            yield from child.raw_elements()


def named_schemas(place: DocumentNode) -> Iterator[tuple[str, DocumentNode]]:
    """Yield the schemas by name under a keyword such as `properties`, as written.

    `properties: {$ref: ...}` is not valid JSON Schema, but documents of many files use it, and a
    schema is never a string.
    """
    yield from place.overlaid().raw_items()


def walk(
    schema: JsonValue, keywords: Container[str] = KEYWORDS, *, most_levels: int = sys.maxsize
) -> Iterator[JsonObject]:
    """Yield the schema and all object schemas inside it.

    `most_levels` limits the depth; 0 gives the schema alone.
    """
    waiting = [(schema, 0)]
    while waiting:
        place, level = waiting.pop()
        if isinstance(place, dict):
            yield place
            if level < most_levels:
                waiting += [(inner, level + 1) for inner in subschemas(place, keywords)]


def walk_nodes(schema: DocumentNode) -> Iterator[tuple[DocumentNode, int]]:
    """Yield a schema of a document and all schemas inside it, with their levels from 1.

    Raises:
        DocumentInvalid: they are nested too deep, or a keyword has an invalid value.
    """
    waiting = [(schema, 1)]
    taken = 0
    while waiting:
        node, level = waiting.pop()
        if level > _MAX_NESTING:
            raise node.invalid(f"schemas are nested more than {_MAX_NESTING} levels deep here")
        yield node, level
        for inner in subschema_nodes(node):
            taken += inner.path[: len(node.path)] != node.path
            waiting.append((inner, level + 1))
        if taken > _MOST_TAKEN:
            raise node.invalid("properties that are taken from elsewhere lead in a circle here")


def properties_of(schema: JsonObject) -> dict[str, JsonObject]:
    """Return the schema of each property; `true` appears as {}."""
    found = schema.get("properties")
    named = found.items() if isinstance(found, dict) else ()
    return {name: inner if isinstance(inner, dict) else {} for name, inner in named}


def required_of(schema: JsonValue) -> tuple[str, ...]:
    """Return the names that an object schema requires, in its order."""
    found = schema.get("required") if isinstance(schema, dict) else None
    return tuple(n for n in found if isinstance(n, str)) if isinstance(found, list) else ()


def alternatives_of(schema: JsonObject) -> list[tuple[str, ...]]:
    """Return the names that each branch of its anyOf, or else of its oneOf, requires."""
    for keyword in ("anyOf", "oneOf"):
        if branches := [required_of(inner) for inner in subschemas(schema, (keyword,))]:
            return branches
    return []


def needs_something(schema: JsonObject, root: JsonObject) -> bool:
    """Return True if an object, or each of its alternatives, requires a property."""
    resolved = resolve(schema, root)
    branches = [
        resolve(inner, root)
        for keyword in ("anyOf", "oneOf")
        for inner in subschemas(resolved, (keyword,))
        if isinstance(inner, dict)
    ]
    return bool(required_of(resolved)) or (bool(branches) and all(map(required_of, branches)))


def with_subschemas(
    schema: JsonObject, change: Callable[[JsonObject], JsonValue], keywords: Container[str]
) -> JsonObject:
    """Return the schema with each object schema directly under these keywords changed."""

    def changed(inner: JsonValue) -> JsonValue:
        return change(inner) if isinstance(inner, dict) else inner

    result = dict(schema)
    for keyword, held in schema.items():
        holds = KEYWORDS.get(keyword) if keyword in keywords else None
        if holds == "schema":
            result[keyword] = changed(held)
        elif holds == "map" and isinstance(held, dict):
            result[keyword] = {name: changed(inner) for name, inner in held.items()}
        elif holds == "list" and isinstance(held, list):
            result[keyword] = [changed(inner) for inner in held]
    return result
