"""Walks over JSON Schemas: keywords with schemas, property names, and flat objects.

References are not followed: `references.resolve` does that, one schema at a time. A compiled schema
may have any shape; malformed keywords in it hold nothing. In a document they are errors.

```python
for inner in subschemas(schema, COMPOSITIONS):       # the members of its allOf, anyOf and oneOf
for inner in walk(schema):                           # itself and all schemas inside it
for name, inner in properties_of(resolve(schema, root)).items():
```
"""

import sys
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import reference_of, resolve

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
"""Each keyword with the form of its value: one schema, a list of schemas, or schemas by name."""
_MAX_NESTING = 100
"""The maximum number of levels of nested schemas; real documents stay below twenty."""
_MOST_TAKEN = 5_000
"""The maximum number of properties that a schema may take from `properties: {$ref: ...}`."""


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

    `most_levels` limits the depth; 0 yields the schema alone.
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


def types_of(schema: Mapping[str, JsonValue]) -> frozenset[str]:
    """Return the declared types; empty if none is declared."""
    declared = schema.get("type")
    listed = declared if isinstance(declared, list) else [declared]
    return frozenset(kind for kind in listed if isinstance(kind, str) and kind)


def listed_values(schema: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Return the values that a schema lists by `const` or `enum`; empty if it lists none."""
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    return listed if isinstance(listed, list) else []


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


_CONSTRAINTS = frozenset({*IN_PLACE, "dependentRequired"})
_UNBOUND = ("patternProperties", "propertyNames", "maxProperties")
"""Keywords about the names or the number of properties, which parameters would change."""
_BRANCH_KEYWORDS = frozenset(
    {"description", "not", "properties", "required", "title", "type", *COMPOSITIONS}
)


@dataclass
class FlatObject:
    """An object schema with its allOf merged."""

    properties: JsonObject = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    constraints: JsonObject = field(default_factory=dict)
    """Relations between properties, e.g. an anyOf of `required` lists."""


def flatten_object(
    schema: JsonObject, *, opened: Callable[[JsonObject], JsonObject]
) -> FlatObject | None:
    """Flatten an object schema; None if its properties cannot be listed one by one.

    That is the case for other types, for maps with free keys, and for alternatives that add
    properties.

    Args:
        schema: expanded.
        opened: replaces a schema's own reference to a definition by the definition.
    """
    parts = _all_of_parts(schema, opened)
    flat, is_object = FlatObject(), False
    for part in parts:
        kinds, extra, own = types_of(part), part.get("additionalProperties"), part.get("properties")
        properties = own if isinstance(own, dict) else None
        is_object |= "object" in kinds or (not kinds and properties is not None)
        is_open = (isinstance(extra, dict) and bool(extra)) or not part.keys().isdisjoint(_UNBOUND)
        if is_open or part.get("minProperties", 0) not in (0, 1):
            return None
        for name, held in (properties or {}).items():
            known = flat.properties.get(name, held)
            flat.properties[name] = known if known == held else {"allOf": [known, held]}
        flat.required += [name for name in required_of(part) if name not in flat.required]
        constraints = {k: v for k, v in part.items() if k in _CONSTRAINTS}
        if part.get("minProperties") == 1 and properties is not None and "anyOf" not in part:
            # Replaced by names: next to parameters, the number would mean something else.
            constraints["anyOf"] = [{"required": [name]} for name in sorted(properties)]
        if flat.constraints and constraints:
            flat.constraints = {"allOf": [flat.constraints, constraints]}
        else:
            flat.constraints = flat.constraints or constraints
    if not is_object:
        return None
    for name in flat.required:
        # Required without a schema: any value is valid, but the property must be listed.
        flat.properties.setdefault(name, {})
    # The schema names properties, or excludes all.
    is_listed = flat.properties or any(part.get("additionalProperties") is False for part in parts)
    return flat if is_listed and _is_plain(flat.constraints, set(flat.properties)) else None


def rename_properties(schema: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Rename the properties that constraints mention, at this object's own level."""
    if all(old == new for old, new in names.items()):
        return schema
    renamed = with_subschemas(
        schema, lambda inner: rename_properties(inner, names), (*COMPOSITIONS, *CONDITIONS)
    )
    for keyword, value in schema.items():
        if keyword == "required":
            renamed[keyword] = _renamed_list(value, names)
        elif keyword in ("properties", "dependentSchemas") and isinstance(value, dict):
            renamed[keyword] = {names.get(k, k): v for k, v in value.items()}
        elif keyword == "dependentRequired" and isinstance(value, dict):
            renamed[keyword] = {names.get(k, k): _renamed_list(v, names) for k, v in value.items()}
    return renamed


def _renamed_list(value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    if not isinstance(value, list):
        return value
    return [names.get(item, item) if isinstance(item, str) else item for item in value]


def _all_of_parts(
    schema: JsonObject, opened: Callable[[JsonObject], JsonObject]
) -> list[JsonObject]:
    """Return the schema and the members of its allOf, recursively, without the allOf itself.

    A definition that is referenced twice appears once.
    """
    parts: list[JsonObject] = []
    seen: set[str] = set()
    waiting = [schema]
    while waiting:
        part = opened(waiting.pop())
        members = part.get("allOf")
        if not isinstance(members, list):
            parts.append(part)
            continue
        # The schema's own keywords come after those of its members.
        waiting.append({keyword: value for keyword, value in part.items() if keyword != "allOf"})
        for member in reversed(members):
            reference = reference_of(member)
            if isinstance(member, dict) and reference not in seen:
                seen |= {reference} if reference is not None else set()
                waiting.append(member)
    return parts


def _is_plain(schema: JsonValue, names: set[str]) -> bool:
    """Return True if alternatives only require some of the known properties."""
    if not isinstance(schema, dict):
        return True
    if not schema.keys() <= _BRANCH_KEYWORDS | _CONSTRAINTS:
        return False
    properties = schema.get("properties")
    if isinstance(properties, dict) and not properties.keys() <= names:
        return False
    return all(_is_plain(inner, names) for inner in subschemas(schema, IN_PLACE))
