"""Schemas of a document made self-contained: references inlined, OpenAPI 3.0 turned to 2020-12."""

from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote

from pydantic import JsonValue

from orchestrator.catalog.node import Node
from orchestrator.catalog.pointer import format_pointer
from orchestrator.record import JsonObject

Direction = Literal["input", "output"]

_IN_MAP = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_IN_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_DIRECT = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_DROPPED = frozenset(
    {
        "$anchor",
        "$comment",
        "$defs",
        "$id",
        "$schema",
        "definitions",
        "discriminator",
        "externalDocs",
        "nullable",
        "xml",
    }
)
"""Hints that point into the document, and definitions: both mean nothing once inlined."""
_ANNOTATIONS = frozenset(
    {"default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)
_INLINE_LIMIT = 400
"""Schema nodes. A referred schema that expands to more becomes a definition: inlining it at every
mention could grow a small document without bound."""

_Path = tuple[str, ...]


class SchemaGraph:
    """Which schemas of one document refer to which; knows those that must not be inlined."""

    def __init__(self, root: Node) -> None:
        """Take the root of the document; nothing is read before it is asked for."""
        version = root.value.get("openapi") if isinstance(root.value, dict) else None
        self.is_3_0 = isinstance(version, str) and version.startswith("3.0")
        self._targets: dict[_Path, tuple[Node, ...]] = {}
        self._own_size: dict[_Path, int] = {}
        self._recursive: dict[_Path, bool] = {}
        self._must_define: dict[_Path, bool] = {}

    def must_define(self, schema: Node) -> bool:
        """Whether the schema refers to itself, or is too large to repeat at every mention."""
        if schema.path not in self._must_define:
            self._must_define[schema.path] = self._is_recursive(schema) or self._is_large(schema)
        return self._must_define[schema.path]

    def _is_recursive(self, schema: Node) -> bool:
        if schema.path not in self._recursive:
            self._recursive[schema.path] = self._reaches_itself(schema)
        return self._recursive[schema.path]

    def _reaches_itself(self, schema: Node) -> bool:
        seen: set[_Path] = set()
        waiting = list(self._targets_of(schema))
        while waiting:
            node = waiting.pop()
            if node.path == schema.path:
                return True
            if node.path not in seen:
                seen.add(node.path)
                waiting.extend(self._targets_of(node))
        return False

    def _is_large(self, schema: Node) -> bool:
        size = 0
        waiting = [schema]
        while waiting and size <= _INLINE_LIMIT:
            node = waiting.pop()
            targets = self._targets_of(node)
            size += self._own_size[node.path]
            waiting.extend(t for t in targets if not self._is_recursive(t))
        return size > _INLINE_LIMIT

    def _targets_of(self, schema: Node) -> tuple[Node, ...]:
        if schema.path not in self._targets:
            places = list(walk(schema))
            self._own_size[schema.path] = len(places)
            self._targets[schema.path] = tuple(
                place.target(reference)
                for place in places
                if (reference := reference_of(place)) is not None
            )
        return self._targets[schema.path]


def reference_of(schema: Node) -> str | None:
    """The schema's own `$ref`, as written."""
    reference = schema.value.get("$ref") if isinstance(schema.value, dict) else None
    return reference if isinstance(reference, str) else None


def walk(schema: Node) -> Iterator[Node]:
    """The schema and every schema written inside it; references are not followed."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node.value, dict):
            for keyword, child in node.raw_items():
                waiting.extend(_schemas_under(keyword, child))


def _schemas_under(keyword: str, child: Node) -> Iterator[Node]:
    if keyword in _IN_MAP:
        yield from (place for _, place in child.raw_items())
    elif keyword in _IN_LIST:
        yield from child.raw_elements()
    elif keyword in _DIRECT:
        yield child


class SchemaExpansion:
    """Expands schemas of one document into one self-contained result with shared `defs`.

    In direction "input" read-only properties are left out, in direction "output" write-only ones.
    """

    def __init__(self, graph: SchemaGraph, direction: Direction) -> None:
        """Take the document's graph; `defs` fills up while schemas are expanded."""
        self.defs: dict[str, JsonValue] = {}
        self._graph = graph
        self._hidden = "readOnly" if direction == "input" else "writeOnly"

    def expand(self, schema: Node, *, hidden: frozenset[str] = frozenset()) -> JsonObject:
        """The schema in JSON Schema 2020-12, references inlined or pointing into `defs`.

        Args:
            schema: as written in the document.
            hidden: properties that an enclosing schema already found to be left out.

        Raises:
            DocumentInvalid: a reference leads nowhere, or a keyword has a value it cannot have.
        """
        if isinstance(schema.value, bool):
            return {} if schema.value else {"not": {}}
        if (reference := reference_of(schema)) is not None:
            return self._expand_reference(schema, schema.target(reference), hidden)
        hidden |= self._hidden_names(schema)
        expanded: JsonObject = {}
        for keyword, child in schema.raw_items():
            if keyword not in _DROPPED:
                expanded[keyword] = self._expand_keyword(keyword, child, hidden)
        _leave_out(expanded, hidden)
        _example_to_examples(expanded)
        return _from_3_0(expanded, schema.mapping()) if self._graph.is_3_0 else expanded

    def opened(self, schema: JsonObject) -> JsonObject:
        """An expanded schema whose own reference into `defs` is replaced by what it names."""
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        for name, definition in self.defs.items():
            if _def_reference(name) == reference and isinstance(definition, dict):
                return {**definition, **{k: v for k, v in schema.items() if k != "$ref"}}
        return schema

    def _expand_reference(self, schema: Node, target: Node, hidden: frozenset[str]) -> JsonObject:
        expanded: JsonObject
        if self._graph.must_define(target):
            expanded = {"$ref": _def_reference(self._define(target))}
        else:
            expanded = self.expand(target, hidden=hidden)
        beside: JsonObject = {
            keyword: self._expand_keyword(keyword, child, hidden)
            for keyword, child in schema.raw_items()
            if keyword != "$ref" and self._counts_beside_reference(keyword)
        }
        if beside.keys() <= _ANNOTATIONS:
            return {**expanded, **beside}
        return {"allOf": [expanded], **beside}

    def _counts_beside_reference(self, keyword: str) -> bool:
        if keyword in _DROPPED:
            return False
        # OpenAPI 3.0 ignores everything beside a $ref; a description does no harm.
        return keyword in _ANNOTATIONS if self._graph.is_3_0 else True

    def _define(self, target: Node) -> str:
        name = _def_name(target.path)
        if name not in self.defs:
            self.defs[name] = {}
            self.defs[name] = self.expand(target)
        return name

    def _expand_keyword(self, keyword: str, child: Node, hidden: frozenset[str]) -> JsonValue:
        if keyword in _IN_MAP:
            return {name: self.expand(place) for name, place in child.raw_items()}
        if keyword in _IN_LIST:
            inherited = hidden if keyword == "allOf" else frozenset()
            return [self.expand(place, hidden=inherited) for place in child.raw_elements()]
        if keyword in _DIRECT:
            return child.value if isinstance(child.value, bool) else self.expand(child)
        return child.value

    def _hidden_names(self, schema: Node) -> frozenset[str]:
        """Properties to leave out, those that members of its allOf declare included."""
        names: set[str] = set()
        if (properties := schema.raw("properties")) is not None:
            names |= {name for name, place in properties.raw_items() if self._is_hidden(place)}
        if (members := schema.raw("allOf")) is not None:
            for member in members.raw_elements():
                if not (reference_of(member) and self._graph.must_define(member.resolved())):
                    names |= self._hidden_names(member.resolved())
        return frozenset(names)

    def _is_hidden(self, schema: Node) -> bool:
        return any(
            isinstance(place.value, dict) and place.value.get(self._hidden) is True
            for place in (schema, schema.resolved())
        )


def with_defs(schema: JsonObject, defs: JsonObject) -> JsonObject:
    """The schema with those definitions that it reaches, as its `$defs`."""
    by_reference = {_def_reference(name): name for name in defs}
    reached: set[str] = set()
    waiting: list[JsonValue] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
            reference = value.get("$ref")
            name = by_reference.get(reference) if isinstance(reference, str) else None
            if name is not None and name not in reached:
                reached.add(name)
                waiting.append(defs[name])
    if not reached:
        return schema
    return {**schema, "$defs": {name: defs[name] for name in sorted(reached)}}


def _def_name(path: _Path) -> str:
    """A name that depends on nothing but the place, so that digests are stable."""
    return path[2] if path[:2] == ("components", "schemas") and len(path) == 3 else ".".join(path)


def _def_reference(name: str) -> str:
    return "#" + quote(format_pointer(("$defs", name)), safe="/$~.-_")


def _leave_out(schema: JsonObject, hidden: frozenset[str]) -> None:
    if not hidden:
        return
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict):
        schema["properties"] = {n: s for n, s in properties.items() if n not in hidden}
    if isinstance(required, list):
        schema["required"] = [name for name in required if name not in hidden]


def _example_to_examples(schema: JsonObject) -> None:
    example = schema.pop("example", None)
    if example is not None and "examples" not in schema:
        schema["examples"] = [example]


def _from_3_0(schema: JsonObject, written: JsonObject) -> JsonObject:
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        flag = schema.get(exclusive)
        if isinstance(flag, bool):
            del schema[exclusive]
            if flag and inclusive in schema:
                schema[exclusive] = schema.pop(inclusive)
    return _nullable(schema) if written.get("nullable") is True else schema


def _nullable(schema: JsonObject) -> JsonObject:
    kind, choices = schema.get("type"), schema.get("enum")
    if not isinstance(kind, str):
        # Beside a composition, nullable is meant to widen what the composition says.
        about: JsonObject = {k: schema.pop(k) for k in sorted(_ANNOTATIONS) if k in schema}
        return {"anyOf": [schema, {"type": "null"}], **about} if schema else about
    schema["type"] = [kind, "null"]
    if isinstance(choices, list) and None not in choices:
        schema["enum"] = [*choices, None]
    return schema
