"""Schema keywords of OpenAPI: version, `nullable`, `example`, exclusive bounds, discriminators."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import listed_values

_VERSION = re.compile(r"(3)\.([012])(?:\.\S+)?")

ANNOTATIONS = frozenset(
    {
        "default",
        "deprecated",
        "description",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
        "x-orchet-minor-units",
        "x-orchet-price",
    }
)
"""Keywords that constrain nothing; the `x-orchet-` ones explain a value."""
Lookup = Callable[[str], Any]
"""Returns the schema that a reference names."""

_HOPS = 16


def openapi_version(document: JsonValue) -> tuple[int, int] | None:
    """Return the OpenAPI version of a document, as (3, 1); None if it is not supported.

    A version without its last part, or without quotes in YAML, is accepted.
    """
    declared = document.get("openapi") if isinstance(document, dict) else None
    if isinstance(declared, bool) or not isinstance(declared, str | float):
        return None
    found = _VERSION.fullmatch(str(declared))
    return (int(found[1]), int(found[2])) if found is not None else None


def as_json_schema(schema: JsonObject, *, is_3_0: bool, is_nullable: bool) -> JsonObject:
    """Turn an OpenAPI schema into JSON Schema 2020-12; nested schemas stay unchanged.

    Args:
        schema: changed in place.
        is_3_0: the document is of version 3.0.
        is_nullable: the schema has `nullable: true`, a keyword of 3.0.
    """
    example = schema.pop("example", None)
    if example is not None and "examples" not in schema:
        schema["examples"] = [example]
    if not is_3_0:
        return schema
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        flag = schema.get(exclusive)
        if isinstance(flag, bool):
            del schema[exclusive]
            if flag and inclusive in schema:
                schema[exclusive] = schema.pop(inclusive)
    if not is_nullable:
        return schema
    kind, choices = schema.get("type"), schema.get("enum")
    if not isinstance(kind, str):
        # Next to a composition, nullable is meant to widen the composition.
        about: JsonObject = {k: schema.pop(k) for k in sorted(ANNOTATIONS) if k in schema}
        return {"anyOf": [schema, {"type": "null"}], **about} if schema else about
    schema["type"] = [kind, "null"]
    if isinstance(choices, list) and None not in choices:
        schema["enum"] = [*choices, None]
    return schema


@dataclass(frozen=True)
class BranchValues:
    """An alternative with the discriminator values that select it."""

    values: frozenset[str]
    is_own: bool
    """True if its own schema lists the values."""


def discriminator_property(schema: Mapping[str, Any]) -> str | None:
    """Return the property of a schema's discriminator, or None."""
    discriminator = schema.get("discriminator")
    name = discriminator.get("propertyName") if isinstance(discriminator, Mapping) else None
    return name if isinstance(name, str) else None


def branch_values(
    schema: Mapping[str, Any], branches: Sequence[Any], lookup: Lookup
) -> list[BranchValues] | None:
    """Return the values that select each alternative; None if one of them is unknown.

    Values in the alternative's own schema take precedence over the discriminator's mapping, and the
    mapping over the name of the schema: if a document contradicts itself, its schemas count.
    """
    name = discriminator_property(schema)
    if name is None:
        return None
    mapping = schema["discriminator"].get("mapping")
    named = mapping if isinstance(mapping, Mapping) else {}
    found: list[BranchValues] = []
    for branch in branches:
        if own := _own_values(branch, name, lookup, _HOPS):
            found.append(BranchValues(own, is_own=True))
            continue
        reference = branch.get("$ref") if isinstance(branch, Mapping) else None
        if not isinstance(reference, str):
            return None
        schema_name = reference.rpartition("/")[2]
        mapped = {value for value, meant in named.items() if meant in (reference, schema_name)}
        values = frozenset(map(str, mapped or {schema_name}))
        found.append(BranchValues(values, is_own=False))
    return found


def restricted_to(branch: JsonObject, name: str, values: Iterable[str]) -> JsonObject:
    """Restrict an alternative to these values of the property."""
    properties = branch.get("properties")
    known = properties if isinstance(properties, dict) else {}
    own = known.get(name)
    restricted: JsonObject = {**(own if isinstance(own, dict) else {}), "enum": [*sorted(values)]}
    return {**branch, "properties": {**known, name: restricted}}


def _own_values(schema: Any, name: str, lookup: Lookup, hops: int) -> frozenset[str]:
    """Return the strings that a schema allows for a property; empty if it allows any."""
    schema = _followed(schema, lookup)
    if not isinstance(schema, Mapping) or hops == 0:
        return frozenset()
    properties = schema.get("properties")
    wanted = _followed(properties.get(name), lookup) if isinstance(properties, Mapping) else None
    values = listed_values(wanted) if isinstance(wanted, Mapping) else ()
    if texts := [text for text in values if isinstance(text, str)]:
        return frozenset(texts)
    for member in schema.get("allOf") or ():
        if inherited := _own_values(member, name, lookup, hops - 1):
            return inherited
    for keyword in ("oneOf", "anyOf"):
        inner = [_own_values(one, name, lookup, hops - 1) for one in schema.get(keyword) or ()]
        if inner and all(inner):
            return frozenset[str]().union(*inner)
    return frozenset()


def _followed(schema: Any, lookup: Lookup) -> Any:
    for _ in range(_HOPS):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            return schema
        schema = lookup(schema["$ref"])
    return None
