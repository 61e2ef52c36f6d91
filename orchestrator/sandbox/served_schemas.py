"""JSON schemas of one document: following references, joining allOf, checking a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from openapi_schema_validator import (
    OAS30Validator,
    OAS31Validator,
    oas30_format_checker,
    oas31_format_checker,
)
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from orchestrator.sandbox.asked_schemas import asked
from orchestrator.sandbox.bounded_patterns import bounded
from orchestrator.sandbox.runtime_expressions import unescaped

Schema = Mapping[str, Any]

_BASE = "urn:sandbox:document"


class SchemaBook:
    """Looks up and checks the schemas of one document (OpenAPI 3.0 or 3.1)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        is_30 = str(document.get("openapi", "")).startswith("3.0")
        self._formats = oas30_format_checker if is_30 else oas31_format_checker
        self._kind = bounded(OAS30Validator if is_30 else OAS31Validator, document)
        resource = DRAFT202012.create_resource(_absolute(document))
        # Crawled once: an uncrawled registry is crawled anew by every check.
        self._registry: Registry[Any] = Registry().with_resource(_BASE, resource).crawl()
        # By identity; what a key belongs to is kept, for a freed id may be given to another one.
        self._resolved: dict[int, tuple[Schema, Schema]] = {}
        self._validators: dict[int, tuple[Schema, Validator]] = {}
        self._asked: dict[int, tuple[Schema, Validator]] = {}

    def follow(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        """The object that a chain of references ends at; a node without one is itself.

        Raises:
            LookupError: the reference leaves the document, finds nothing or leads in a circle.
        """
        passed: set[str] = set()
        while "$ref" in node:
            reference = str(node["$ref"])
            if reference in passed:
                raise LookupError(f"reference {reference!r} leads in a circle")
            passed.add(reference)
            node = self._lookup(reference)
        return node

    def resolve(self, schema: Schema) -> Schema:
        """The schema with its own reference and allOf folded in; children stay as they are."""
        if "$ref" not in schema and "allOf" not in schema:
            return schema
        if id(schema) not in self._resolved:
            self._resolved[id(schema)] = (schema, self._folded(schema))
        return self._resolved[id(schema)][1]

    def _folded(self, schema: Schema) -> Schema:
        beside = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        parts = [self._lookup(str(schema["$ref"]))] if "$ref" in schema else []
        parts = [*parts, *schema.get("allOf", [])]
        joined: dict[str, Any] = {}
        for part in [*(self.resolve(part) for part in parts), beside]:
            joined = _join(joined, part)
        return joined

    def properties(self, schema: Schema) -> dict[str, Schema]:
        """The properties of an object schema, those of its first alternative included."""
        resolved = self.resolve(schema)
        own = dict(resolved.get("properties", {}))
        alternative = self.alternative(resolved)
        return {**self.properties(alternative), **own} if alternative else own

    def alternative(self, schema: Schema) -> Schema | None:
        """The first oneOf or anyOf branch; None when the schema has none."""
        branches = schema.get("oneOf") or schema.get("anyOf")
        return self.resolve(branches[0]) if branches else None

    def type_of(self, schema: Schema) -> str | None:
        """The JSON type that values take, null aside; None when the schema leaves it open."""
        declared = schema.get("type")
        if isinstance(declared, list):
            return next((str(name) for name in declared if name != "null"), "null")
        if declared is not None:
            return str(declared)
        if "properties" in schema:
            return "object"
        return "array" if "items" in schema else None

    def is_valid(self, schema: Schema, value: Any) -> bool:
        """True when the value conforms, formats included."""
        key = id(schema)
        if key not in self._validators:
            self._validators[key] = (schema, self._validator(schema))
        return self._validators[key][1].is_valid(value)

    def errors_of_request(self, schema: Schema, value: Any) -> Iterator[ValidationError]:
        """What of a value that was sent breaks the schema."""
        key = id(schema)
        if key not in self._asked:
            self._asked[key] = (schema, self._validator(schema, asked(self._kind)))
        yield from self._asked[key][1].iter_errors(value)

    def _validator(self, schema: Schema, kind: Any = None) -> Validator:
        absolute = _absolute(schema)
        made: Validator = (kind or self._kind)(
            absolute, registry=self._registry, format_checker=self._formats
        )
        return made

    def _lookup(self, reference: str) -> Mapping[str, Any]:
        if not reference.startswith("#/"):
            raise LookupError(f"reference {reference!r} leaves the document; inline what it names")
        node: Any = self._document
        for part in reference[2:].split("/"):
            name = unescaped(unquote(part))
            if not isinstance(node, Mapping) or name not in node:
                raise LookupError(f"reference {reference!r} finds nothing")
            node = node[name]
        found: Mapping[str, Any] = node
        return found


def _join(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both schemas as one; of what both say, properties and required add up, else second wins."""
    joined = {**first, **second}
    if "properties" in first and "properties" in second:
        joined["properties"] = {**first["properties"], **second["properties"]}
    if "required" in first and "required" in second:
        joined["required"] = [*first["required"], *second["required"]]
    return joined


def _absolute(node: Any) -> Any:
    """The node with local references made absolute, so that a part of it can be checked alone."""
    if isinstance(node, Mapping):
        return {key: _absolute_entry(key, value) for key, value in node.items()}
    return [_absolute(value) for value in node] if isinstance(node, list) else node


def _absolute_entry(key: str, value: Any) -> Any:
    if key == "$ref" and isinstance(value, str) and value.startswith("#"):
        return _BASE + value
    return _absolute(value)
