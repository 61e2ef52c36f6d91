"""Which places of a document its tools make use of, and how many of them do."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress

from pydantic import JsonValue

from orchestrator.catalog.operations import METHODS, Operation
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import follow, parse_reference, reference_of

_OF_ALL = frozenset({"info", "security", "servers"})
"""What stands at the root of a document and is about all of it, to the last of its parts."""
_Path = tuple[str, ...]


class Uses:
    """How many tools make use of each place of a document."""

    def __init__(self, root: JsonObject, exposed: Iterable[Operation]) -> None:
        """Take the document and the operations that are tools."""
        self._root = root
        self._referred: dict[_Path, frozenset[_Path]] = {}
        self._targets: Counter[_Path] = Counter()
        self._tools: Counter[_Path] = Counter()
        for operation in exposed:
            self._tools[operation.node.path] += 1
            self._targets.update(self._reached(operation))

    def of(self, path: _Path) -> int:
        """How many tools make use of this place; all of them of what is about the document."""
        if path[:1] == ("paths",) and len(path) > 1:
            return self._of_path(path)
        is_of_all = path[:1] and (
            path[0] in _OF_ALL or path[:2] == ("components", "securitySchemes")
        )
        if len(path) < 2 or is_of_all:
            return self._tools.total()
        around = [path[:length] for length in range(len(path), 0, -1)]
        return next((n for p in around if (n := self._tools[p] or self._targets[p])), 0)

    def is_examined(self, path: _Path) -> bool:
        """Whether the linter looks there: not inside of an operation that is no tool."""
        is_in_operation = path[:1] == ("paths",) and len(path) > 2 and path[2] in METHODS
        return not is_in_operation or path[:3] in self._tools

    def _of_path(self, path: _Path) -> int:
        if len(path) > 2 and path[2] in METHODS:
            return self._tools[path[:3]] or self._targets[path[:3]]
        return sum(number for place, number in self._tools.items() if place[:2] == path[:2])

    def _reached(self, operation: Operation) -> set[_Path]:
        """All that an operation refers to, and what that refers to."""
        beside = {k: v for k, v in operation.path_item.mapping().items() if k not in METHODS}
        waiting = [*_references((operation.node.value, beside))]
        reached: set[_Path] = set()
        while waiting:
            path = waiting.pop()
            if path not in reached:
                reached.add(path)
                waiting += self._references_of(path)
        return reached

    def _references_of(self, path: _Path) -> frozenset[_Path]:
        if path not in self._referred:
            self._referred[path] = frozenset(_references((_at(self._root, path),)))
        return self._referred[path]


def _at(root: JsonObject, path: _Path) -> JsonValue:
    try:
        return follow(root, path)
    except (LookupError, ValueError):
        # What leads nowhere has a finding of its own.
        return None


def _references(values: Iterable[JsonValue]) -> Iterator[_Path]:
    """The places of the document that these values refer to."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            # What is no reference of this document has a finding of its own.
            with suppress(ValueError):
                if target := parse_reference(reference_of(value) or ""):
                    yield target
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
