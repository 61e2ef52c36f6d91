"""Schemas of a document made self-contained: references inlined, OpenAPI 3.0 turned to 2020-12."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal
from urllib.parse import quote, unquote

from pydantic import JsonValue

from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.pointer import format_pointer

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
"""Hints that point into the document, and definitions: both mean nothing once inlined."""
_ANNOTATIONS = frozenset(
    {"default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"}
)
_INLINE_LIMIT = 400
"""Schema nodes. A referred schema that expands to more becomes a definition: inlining it at every
mention could grow a small document without bound."""
_INLINE_TOTAL = 1_000
"""Schema nodes of one compiled schema, beyond which only the smallest are inlined."""
_SMALLEST = 16
_MAX_HEIGHT = 30
"""Levels of schemas inside schemas that a referred schema may bring along when it is inlined."""
_MAX_NESTING = 100
"""Levels of schemas written inside each other; real documents stay below twenty."""
_COUNTED = 1_000_000
_MAX_PARTS = 500
_CARRIED = 2_000
"""Schema nodes of the definitions that one compiled schema carries. In some documents every
resource can be reached from every other, and a tool would carry all of them."""
_ABRIDGED = "abridged: the document has the rest"

_KEPT_OF_ABRIDGED = frozenset({"description", "title", "type"})
_DEFS = "#/$defs/"
_COMPONENT = re.compile(r"[A-Za-z0-9._-]+")

_Path = tuple[str, ...]


@dataclass(eq=False)
class _Place:
    """What is known of one schema of the document, references counted but not followed."""

    path: _Path
    targets: tuple[DocumentNode, ...]
    own_size: int
    own_height: int
    # By Tarjan's algorithm: when it was met, and the earliest that can be reached from it.
    number: int
    lowest: int
    is_open: bool = True
    is_recursive: bool = False
    size: int = 0
    """Schema nodes when all that it refers to is inlined, recursive schemas left out."""
    height: int = 0


class SchemaGraph:
    """Which schemas of one document refer to which; knows those that must not be inlined."""

    def __init__(self, root: DocumentNode) -> None:
        """Take the root of the document; nothing is read before it is asked for."""
        version = root.value.get("openapi") if isinstance(root.value, dict) else None
        self.is_3_0 = isinstance(version, str) and version.startswith("3.0")
        self._places: dict[_Path, _Place] = {}
        self._open: list[_Place] = []
        self._expansions: dict[Direction, SchemaExpansion] = {}

    def expansion(self, direction: Direction) -> "SchemaExpansion":
        """What the schemas of this document expand to, as inputs or as outputs."""
        if direction not in self._expansions:
            self._expansions[direction] = SchemaExpansion(self, direction)
        return self._expansions[direction]

    def must_define(self, schema: DocumentNode, limit: int = _INLINE_LIMIT) -> bool:
        """Whether the schema refers to itself, or is too large to repeat at every mention."""
        place = self._examined(schema)
        return place.is_recursive or place.size > limit or place.height > _MAX_HEIGHT

    def inline_limit(self, schemas: Iterable[DocumentNode]) -> int:
        """How large a referred schema may be to be inlined where these stand together."""
        total = sum(self._examined(schema).size for schema in schemas)
        return _INLINE_LIMIT if total <= _INLINE_TOTAL else _SMALLEST

    def own_size(self, schema: DocumentNode) -> int:
        """How many schemas are written here, this one included."""
        return self._examined(schema).own_size

    def _examined(self, schema: DocumentNode) -> _Place:
        known = self._places.get(schema.path)
        return known if known is not None else self._examine(schema)

    def _examine(self, schema: DocumentNode) -> _Place:
        try:
            return self._traverse(schema)
        except DocumentInvalid:
            for place in self._open:
                del self._places[place.path]
            self._open.clear()
            raise

    def _traverse(self, schema: DocumentNode) -> _Place:
        """Tarjan's strongly connected components, without recursion: chains may be long."""
        first = self._meet(schema)
        waiting = [(first, iter(first.targets))]
        while waiting:
            place, targets = waiting[-1]
            for target in targets:
                other = self._places.get(target.path)
                if other is None:
                    other = self._meet(target)
                    waiting.append((other, iter(other.targets)))
                    break
                if other.is_open:
                    place.lowest = min(place.lowest, other.number)
                    place.is_recursive |= other is place
            else:
                waiting.pop()
                if waiting:
                    waiting[-1][0].lowest = min(waiting[-1][0].lowest, place.lowest)
                if place.lowest == place.number:
                    self._close_circle(place)
        return first

    def _meet(self, schema: DocumentNode) -> _Place:
        targets, size, height = _measured(schema)
        number = len(self._places)
        place = _Place(schema.path, targets, size, height, number=number, lowest=number)
        self._places[schema.path] = place
        self._open.append(place)
        return place

    def _close_circle(self, first: _Place) -> None:
        """All that was met since `first` reaches each other; what it refers to is known."""
        circle: list[_Place] = []
        while not circle or circle[-1] is not first:
            circle.append(self._open.pop())
        for member in circle:
            member.is_open = False
            member.is_recursive |= len(circle) > 1
        for member in circle:
            self._measure(member)

    def _measure(self, place: _Place) -> None:
        others = [self._places[target.path] for target in place.targets]
        inlined = [other for other in others if not other.is_recursive]
        total = place.own_size + sum(other.size for other in inlined)
        # Chains of doublings would otherwise count with numbers of thousands of digits.
        place.size = min(total, _COUNTED)
        place.height = place.own_height + max((other.height for other in inlined), default=0)


