"""Object schemas taken apart: their properties, what is required, and what else constrains them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from orchestrator.core.record import JsonObject

_COMPOSITIONS = ("allOf", "anyOf", "oneOf")
_CONDITIONS = ("not", "if", "then", "else")
_CONSTRAINTS = frozenset({*_COMPOSITIONS, *_CONDITIONS, "dependentRequired", "dependentSchemas"})
_UNBOUND = ("patternProperties", "propertyNames", "maxProperties")
"""Keywords on names or on their number: they would no longer say the same beside parameters."""
_BRANCH_KEYWORDS = frozenset(
    {"description", "not", "properties", "required", "title", "type", *_COMPOSITIONS}
)


@dataclass
class FlatObject:
    """An object schema with its allOf merged."""

    properties: JsonObject = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    constraints: JsonObject = field(default_factory=dict)
    """What relates properties to each other, e.g. an anyOf of `required` lists."""


def flatten_object(
    schema: JsonObject, *, opened: Callable[[JsonObject], JsonObject]
) -> FlatObject | None:
    """The parts of an object schema; None when its fields cannot be told one by one.

    That is so for what is no object, for maps with free keys, and for alternatives that bring
    properties of their own.

    Args:
        schema: expanded.
        opened: replaces a schema's own reference to a definition by what it names.
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
        # Required without being described: any value will do, but it must have a place.
        flat.properties.setdefault(name, {})
    return (
        flat
        if _is_plain(flat.constraints, set(flat.properties)) and _tells_fields(flat, parts)
        else None
    )


def rename_properties(schema: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Constraints with the properties that they mention renamed, at this object's own level."""
    if all(old == new for old, new in names.items()):
        return schema
    renamed: JsonObject = {}
    for keyword, value in schema.items():
        if keyword == "required" and isinstance(value, list):
            renamed[keyword] = _renamed_list(value, names)
        elif keyword in ("properties", "dependentSchemas") and isinstance(value, dict):
            renamed[keyword] = {names.get(k, k): v for k, v in value.items()}
        elif keyword == "dependentRequired" and isinstance(value, dict):
            renamed[keyword] = {names.get(k, k): _renamed_list(v, names) for k, v in value.items()}
        elif keyword in _COMPOSITIONS and isinstance(value, list):
            renamed[keyword] = [
                rename_properties(v, names) if isinstance(v, dict) else v for v in value
            ]
        elif keyword in _CONDITIONS and isinstance(value, dict):
            renamed[keyword] = rename_properties(value, names)
        else:
            renamed[keyword] = value
    return renamed


def _renamed_list(value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    if not isinstance(value, list):
        return value
    return [names.get(item, item) if isinstance(item, str) else item for item in value]


def _all_of_parts(
    schema: JsonObject, opened: Callable[[JsonObject], JsonObject]
) -> list[JsonObject]:
    """The schema and the members of its allOf, theirs included, without the allOf itself.

    What is referred to more than once is there once: it says the same every time.
    """
    parts: list[JsonObject] = []
    seen: set[JsonValue] = set()
    waiting = [schema]
    while waiting:
        part = opened(waiting.pop())
        members = part.get("allOf")
        if not isinstance(members, list):
            parts.append(part)
            continue
        # Its own words come after those of its members.
        waiting.append({keyword: value for keyword, value in part.items() if keyword != "allOf"})
        for member in reversed(members):
            if isinstance(member, dict):
                reference = member.get("$ref")
                if not isinstance(reference, str):
                    waiting.append(member)
                elif reference not in seen:
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
    properties, required = part.get("properties"), part.get("required")
    if isinstance(properties, dict):
        for name, schema in properties.items():
            known = flat.properties.get(name, schema)
            flat.properties[name] = known if known == schema else {"allOf": [known, schema]}
    if isinstance(required, list):
        flat.required += [n for n in required if isinstance(n, str) and n not in flat.required]
    constraints = {k: v for k, v in part.items() if k in _CONSTRAINTS}
    if part.get("minProperties") == 1 and isinstance(properties, dict) and "anyOf" not in part:
        # Said by name: beside parameters, the number of properties means something else.
        constraints["anyOf"] = [{"required": [name]} for name in sorted(properties)]
    if flat.constraints and constraints:
        flat.constraints = {"allOf": [flat.constraints, constraints]}
    else:
        flat.constraints = flat.constraints or constraints


def _is_plain(schema: JsonValue, names: set[str]) -> bool:
    """Whether alternatives only say which of the known properties they need."""
    if not isinstance(schema, dict):
        return True
    if not schema.keys() <= _BRANCH_KEYWORDS | _CONSTRAINTS:
        return False
    properties = schema.get("properties")
    if isinstance(properties, dict) and not properties.keys() <= names:
        return False
    return all(_is_plain(branch, names) for branch in _branches(schema))


def _branches(schema: JsonObject) -> Iterator[JsonValue]:
    for keyword, value in schema.items():
        if keyword in _COMPOSITIONS and isinstance(value, list):
            yield from value
        elif keyword == "dependentSchemas" and isinstance(value, dict):
            yield from value.values()
        elif keyword in _CONDITIONS:
            yield value


def _tells_fields(flat: FlatObject, parts: list[JsonObject]) -> bool:
    """Whether it names fields, or says that there are none."""
    return bool(flat.properties) or any(p.get("additionalProperties") is False for p in parts)
