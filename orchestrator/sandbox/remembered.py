"""What the sandbox remembers of a document: which operations make, list, read, change, end what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.places import Position
from orchestrator.sandbox.problems import UnservedOperation
from orchestrator.sandbox.served_operations import OperationKind, ServedOperation

DEEDS = ("create", "list", "read", "change", "delete")


@dataclass(frozen=True)
class KindMemory:
    """One kind of thing, and the operations about it, by what they do."""

    thing: str
    path: str
    operations: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class DocumentMemory:
    """Where a document is mounted, what is remembered of it, and what of it is not served."""

    document: str
    path: str
    served: int
    kinds: tuple[KindMemory, ...]
    unremembered: tuple[str, ...]
    """Operations that are answered, and leave nothing behind that another one could find."""
    skipped: tuple[UnservedOperation, ...]
    names: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    """What each operation is called here, by its method and path."""

    def to_json(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "document": self.document,
            "path": self.path,
            "operations": self.served,
            "remembers": [
                {"thing": kind.thing, "path": kind.path, **kind.operations} for kind in self.kinds
            ],
            "unremembered": list(self.unremembered),
            "skipped": [skipped._asdict() for skipped in self.skipped],
        }


def memory_of(document: Document, path: str) -> DocumentMemory:
    """What is remembered of a document that is mounted at this path."""
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    labels: dict[str, str] = {}
    others: list[str] = []
    for operation in document.operations:
        place = document.kind_place(operation)
        deed = deed_of(operation)
        if place is None or deed is None:
            others.append(operation.operation_id)
            continue
        labels[place.things] = place.label
        found[place.things].setdefault(deed, []).append(operation.operation_id)
    kinds = [
        KindMemory(labels[things], things, {d: deeds[d] for d in DEEDS if d in deeds})
        for things, deeds in found.items()
    ]
    return DocumentMemory(
        document.name,
        path,
        len(document.operations),
        tuple(kinds),
        tuple(others),
        document.skipped,
        {(o.method.upper(), o.path): o.operation_id for o in document.operations},
    )


def deed_of(operation: ServedOperation) -> str | None:
    """What an operation does to the things of its path; None when it only tells of something."""
    match operation.kind:
        case OperationKind.CREATE:
            return "create"
        case OperationKind.CANCEL:
            return "delete"
        case OperationKind.UPDATE:
            return "change"
    is_one = operation.place is not None and operation.place.position is Position.ONE
    return "list" if operation.list_name is not None else "read" if is_one else None
