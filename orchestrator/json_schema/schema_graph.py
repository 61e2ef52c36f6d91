"""Which schemas of one document refer to which, how large they are, and which are recursive."""

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.core.errors import DocumentInvalid
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import reference_of
from orchestrator.json_schema.walker import walk_nodes

_INLINE_LIMIT = 400
"""Schema nodes. A referred schema that expands to more becomes a definition: inlining it at every
mention could grow a small document without bound."""
_INLINE_TOTAL = 1_000
"""Schema nodes of one compiled schema, beyond which only the smallest are inlined."""
_SMALLEST = 16
_MAX_HEIGHT = 30
"""Levels of schemas inside schemas that a referred schema may bring along when it is inlined."""
_COUNTED = 1_000_000

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

    def __init__(self) -> None:
        """Nothing is read before it is asked for."""
        self._places: dict[_Path, _Place] = {}
        self._open: list[_Place] = []

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
    for place, level in walk_nodes(schema):
        levels.append(level)
        if (reference := reference_of(place.value)) is not None:
            targets.append(place.target(reference))
    return tuple(targets), len(levels), max(levels)
