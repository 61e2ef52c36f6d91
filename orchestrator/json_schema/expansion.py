"""Expansion of document schemas: references are inlined or point to `$defs`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue

from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.openapi_dialect import (
    ANNOTATIONS,
    as_json_schema,
    branch_values,
    discriminator_property,
    openapi_version,
    restricted_to,
)
from orchestrator.json_schema.references import (
    format_reference,
    parse_reference,
    reference_of,
)
from orchestrator.json_schema.walker import KEYWORDS, named_schemas, walk_nodes

_INLINE_LIMIT = 400
"""The largest referenced schema that is inlined, in schema nodes.

Inlining larger ones at every mention could grow a small document without bound.
"""
_INLINE_TOTAL = 1_000
"""Schema nodes of one compiled schema, beyond which only the smallest are inlined."""
_SMALLEST = 16
_MAX_HEIGHT = 30
"""The maximum number of nesting levels that an inlined schema may add."""
_COUNTED = 1_000_000

_Path = tuple[str, ...]


@dataclass(eq=False)
class _Vertex:
    """A schema of the document, with the references that it contains."""

    path: _Path
    targets: list[DocumentNode]
    own_size: int
    """Schema nodes of this one without its references, including itself."""
    own_height: int
    # Tarjan's algorithm: order of discovery, and the earliest vertex that is reachable.
    number: int
    lowest: int
    is_open: bool = True
    is_recursive: bool = False
    size: int = 0
    """Schema nodes after inlining all references, without recursive schemas."""
    height: int = 0


class SchemaGraph:
    """References between the schemas of one document; decides which must not be inlined."""

    def __init__(self) -> None:
        """Start empty: schemas are read on demand."""
        self._vertices: dict[_Path, _Vertex] = {}
        self._open: list[_Vertex] = []

    def must_define(self, schema: DocumentNode, limit: int = _INLINE_LIMIT) -> bool:
        """Return True if the schema is recursive, or too large to repeat at every mention."""
        vertex = self.examined(schema)
        return vertex.is_recursive or vertex.size > limit or vertex.height > _MAX_HEIGHT

    def inline_limit(self, schemas: Iterable[DocumentNode]) -> int:
        """Return the size limit for inlining referenced schemas into a whole of these schemas."""
        total = sum(self.examined(schema).size for schema in schemas)
        return _INLINE_LIMIT if total <= _INLINE_TOTAL else _SMALLEST

    def examined(self, schema: DocumentNode) -> _Vertex:
        """Return the sizes of a schema, with and without its references, and what it refers to."""
        if (known := self._vertices.get(schema.path)) is not None:
            return known
        try:
            first = self._visit(schema)
            waiting = [(first, iter(first.targets))]
            while waiting:
                vertex, targets = waiting[-1]
                for target in targets:
                    other = self._vertices.get(target.path)
                    if other is None:
                        other = self._visit(target)
                        waiting.append((other, iter(other.targets)))
                        break
                    if other.is_open:
                        vertex.lowest = min(vertex.lowest, other.number)
                        vertex.is_recursive |= other is vertex
                else:
                    waiting.pop()
                    if waiting:
                        waiting[-1][0].lowest = min(waiting[-1][0].lowest, vertex.lowest)
                    if vertex.lowest != vertex.number:
                        continue
                    # All open vertices up to this one reach each other.
                    component = [self._open.pop()]
                    while component[-1] is not vertex:
                        component.append(self._open.pop())
                    for member in component:
                        member.is_open = False
                        member.is_recursive |= len(component) > 1
                    for member in component:
                        others = [self._vertices[target.path] for target in member.targets]
                        inlined = [other for other in others if not other.is_recursive]
                        total = member.own_size + sum(other.size for other in inlined)
                        # Chains of doublings would otherwise need numbers of thousands of digits.
                        member.size = min(total, _COUNTED)
                        highest = max((other.height for other in inlined), default=0)
                        member.height = member.own_height + highest
            return first
        except DocumentInvalid:
            for vertex in self._open:
                del self._vertices[vertex.path]
            self._open.clear()
            raise

    def _visit(self, schema: DocumentNode) -> _Vertex:
        targets: list[DocumentNode] = []
        levels: list[int] = []
        for place, level in walk_nodes(schema):
            levels.append(level)
            targets += _referred_schemas(place)
        number = len(self._vertices)
        vertex = _Vertex(schema.path, targets, len(levels), max(levels), number, lowest=number)
        self._vertices[schema.path] = vertex
        self._open.append(vertex)
        return vertex


_DROPPED = frozenset(
    {
        "$anchor",
        "$comment",
        "$defs",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$schema",
        "definitions",
        "discriminator",
        "externalDocs",
        "nullable",
        "xml",
    }
)
"""Keywords that refer to the document or hold definitions: meaningless once inlined."""
_MAX_PARTS = 500
_CARRIED = 2_000
"""The maximum number of schema nodes of the definitions that one compiled schema carries.

