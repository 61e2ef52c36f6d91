"""A third opinion on a JSON value: the document's own schema, read by jsonschema-rs.

Neither Prism (Ajv) nor the product (openapi-core over jsonschema) reads schemas with it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

import jsonschema_rs

Direction = Literal["request", "answer"]
_LIMITS: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_SILENT: Final[Mapping[Direction, str]] = {"request": "readOnly", "answer": "writeOnly"}


class Umpire:
    """Judges values by schemas of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._is_30 = str(document.get("openapi", "")).startswith("3.0")
        self._plain: dict[Direction, dict[str, Any]] = {}

    def body_schema(self, method: str, path: str, content_type: str) -> Any:
        """Of the request body; None when the document has none of that type."""
        operation = self._document["paths"][path][method.lower()]
        body = self.follow(operation.get("requestBody", {}))
        return _of_type(body.get("content", {}), content_type)

    def answer_schema(self, method: str, path: str, status: int, content_type: str) -> Any:
        """Of an answer; None when the document has none of that status and type."""
        responses = self._document["paths"][path][method.lower()].get("responses", {})
        named = responses.get(str(status)) or responses.get("default") or {}
        return _of_type(self.follow(named).get("content", {}), content_type)

    def fault(self, schema: Any, value: Any, direction: Direction) -> str | None:
        """Why the value does not fit; None when it does, '' when that cannot be told."""
        try:
            root = self._root(direction)
            whole = {**root, "allOf": [self._read(schema, direction)]}
            validator = jsonschema_rs.Draft202012Validator(whole)
            found = next(iter(validator.iter_errors(value)), None)
        except (ValueError, jsonschema_rs.ReferencingError):
            return ""
        return None if found is None else found.message[:300] or "it does not fit"

    def follow(self, node: Any) -> Any:
        """What a local reference leads to; a node without one is itself."""
        for _ in range(20):
            if not isinstance(node, Mapping) or not str(node.get("$ref", "")).startswith("#/"):
                break
            found: Any = self._document
            for part in str(node["$ref"])[2:].split("/"):
                name = part.replace("~1", "/").replace("~0", "~")
                found = found[int(name)] if isinstance(found, list) else found[name]
            node = found
        return node

    def _root(self, direction: Direction) -> dict[str, Any]:
        if direction not in self._plain:
            kept = {k: v for k, v in self._document.items() if k in _PLACES or k.startswith("x-")}
            self._plain[direction] = self._read(kept, direction)
        return self._plain[direction]

    def _read(self, node: Any, direction: Direction) -> Any:
        """A schema in the words of JSON Schema 2020-12."""
        if isinstance(node, list):
            return [self._read(element, direction) for element in node]
        if not isinstance(node, Mapping):
            return node
        if self._is_30 and isinstance(node.get("$ref"), str):
            return {"$ref": node["$ref"]}
        read = {k: v if k in _VALUES else self._read(v, direction) for k, v in node.items()}
        if not isinstance(read.get("required", []), list):
            del read["required"]
        _drop_silent(read, node, _SILENT[direction])
        return _from_30(read) if self._is_30 else read


_PLACES: Final = frozenset({"components", "paths"})
_VALUES: Final = frozenset({"enum", "const", "default", "example", "examples"})


def _drop_silent(read: dict[str, Any], node: Mapping[str, Any], keyword: str) -> None:
    """Take out of `required` what is not there in this direction."""
    properties = node.get("properties")
    if isinstance(read.get("required"), list) and isinstance(properties, Mapping):
        silent = {n for n, p in properties.items() if isinstance(p, Mapping) and p.get(keyword)}
        read["required"] = [name for name in read["required"] if name not in silent]


def _from_30(read: dict[str, Any]) -> dict[str, Any]:
    for exclusive, limit in _LIMITS.items():
        if isinstance(read.get(exclusive), bool) and read.pop(exclusive) and limit in read:
            read[exclusive] = read.pop(limit)
    if read.get("nullable") is True and isinstance(read.get("type"), str):
        read["type"] = [read["type"], "null"]
        if isinstance(read.get("enum"), list):
            read["enum"] = [*read["enum"], None]
    return read


def _of_type(content: Any, content_type: str) -> Any:
    essence = content_type.partition(";")[0].strip().lower()
    for named, media in content.items():
        if named.partition(";")[0].strip().lower() == essence and "schema" in media:
            return media["schema"]
    return None


def parsed(text: str) -> Any:
    """The JSON in a text.

    Raises:
        ValueError: there is none.
    """
    return json.loads(text)
