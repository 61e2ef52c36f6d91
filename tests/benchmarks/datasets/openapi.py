"""Operations of an OpenAPI document as lines of tools.jsonl, without references between them."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.benchmarks.datasets.form import Row, object_schema

_KEPT = (
    "minimum",
    "maximum",
    "type",
    "enum",
    "format",
    "items",
    "default",
    "description",
)
METHODS = ("get", "post", "put", "patch", "delete", "head", "options")


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Row]]:
    """Path, method and operation, with the path's own parameters put before the operation's."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                shared = [*item.get("parameters", ()), *operation.get("parameters", ())]
                yield path, method, {**operation, "parameters": shared}


def input_schema(operation: Mapping[str, Any], document: Mapping[str, Any]) -> Row:
    """What an operation takes, parameters and fields of its body side by side."""
    properties: Row = {}
    required = []
    for parameter in operation["parameters"]:
        found = resolved(parameter, document)
        schema = resolved(found.get("schema") or {}, document)
        said = {key: found[key] for key in ("description",) if found.get(key)}
        properties[found["name"]] = _input({**schema, **said}, found["in"])
        if found.get("required"):
            required.append(found["name"])
    body = _body(operation, document)
    for name, value in body.get("properties", {}).items():
        properties.setdefault(name, _input(resolved(value, document), "body"))
    return object_schema(properties, {*required, *body.get("required", ())})


def resolved(node: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a local reference points at; anything else as it is."""
    while "$ref" in node:
        found: Any = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def _body(operation: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the first content that has one."""
    body = resolved(operation.get("requestBody") or {}, document)
    for content in body.get("content", {}).values():
        return resolved(content.get("schema") or {}, document)
    return {}


def _input(schema: Mapping[str, Any], where: str) -> Row:
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    return {**kept, "x-in": where}