In some documents every resource reaches every other one, and each tool would carry all of them.
"""
_ABRIDGED = "abridged: the document has the rest"
_KEPT_OF_ABRIDGED = frozenset({"description", "title", "type"})
_DEFS: Final = "$defs"
_COMPONENT = re.compile(r"[A-Za-z0-9._-]+")


class _Way(NamedTuple):
    """Context that an expansion depends on."""

    limit: int
    """Largest referenced schema that is inlined, in schema nodes."""
    hidden: frozenset[str] = frozenset()
    """Properties that an enclosing schema leaves out."""


class DocumentSchemas:
    """The schemas of one document, expanded for inputs and for outputs."""

    def __init__(self, root: DocumentNode) -> None:
        """Store the root of the document; schemas are read on demand."""
        is_3_0 = openapi_version(root.value) == (3, 0)
        graph = SchemaGraph()
        self.inputs = SchemaExpansion(graph, "readOnly", is_3_0=is_3_0)
        self.outputs = SchemaExpansion(graph, "writeOnly", is_3_0=is_3_0)


class SchemaExpansion:
    """Expand schemas of one document into self-contained JSON Schema 2020-12.

    Expansions are cached and shared between tools: callers must not change them.
    """

    def __init__(
        self, graph: SchemaGraph, hidden: Literal["readOnly", "writeOnly"], *, is_3_0: bool
    ) -> None:
        """Store the document's graph, and the keyword that marks properties to leave out."""
        self.graph = graph
        self._hidden = hidden
        self._is_3_0 = is_3_0
        self._targets: dict[str, DocumentNode] = {}
        self._definitions: dict[str, JsonObject] = {}
        self._abridgements: dict[str, JsonObject] = {}
        self._reached: dict[str, frozenset[str]] = {}
        self._expanded: dict[tuple[_Path, _Way], JsonObject] = {}
        self._mentioned: dict[int, frozenset[str] | None] = {}
        """Names found by `_referred`, by the id of a schema in `_expanded`; None until asked."""

    def expand(self, schema: DocumentNode, *, limit: int | None = None) -> JsonObject:
        """Return the schema with references inlined or pointing to definitions; see `closed`.

        Args:
            schema: as written in the document.
            limit: the largest referenced schema that is inlined, in schema nodes; by default it
                depends on this schema.

        Raises:
            DocumentInvalid: a reference leads nowhere, or a keyword has an invalid value.
        """
        chosen = self.graph.inline_limit([schema]) if limit is None else limit
        return self._expand(schema, _Way(chosen))

    def opened(self, schema: JsonObject) -> JsonObject:
        """Replace an expanded schema's own reference by the definition that it names."""
        while (name := _def_referred(schema)) in self._targets:
            siblings = {k: v for k, v in schema.items() if k != "$ref"}
            schema = {**self._definition(name), **siblings}
        return schema

    def closed(self, schema: JsonObject) -> JsonObject:
        """Add the definitions that an expanded schema reaches, as its `$defs`.

        The nearest ones are complete, up to a limit; others have only type, title and description.
        """
        defs: JsonObject = {}
        carried = 0
        nearest = sorted(self._referred(schema))
        while nearest:
            further: set[str] = set()
            for name in nearest:
                size = self.graph.examined(self._targets[name]).own_size
                if carried and carried + size > _CARRIED:
                    if name not in self._abridgements:
                        written = self._targets[name].mapping().items()
                        kept: JsonObject = {k: v for k, v in written if k in _KEPT_OF_ABRIDGED}
                        self._abridgements[name] = {**kept, "$comment": _ABRIDGED}
                    defs[name] = self._abridgements[name]
                    continue
                carried += size
                defs[name] = self._definition(name)
                further |= self._reached[name]
            nearest = sorted(further - defs.keys())
        return {**schema, "$defs": {name: defs[name] for name in sorted(defs)}} if defs else schema

    def _definition(self, name: str) -> JsonObject:
        if name not in self._definitions:
            expanded = self.expand(self._targets[name])
            self._definitions[name] = expanded
            self._reached[name] = self._referred(expanded)
        return self._definitions[name]

    def _referred(self, schema: JsonObject) -> frozenset[str]:
        """Return the names of the definitions that an expanded schema mentions.

        Each expanded part is searched once, however many schemas share it.
        """
        if (known := self._mentioned.get(id(schema))) is not None:
            return known
        found: set[str] = set()
        waiting: list[JsonValue] = [schema]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                if value is not schema and id(value) in self._mentioned:
                    found |= self._referred(value)
                    continue
                if (name := _def_referred(value)) in self._targets:
                    found.add(name)
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value
        names = frozenset(found)
        if id(schema) in self._mentioned:
            self._mentioned[id(schema)] = names
        return names

    def _expand(self, schema: DocumentNode, way: _Way) -> JsonObject:
        if way.hidden:
            return self._expand_uncached(schema, way)
        key = (schema.path, way)
        if key not in self._expanded:
            self._expanded[key] = expanded = self._expand_uncached(schema, way)
            self._mentioned.setdefault(id(expanded))
        return self._expanded[key]

    def _expand_uncached(self, schema: DocumentNode, way: _Way) -> JsonObject:
        if isinstance(schema.value, bool):
            return {} if schema.value else {"not": {}}
        if reference_of(schema.value) is not None:
            schema.resolved()
        if targets := _referred_schemas(schema):
            expansions: list[JsonValue] = []
            for target in targets:
                if not self.graph.must_define(target, way.limit):
                    expansions.append(self._expand(target, way))
                    continue
                # The name depends only on the path, so that digests are stable.
                path = target.path
                is_component = path[:2] == ("components", "schemas") and len(path) == 3
                name = path[-1] if path else ""
                if not is_component or not _COMPONENT.fullmatch(name):
                    name = f"{name}-{sha256(target.pointer.encode()).hexdigest()[:12]}"
                self._targets[name] = target
                expansions.append({"$ref": format_reference(_DEFS, name)})
            # OpenAPI 3.0 ignores the keywords next to a $ref; a description is harmless.
            siblings: JsonObject = {
                keyword: self._expand_keyword(keyword, child, way)
                for keyword, child in schema.raw_items()
                if keyword not in _DROPPED
                and keyword != "$ref"
                and (keyword in ANNOTATIONS or not self._is_3_0)
            }
            (first, *more) = expansions
            if isinstance(first, dict) and not more and siblings.keys() <= ANNOTATIONS:
                return {**first, **siblings} if siblings else first
            return {"allOf": expansions, **siblings}
        hidden = way.hidden | self._hidden_names(schema)
        way = way._replace(hidden=hidden)
        expanded: JsonObject = {}
        for keyword, child in schema.raw_items():
            if keyword not in _DROPPED:
                expanded[keyword] = self._expand_keyword(keyword, child, way)
        properties, required = expanded.get("properties"), expanded.get("required")
        if hidden and isinstance(properties, dict):
            expanded["properties"] = {n: s for n, s in properties.items() if n not in hidden}
        if hidden and isinstance(required, list):
            expanded["required"] = [name for name in required if name not in hidden]
        written = schema.mapping()
        selector = discriminator_property(written)
        for keyword in ("oneOf", "anyOf") if selector is not None else ():
            branches, alternatives = written.get(keyword), expanded.get(keyword)
            if selector and isinstance(branches, list) and isinstance(alternatives, list):
                selected = branch_values(written, branches, lambda ref: schema.target(ref).value)
                # Each alternative has only the discriminator values that select it.
                for at, one in enumerate(selected or ()):
                    branch = alternatives[at]
                    if isinstance(branch, dict) and not one.is_own:
                        alternatives[at] = restricted_to(branch, selector, one.values)
        is_nullable = written.get("nullable") is True
        return as_json_schema(expanded, is_3_0=self._is_3_0, is_nullable=is_nullable)

    def _expand_keyword(self, keyword: str, child: DocumentNode, way: _Way) -> JsonValue:
        inner = way._replace(hidden=frozenset())
        match KEYWORDS.get(keyword):
            case "map":
                return {name: self._expand(place, inner) for name, place in named_schemas(child)}
            case "list":
                chosen = way if keyword == "allOf" else inner
                return [self._expand(place, chosen) for place in child.raw_elements()]
            case "schema" if not isinstance(child.value, bool):
                return self._expand(child, inner)
            case _:
                return child.value

    def _hidden_names(self, schema: DocumentNode) -> frozenset[str]:
        """Return the properties to leave out, including hidden ones of its allOf members."""
        names: set[str] = set()
        seen: set[_Path] = set()
        waiting = [schema]
        while waiting:
            part = waiting.pop().resolved()
            if part.path in seen:
                continue
            seen.add(part.path)
            if len(seen) > _MAX_PARTS:
                raise schema.invalid(f"allOf combines more than {_MAX_PARTS} schemas here")
            properties, members = part.raw("properties"), part.raw("allOf")
            for name, place in named_schemas(properties) if properties is not None else ():
                values = (place.value, place.resolved().value)
                if any(isinstance(v, dict) and v.get(self._hidden) is True for v in values):
                    names.add(name)
            waiting += members.raw_elements() if members is not None else ()
        return frozenset(names)


def _referred_schemas(schema: DocumentNode) -> list[DocumentNode]:
    """Return the targets of a schema's `$ref` and `$dynamicRef`.

    A `$dynamicRef` that means another schema on each way to it is left out: any value is valid.
    """
    reference = reference_of(schema.value)
    dynamic = schema.value.get("$dynamicRef") if isinstance(schema.value, dict) else None
    found = [schema.target(reference)] if reference is not None else []
    meant = schema.dynamic_target(dynamic) if isinstance(dynamic, str) else None
    return [*found, meant] if meant is not None else found


def _def_referred(schema: JsonObject) -> str:
    """Return the name of the definition that an expanded schema refers to, or ''."""
    reference = reference_of(schema)
    if reference is None or not reference.startswith(f"#/{_DEFS}/"):
        return ""
    steps = parse_reference(reference)
    return steps[1] if steps is not None and len(steps) == 2 else ""
