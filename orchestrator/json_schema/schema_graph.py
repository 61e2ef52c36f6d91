"""The graph of references between schemas of one document: sizes and recursion."""

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import dynamic_reference_of, reference_of
from orchestrator.json_schema.walker import walk_nodes

_INLINE_LIMIT = 400
"""Largest referenced schema that is inlined, in schema nodes: inlining larger ones at every mention
could grow a small document without bound."""
_INLINE_TOTAL = 1_000
"""Schema nodes of one compiled schema, beyond which only the smallest are inlined."""
_SMALLEST = 16
_MAX_HEIGHT = 30
"""Most levels of nesting that an inlined schema may add."""
_COUNTED = 1_000_000

_Path = tuple[str, ...]


@dataclass(eq=False)
class _Vertex:
    """A schema of the document, with the references that it contains."""

    path: _Path
    targets: list[DocumentNode]
    own_size: int
    own_height: int
    # Tarjan's algorithm: order of discovery, and the earliest vertex that is reachable.
    number: int
    lowest: int
    is_open: bool = True
    is_recursive: bool = False
    is_dynamic: bool = False
    """True if it, or a schema that it reaches, has a `$dynamicRef`."""
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
        """True if the schema refers to itself, or is too large to repeat at every mention."""
        vertex = self._examined(schema)
        return vertex.is_recursive or vertex.size > limit or vertex.height > _MAX_HEIGHT

    def is_dynamic(self, schema: DocumentNode) -> bool:
        """True if its meaning depends on the dynamic scope; see `DocumentNode.dynamic_target`."""
        return self._examined(schema).is_dynamic

    def inline_limit(self, schemas: Iterable[DocumentNode]) -> int:
        """Return how large a referenced schema may be to be inlined where these stand together."""
        total = sum(self._examined(schema).size for schema in schemas)
        return _INLINE_LIMIT if total <= _INLINE_TOTAL else _SMALLEST

    def own_size(self, schema: DocumentNode) -> int:
        """Return how many schemas are written here, including this one."""
        return self._examined(schema).own_size

    def _examined(self, schema: DocumentNode) -> _Vertex:
        if (known := self._vertices.get(schema.path)) is not None:
            return known
        try:
            return self._traverse(schema)
        except DocumentInvalid:
            for vertex in self._open:
                del self._vertices[vertex.path]
            self._open.clear()
            raise

    def _traverse(self, schema: DocumentNode) -> _Vertex:
        """Find strongly connected components (Tarjan), without recursion: chains may be long."""
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
                if vertex.lowest == vertex.number:
                    self._close_component(vertex)
        return first

    def _visit(self, schema: DocumentNode) -> _Vertex:
        targets: list[DocumentNode] = []
        levels: list[int] = []
        is_dynamic = False
        for place, level in walk_nodes(schema):
            levels.append(level)
            if (reference := reference_of(place.value)) is not None:
                targets.append(place.target(reference))
            if (reference := dynamic_reference_of(place.value)) is not None:
                targets += place.dynamic_targets(reference)
                is_dynamic = True
        number = len(self._vertices)
        vertex = _Vertex(schema.path, targets, len(levels), max(levels), number, lowest=number)
        vertex.is_dynamic = is_dynamic
        self._vertices[schema.path] = vertex
        self._open.append(vertex)
        return vertex

    def _close_component(self, first: _Vertex) -> None:
        """Complete the component of `first`: all open vertices up to it reach each other."""
        component: list[_Vertex] = []
        while not component or component[-1] is not first:
            component.append(self._open.pop())
        reached = [self._vertices[target.path] for member in component for target in member.targets]
        is_dynamic = any(vertex.is_dynamic for vertex in (*component, *reached))
        for member in component:
            member.is_open = False
            member.is_recursive |= len(component) > 1
            member.is_dynamic = is_dynamic
        for member in component:
            self._measure(member)

    def _measure(self, vertex: _Vertex) -> None:
        others = [self._vertices[target.path] for target in vertex.targets]
        inlined = [other for other in others if not other.is_recursive]
        total = vertex.own_size + sum(other.size for other in inlined)
        # Chains of doublings would otherwise need numbers of thousands of digits.
        vertex.size = min(total, _COUNTED)
        vertex.height = vertex.own_height + max((other.height for other in inlined), default=0)
