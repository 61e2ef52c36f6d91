"""Object schemas flattened into properties, required names and the remaining constraints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import reference_of
from orchestrator.json_schema.walker import (
    COMPOSITIONS,
    CONDITIONS,
    IN_PLACE,
    required_of,
    subschemas,
    with_subschemas,
)

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
    """Flatten an object schema; None when its properties cannot be listed one by one.

    That is the case for other types, for maps with free keys, and for alternatives that add
    properties.

    Args:
        schema: expanded.
        opened: replaces a schema's own reference to a definition by the definition.
    """
    parts = _all_of_parts(schema, opened)
    if not parts or not any(_is_object(part) for part in parts):
        return None
    if any(_is_open_map(part) for part in parts):
        return None
    flat = FlatObject()
    for part in parts:
        _merge(flat, part)
    for name in flat.required:
        # Required without a schema: any value is valid, but it needs a place.
        flat.properties.setdefault(name, {})
    # It names properties, or excludes all.
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
    seen: set[str | None] = set()
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
            if not isinstance(member, dict):
                continue
            if (reference := reference_of(member)) is None or reference not in seen:
                seen.add(reference)
                waiting.append(member)
    return parts


def _is_object(schema: JsonObject) -> bool:
    kind = schema.get("type")
    if isinstance(kind, list):
        return "object" in kind
    return kind == "object" or (kind is None and isinstance(schema.get("properties"), dict))


def _is_open_map(schema: JsonObject) -> bool:
    extra = schema.get("additionalProperties")
    return (
        (isinstance(extra, dict) and bool(extra))
        or any(keyword in schema for keyword in _UNBOUND)
        or schema.get("minProperties", 0) not in (0, 1)
    )


def _merge(flat: FlatObject, part: JsonObject) -> None:
    properties = part.get("properties")
    if isinstance(properties, dict):
        for name, schema in properties.items():
            known = flat.properties.get(name, schema)
            flat.properties[name] = known if known == schema else {"allOf": [known, schema]}
    flat.required += [name for name in required_of(part) if name not in flat.required]
    constraints = {k: v for k, v in part.items() if k in _CONSTRAINTS}
    if part.get("minProperties") == 1 and isinstance(properties, dict) and "anyOf" not in part:
        # Replaced by names: next to parameters, the number of properties has another meaning.
        constraints["anyOf"] = [{"required": [name]} for name in sorted(properties)]
    if flat.constraints and constraints:
        flat.constraints = {"allOf": [flat.constraints, constraints]}
    else:
        flat.constraints = flat.constraints or constraints


def _is_plain(schema: JsonValue, names: set[str]) -> bool:
    """True if alternatives only require some of the known properties."""
    if not isinstance(schema, dict):
        return True
    if not schema.keys() <= _BRANCH_KEYWORDS | _CONSTRAINTS:
        return False
    properties = schema.get("properties")
    if isinstance(properties, dict) and not properties.keys() <= names:
        return False
    return all(_is_plain(inner, names) for inner in subschemas(schema, IN_PLACE))
