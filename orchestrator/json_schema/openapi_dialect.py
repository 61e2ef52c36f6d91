"""The dialects of JSON Schema in OpenAPI 3.0, 3.1 and 3.2, turned to JSON Schema 2020-12."""

import re

from pydantic import JsonValue

from orchestrator.core.record import JsonObject

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
"""Keywords that constrain nothing; those of ours say what a value means."""


def openapi_version(document: JsonValue) -> tuple[int, int] | None:
    """The version of OpenAPI that a document says, as (3, 1); None when it is none that we read.

    A version without its last part, or without quotes in YAML, is understood.
    """
    said = document.get("openapi") if isinstance(document, dict) else None
    if isinstance(said, bool) or not isinstance(said, str | float):
        return None
    found = _VERSION.fullmatch(str(said))
    return (int(found[1]), int(found[2])) if found is not None else None


def as_json_schema(schema: JsonObject, *, is_3_0: bool, is_nullable: bool) -> JsonObject:
    """A schema of OpenAPI as one of JSON Schema 2020-12.

    Args:
        schema: without the schemas inside of it being looked at; it is changed.
        is_3_0: whether the document is, and not of a later version.
        is_nullable: whether it was written with `nullable: true`, which only 3.0 has.
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
    return _nullable(schema) if is_nullable else schema


def _nullable(schema: JsonObject) -> JsonObject:
    kind, choices = schema.get("type"), schema.get("enum")
    if not isinstance(kind, str):
        # Beside a composition, nullable is meant to widen what the composition says.
        about: JsonObject = {k: schema.pop(k) for k in sorted(ANNOTATIONS) if k in schema}
        return {"anyOf": [schema, {"type": "null"}], **about} if schema else about
    schema["type"] = [kind, "null"]
    if isinstance(choices, list) and None not in choices:
        schema["enum"] = [*choices, None]
    return schema