def _measured(schema: DocumentNode) -> tuple[tuple[DocumentNode, ...], int, int]:
    """The targets of all references that are written in the schema, its size and its height.

    Raises:
        DocumentInvalid: a reference leads nowhere, or schemas are nested without end.
    """
    targets: list[DocumentNode] = []
    levels: list[int] = []
    for place, level in walk(schema):
        levels.append(level)
        if (reference := reference_of(place)) is not None:
            targets.append(place.target(reference))
    return tuple(targets), len(levels), max(levels)


def reference_of(schema: DocumentNode) -> str | None:
    """The schema's own `$ref`, as written."""
    reference = schema.value.get("$ref") if isinstance(schema.value, dict) else None
    return reference if isinstance(reference, str) else None


def walk(schema: DocumentNode) -> Iterator[tuple[DocumentNode, int]]:
    """The schema and every schema written inside it, with its level; references are not followed.

    Raises:
        DocumentInvalid: they are nested too deep, or a keyword has a value that it cannot have.
    """
    waiting = [(schema, 1)]
    while waiting:
        node, level = waiting.pop()
        if level > _MAX_NESTING:
            raise node.invalid(f"schemas are nested more than {_MAX_NESTING} levels deep here")
        yield node, level
        if isinstance(node.value, dict):
            for keyword, child in node.raw_items():
                waiting.extend((inner, level + 1) for inner in _schemas_under(keyword, child))


def _schemas_under(keyword: str, child: DocumentNode) -> Iterator[DocumentNode]:
    if keyword in _IN_MAP:
        yield from (place for _, place in child.raw_items())
    elif keyword in _IN_LIST:
        yield from child.raw_elements()
    elif keyword in _DIRECT:
        yield child


