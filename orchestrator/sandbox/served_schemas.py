"""JSON schemas of one document: references, merged allOf, alternatives and validity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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

from orchestrator.sandbox.schema_validators import bounded, for_requests

Schema = Mapping[str, Any]

_BASE = "urn:sandbox:document"
_BRANCHES = 40
"""Most alternatives that are examined."""
_MOST = 40

JsonObject = dict[str, Any]


class SchemaBook:
    """Looks up and checks the schemas of one document (OpenAPI 3.0 or 3.1)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        is_30 = str(document.get("openapi", "")).startswith("3.0")
        self._formats = oas30_format_checker if is_30 else oas31_format_checker
        self._kind = bounded(OAS30Validator if is_30 else OAS31Validator, document)
        resource = DRAFT202012.create_resource(_absolute(document))
        # Crawled once, as every check would crawl an uncrawled registry again.
        self._registry: Registry[Any] = Registry().with_resource(_BASE, resource).crawl()
        # By identity; the schema is stored too, because a freed id may be reused.
        self._resolved: dict[int, tuple[Schema, Schema]] = {}
        self._variants: dict[int, tuple[Schema, tuple[Schema, ...]]] = {}
        self._validators: dict[tuple[int, bool], tuple[Schema, Validator]] = {}

    def follow(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow a chain of references to its end; a node without a reference is returned itself.

        Raises:
            LookupError: the reference leaves the document, finds nothing or is circular.
        """
        passed: set[str] = set()
        while "$ref" in node:
            reference = str(node["$ref"])
            if reference in passed:
                raise LookupError(f"reference {reference!r} leads in a circle")
            passed.add(reference)
            node = referred(self._document, reference)
        return node

    def resolve(self, schema: Schema) -> Schema:
        """Return the schema with its own reference and allOf merged; children stay as they are."""
        if "$ref" not in schema and "allOf" not in schema:
            return schema
        if id(schema) not in self._resolved:
            siblings = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
            parts = list(schema.get("allOf", []))
            if "$ref" in schema:
                parts.insert(0, referred(self._document, str(schema["$ref"])))
            joined: dict[str, Any] = {}
            for part in [*map(self.resolve, parts), siblings]:
                joined = joined_schema(joined, part)
            self._resolved[id(schema)] = (schema, joined)
        return self._resolved[id(schema)][1]

    def variants(self, schema: Schema) -> tuple[Schema, ...]:
        """Return the schema merged with each of its alternatives; only itself without any."""
        key = id(schema)
        if key not in self._variants:
            self._variants[key] = (schema, tuple(self._alternatives(self.resolve(schema))))
        return self._variants[key][1]

    def _alternatives(self, schema: Schema) -> Iterator[Schema]:
        keyword = next((name for name in ("oneOf", "anyOf") if schema.get(name)), None)
        if keyword is None:
            yield schema
            return
        siblings = {name: part for name, part in schema.items() if name != keyword}
        for branch in schema[keyword][:_BRANCHES]:
            resolved = self.resolve(branch)
            named = self._discriminated(schema.get("discriminator"), branch, resolved)
            folded = joined_schema(joined_schema(siblings, resolved), named)
            yield from self._alternatives(self.resolve(folded))

    def _discriminated(self, discriminator: Any, branch: Any, resolved: Schema) -> Schema:
        name = discriminator.get("propertyName") if isinstance(discriminator, Mapping) else None
        if not isinstance(name, str) or not isinstance(branch, Mapping):
            return {}
        own = resolved.get("properties", {}).get(name)
        if isinstance(own, Mapping) and {"enum", "const"} & self.resolve(own).keys():
            return {"required": [name]}
        reference = branch.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return {}
        called = reference.rpartition("/")[2]
        mapping = discriminator.get("mapping")
        mapped = [
            value
            for value, target in (mapping if isinstance(mapping, Mapping) else {}).items()
            if isinstance(target, str) and target.rpartition("/")[2] == called
        ]
        return {"properties": {name: {"enum": mapped or [called]}}, "required": [name]}

    def properties(self, schema: Schema) -> dict[str, Schema]:
        """Return the properties of an object schema, including those of its first alternative."""
        resolved = self.resolve(schema)
        own = dict(resolved.get("properties", {}))
        branches = resolved.get("oneOf") or resolved.get("anyOf")
        return {**self.properties(branches[0]), **own} if branches else own

    def type_of(self, schema: Schema) -> str | None:
        """Return the JSON type of the values apart from null; None when the schema allows any."""
        declared = schema.get("type")
        if isinstance(declared, list):
            return next((str(name) for name in declared if name != "null"), "null")
        if declared is not None:
            return str(declared)
        if "properties" in schema:
            return "object"
        return "array" if "items" in schema else None

    def is_object(self, schema: Schema) -> bool:
        """Return True if the schema's first alternative is an object."""
        return self.type_of(self.variants(schema)[0]) == "object"

    def is_compound(self, schema: Schema) -> bool:
        """Return True if the schema's first alternative is an object or an array."""
        return self.type_of(self.variants(schema)[0]) in ("object", "array")

    def is_valid(self, schema: Schema, value: Any) -> bool:
        """Return True if the value conforms, formats included."""
        return self._validator(schema, is_request=False).is_valid(value)

    def errors_of_request(self, schema: Schema, value: Any) -> Iterator[ValidationError]:
        """Yield the errors of a value in a request."""
        yield from self._validator(schema, is_request=True).iter_errors(value)

    def _validator(self, schema: Schema, *, is_request: bool) -> Validator:
        key = (id(schema), is_request)
        if key not in self._validators:
            kind = for_requests(self._kind) if is_request else self._kind
            made: Validator = kind(
                _absolute(schema), registry=self._registry, format_checker=self._formats
            )
            self._validators[key] = (schema, made)
        return self._validators[key][1]


def referred(document: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    """Return the object that a reference within a document names.

    Raises:
        LookupError: the reference leaves the document, or finds no object.
    """
    if not reference.startswith("#/"):
        raise LookupError(f"reference {reference!r} leaves the document; inline what it names")
    node: Any = document
    for part in reference[2:].split("/"):
        name = unescaped(unquote(part))
        if isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        elif isinstance(node, Mapping) and name in node:
            node = node[name]
        else:
            raise LookupError(f"reference {reference!r} finds nothing")
    if not isinstance(node, Mapping):
        raise LookupError(f"reference {reference!r} finds no object")
    found: Mapping[str, Any] = node
    return found


def _absolute(node: Any) -> Any:
    """Make local references absolute, so that a part of the document can be checked alone."""
    if isinstance(node, Mapping):
        own = {key: _absolute(value) for key, value in node.items()}
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            own["$ref"] = _BASE + reference
        return own
    return [_absolute(value) for value in node] if isinstance(node, list) else node


def joined_schema(first: Schema, second: Schema) -> dict[str, Any]:
    """Merge two schemas; where that is impossible, the second wins."""
    joined = {**first, **second}
    for keyword in first.keys() & second.keys():
        join = _JOINS.get(keyword)
        if join is not None:
            joined[keyword] = join(first[keyword], second[keyword])
    return joined


def _properties(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        name: {"allOf": [first[name], second[name]]}
        for name in first.keys() & second.keys()
        if first[name] != second[name]
    }
    return {**first, **second, **both}


def _types(first: Any, second: Any) -> Any:
    kinds = [kind if isinstance(kind, list) else [kind] for kind in (first, second)]
    both = [
        name
        for name in kinds[0]
        if name in kinds[1] or (name == "integer" and "number" in kinds[1])
    ]
    if "number" in kinds[0] and "integer" in kinds[1]:
        both.append("integer")
    return both[0] if len(both) == 1 else both or second


def _branches(first: list[Any], second: list[Any]) -> list[Any]:
    pairs = [{"allOf": [one, other]} for one in first for other in second]
    return pairs if len(pairs) <= _MOST else second


def _required(first: Any, second: Any) -> Any:
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *(name for name in second if name not in first)]
    return second


_JOINS: Mapping[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": _required,
    "enum": lambda first, second: [value for value in first if value in second],
    "type": _types,
    "oneOf": _branches,
    "anyOf": _branches,
    "minimum": max,
    "minLength": max,
    "minItems": max,
    "maximum": min,
    "maxLength": min,
    "maxItems": min,
    # Null is valid only where both parts allow it.
    "nullable": lambda first, second: first is True and second is True,
}


def unescaped(step: str) -> str:
    """Return the name that a step of a JSON pointer encodes."""
    return step.replace("~1", "/").replace("~0", "~")
