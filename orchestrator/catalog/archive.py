"""A catalog as one JSON value, compiled tools included, and back.

The tools are kept and not only their documents, so that a later release, which may compile the same
document to something else, still has the very tools that a mission began with.
"""

from typing import Any, cast

from pydantic import JsonValue

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.digest import content_digest
from orchestrator.catalog.tool import SCHEMA_FIELDS, Tool
from orchestrator.core.record import JsonObject

_FORMAT = 1


def pack(catalog: Catalog) -> JsonObject:
    """All of a catalog; definitions that tools share are in it once."""
    shared: list[JsonValue] = []
    places: dict[int, int] = {}

    def place_of(definition: JsonValue) -> int:
        if id(definition) not in places:
            places[id(definition)] = len(shared)
            shared.append(definition)
        return places[id(definition)]

    def packed(schema: JsonValue) -> JsonValue:
        if not isinstance(schema, dict) or not isinstance(schema.get("$defs"), dict):
            return schema
        defs = cast("JsonObject", schema["$defs"])
        return {**schema, "$defs": {name: place_of(item) for name, item in defs.items()}}

    tools: JsonObject = {}
    for name, tool in catalog.tools.items():
        content = tool.as_json()
        tools[name] = {**content, **{field: packed(content[field]) for field in SCHEMA_FIELDS}}
    return {
        "format": _FORMAT,
        "documents": dict(catalog.documents),
        "tools": tools,
        "shared": shared,
    }


def unpack(content: Any, digest: str) -> Catalog:
    """The catalog of that digest, from what `pack` gave, back from JSON.

    Raises:
        ValueError: it is something else, or has another digest.
    """
    try:
        if content["format"] != _FORMAT:
            raise ValueError(f"it is of the format {content['format']!r}")
        documents, shared = content["documents"], content["shared"]
        tools: JsonObject = {
            name: _unpacked(tool, shared) for name, tool in content["tools"].items()
        }
        found = content_digest(documents, tools)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"it is no catalog ({type(error).__name__})") from error
    if found != digest:
        raise ValueError(f"its content has the digest {found[:12]}")
    compiled = {name: Tool.model_validate(tool) for name, tool in tools.items()}
    return Catalog(documents, compiled, digest=digest)


def _unpacked(tool: JsonObject, shared: list[JsonValue]) -> JsonObject:
    return {**tool, **{field: _whole(tool[field], shared) for field in SCHEMA_FIELDS}}


def _whole(schema: Any, shared: list[JsonValue]) -> JsonValue:
    if schema is None or "$defs" not in schema:
        return cast("JsonValue", schema)
    return {**schema, "$defs": {name: shared[at] for name, at in schema["$defs"].items()}}