class SchemaExpansion:
    """Expands schemas of one document into JSON Schema 2020-12 that needs the document no more.

    In direction "input" read-only properties are left out, in direction "output" write-only ones.
    What was expanded is kept, and shared between the tools: nothing that comes from here may be
    changed.
    """

    def __init__(self, graph: SchemaGraph, direction: Direction) -> None:
        """Take the document's graph."""
        self._graph = graph
        self._hidden = "readOnly" if direction == "input" else "writeOnly"
        self._targets: dict[str, DocumentNode] = {}
        self._definitions: dict[str, JsonObject] = {}
        self._abridgements: dict[str, JsonObject] = {}
        self._reached: dict[str, frozenset[str]] = {}
        self._expanded: dict[tuple[_Path, int], JsonObject] = {}

    def expand(self, schema: DocumentNode, *, limit: int | None = None) -> JsonObject:
        """The schema with its references inlined, or pointing to definitions: see `closed`.

        Args:
            schema: as written in the document.
            limit: how large a referred schema may be to be inlined, in schema nodes; by default
                what suits this schema.

        Raises:
            DocumentInvalid: a reference leads nowhere, or a keyword has a value it cannot have.
        """
        chosen = self._graph.inline_limit([schema]) if limit is None else limit
        return self._expand(schema, chosen, frozenset())

    def opened(self, schema: JsonObject) -> JsonObject:
        """An expanded schema whose own reference to a definition is replaced by what it names."""
        while (name := _def_referred(schema)) in self._targets:
            beside = {k: v for k, v in schema.items() if k != "$ref"}
            schema = {**self._definition(name), **beside}
        return schema

    def closed(self, schema: JsonObject) -> JsonObject:
        """An expanded schema with the definitions that it reaches, as its `$defs`.

        The nearest are carried whole, up to a limit. Of what lies beyond it only the type and the
        words about it are carried.
        """
        defs: JsonObject = {}
        carried = 0
        nearest = sorted(self._referred(schema))
        while nearest:
            further: set[str] = set()
            for name in nearest:
                size = self._graph.own_size(self._targets[name])
                if carried and carried + size > _CARRIED:
                    defs[name] = self._abridged(name)
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
            self._reached[name] = frozenset(self._referred(expanded))
        return self._definitions[name]

    def _abridged(self, name: str) -> JsonObject:
        if name not in self._abridgements:
            written = self._targets[name].mapping()
            kept: JsonObject = {k: v for k, v in written.items() if k in _KEPT_OF_ABRIDGED}
            self._abridgements[name] = {**kept, "$comment": _ABRIDGED}
        return self._abridgements[name]

    def _referred(self, schema: JsonObject) -> set[str]:
        """Names of the definitions that an expanded schema mentions."""
        found: set[str] = set()
        waiting: list[JsonValue] = [schema]
        while waiting:
            value = waiting.pop()
            if isinstance(value, list):
                waiting.extend(value)
            elif isinstance(value, dict):
                waiting.extend(value.values())
                if (name := _def_referred(value)) in self._targets:
                    found.add(name)
        return found

    def _expand(self, schema: DocumentNode, limit: int, hidden: frozenset[str]) -> JsonObject:
        """The schema expanded; `hidden` are properties that an enclosing schema leaves out."""
        if hidden:
            return self._expand_anew(schema, limit, hidden)
        key = (schema.path, limit)
        if key not in self._expanded:
            self._expanded[key] = self._expand_anew(schema, limit, hidden)
        return self._expanded[key]

    def _expand_anew(self, schema: DocumentNode, limit: int, hidden: frozenset[str]) -> JsonObject:
        if isinstance(schema.value, bool):
            return {} if schema.value else {"not": {}}
        if (reference := reference_of(schema)) is not None:
            schema.resolved()
            return self._expand_reference(schema, schema.target(reference), limit, hidden)
        hidden |= self._hidden_names(schema)
        expanded: JsonObject = {}
        for keyword, child in schema.raw_items():
            if keyword not in _DROPPED:
                expanded[keyword] = self._expand_keyword(keyword, child, limit, hidden)
        _leave_out(expanded, hidden)
        _example_to_examples(expanded)
        return _from_3_0(expanded, schema.mapping()) if self._graph.is_3_0 else expanded

    def _expand_reference(
        self, schema: DocumentNode, target: DocumentNode, limit: int, hidden: frozenset[str]
    ) -> JsonObject:
        expanded: JsonObject
        if self._graph.must_define(target, limit):
            name = _def_name(target)
            self._targets[name] = target
            expanded = {"$ref": _def_reference(name)}
        else:
            expanded = self._expand(target, limit, hidden)
        beside: JsonObject = {
            keyword: self._expand_keyword(keyword, child, limit, hidden)
            for keyword, child in schema.raw_items()
            if keyword != "$ref" and self._counts_beside_reference(keyword)
        }
        if beside.keys() <= _ANNOTATIONS:
            return {**expanded, **beside} if beside else expanded
        return {"allOf": [expanded], **beside}

    def _counts_beside_reference(self, keyword: str) -> bool:
        if keyword in _DROPPED:
            return False
        # OpenAPI 3.0 ignores everything beside a $ref; a description does no harm.
        return keyword in _ANNOTATIONS if self._graph.is_3_0 else True

    def _expand_keyword(
        self, keyword: str, child: DocumentNode, limit: int, hidden: frozenset[str]
    ) -> JsonValue:
        none = frozenset[str]()
        if keyword in _IN_MAP:
            return {name: self._expand(place, limit, none) for name, place in child.raw_items()}
        if keyword in _IN_LIST:
            inherited = hidden if keyword == "allOf" else none
            return [self._expand(place, limit, inherited) for place in child.raw_elements()]
        if keyword in _DIRECT:
            return (
                child.value if isinstance(child.value, bool) else self._expand(child, limit, none)
            )
        return child.value

    def _hidden_names(self, schema: DocumentNode) -> frozenset[str]:
        """Properties to leave out, those that members of its allOf declare included."""
        names: set[str] = set()
        for part in _all_of(schema):
            if (properties := part.raw("properties")) is not None:
                names |= {name for name, place in properties.raw_items() if self._is_hidden(place)}
        return frozenset(names)

    def _is_hidden(self, schema: DocumentNode) -> bool:
        return any(
            isinstance(place.value, dict) and place.value.get(self._hidden) is True
            for place in (schema, schema.resolved())
        )


def _all_of(schema: DocumentNode) -> Iterator[DocumentNode]:
    """The schema and the members of its allOf, theirs included, each once."""
    seen: set[_Path] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop().resolved()
        if part.path in seen:
            continue
        seen.add(part.path)
        if len(seen) > _MAX_PARTS:
            raise schema.invalid(f"allOf combines more than {_MAX_PARTS} schemas here")
        yield part
        if (members := part.raw("allOf")) is not None:
            waiting.extend(members.raw_elements())


def _def_name(target: DocumentNode) -> str:
    """A name that depends on nothing but the place, so that digests are stable."""
    path = target.path
    if path[:2] == ("components", "schemas") and len(path) == 3 and _COMPONENT.fullmatch(path[2]):
        return path[2]
    return f"{path[-1] if path else ''}-{sha256(target.pointer.encode()).hexdigest()[:12]}"


def _def_reference(name: str) -> str:
    return _DEFS + quote(format_pointer((name,))[1:], safe="/$~.-_")


def _def_referred(schema: JsonObject) -> str:
    """The name of the definition that an expanded schema refers to; '' when it refers to none."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith(_DEFS):
        return ""
    return unquote(reference.removeprefix(_DEFS)).replace("~1", "/").replace("~0", "~")


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
