"""The sandbox as one Starlette app: a service per document, and control endpoints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.faults import RULES, FaultPlan
from orchestrator.sandbox.playbook import STANDARD, Playbook
from orchestrator.sandbox.problems import (
    DocumentError,
    RequestRefused,
    UnservedOperation,
    Violation,
)
from orchestrator.sandbox.provider import Provider
from orchestrator.sandbox.served_operations import OperationKind, Position, ServedOperation
from orchestrator.sandbox.service import Service

ACTIONS = ("create", "list", "read", "change", "delete")


def utc_now() -> datetime:
    """Return the wall clock's time in UTC."""
    return datetime.now(UTC)


def create_app(
    documents: Mapping[str, Mapping[str, Any] | Document],
    *,
    ledger: EffectLedger,
    faults: FaultPlan | None = None,
    clock: Callable[[], datetime] = utc_now,
    seed: int = 0,
    playbook: Playbook = STANDARD,
    is_stocked: bool = False,
) -> Starlette:
    """Return an app that serves each document under its prefix, and itself under /_sandbox.

    Args:
        documents: OpenAPI documents by name, or the results of `read_document`: reading is most of
            the work, and apps may share it.
        ledger: records every request and effect.
        faults: planned faults; none by default.
        clock: returns the current time in UTC.
        seed: seeds all random values; equal seeds and requests give equal offers.
        playbook: hand-written behaviour in addition to the generic one.
        is_stocked: every id in a request exists, even if no list ever offered it.

    Raises:
        DocumentError: none of the documents has paths, or two claim the same prefix.
    """
    plan = faults or FaultPlan()
    if documents and not any(map(_has_paths, documents.values())):
        named = ", ".join(map(repr, documents))
        raise DocumentError(f"there are no paths in {named}, so there is nothing to serve")
    mounted = _mounted(
        [
            one if isinstance(one, Document) else read_document(n, one)
            for n, one in documents.items()
        ]
    )
    memories = [memory_of(document, prefix) for prefix, document in mounted.items()]
    routes: list[BaseRoute] = [Mount("/_sandbox", routes=control_routes(ledger, plan, memories))]
    for prefix, document in mounted.items():
        provider = Provider(document, ledger, playbook=playbook, seed=seed, is_stocked=is_stocked)
        service = Service(document, provider, ledger=ledger, faults=plan, clock=clock)
        routes.append(Mount(prefix, app=service))
    app = Starlette(routes=routes)
    app.state.memories = tuple(memories)
    return app


def memories_of(app: Starlette) -> tuple[DocumentMemory, ...]:
    """Return an app's mounted documents, with the resources that it remembers of each."""
    found: tuple[DocumentMemory, ...] = app.state.memories
    return found


def _has_paths(document: Mapping[str, Any] | Document) -> bool:
    return isinstance(document, Document) or isinstance(document.get("paths"), Mapping)


def _mounted(documents: list[Document]) -> dict[str, Document]:
    """Return each document by its prefix, or by its own name if the prefix is taken.

    The longest prefixes come first, as one may begin like another.
    """
    owners: dict[str, Document] = {}
    for document in documents:
        wanted = (document.prefix, f"/{document.name}")
        free = (path for path in wanted if path not in owners and path != "/_sandbox")
        prefix = next(free, None)
        if prefix is None:
            raise DocumentError(
                f"the paths {' and '.join(wanted)} are both taken; rename {document.name}"
            )
        owners[prefix] = document
    return dict(sorted(owners.items(), key=lambda owner: -len(owner[0])))


def control_routes(
    ledger: EffectLedger, faults: FaultPlan, memories: Sequence[DocumentMemory] = ()
) -> list[Route]:
    """Return the control routes; those that read the ledger take ?mission=ID."""
    control = _Control(ledger, faults, memories)
    return [
        Route("/documents", control.documents),
        Route("/health", control.health),
        Route("/ledger", control.ledger),
        Route("/live", control.live),
        Route("/duplicates", control.duplicates),
        Route("/faults", control.faults),
        Route("/faults", control.set_faults, methods=["PUT", "POST"]),
        Route("/faults", control.clear_faults, methods=["DELETE"]),
    ]


class _Control:
    def __init__(
        self, ledger: EffectLedger, faults: FaultPlan, memories: Sequence[DocumentMemory]
    ) -> None:
        self._ledger = ledger
        self._faults = faults
        self._memories = memories

    async def documents(self, request: Request) -> JSONResponse:
        return JSONResponse({"documents": [memory.to_json() for memory in self._memories]})

    async def health(self, request: Request) -> JSONResponse:
        return JSONResponse({"healthy": True})

    async def ledger(self, request: Request) -> JSONResponse:
        mission_id = _mission(request)
        effects = [effect.to_json() for effect in self._ledger.effects(mission_id)]
        requests = [record.to_json() for record in self._ledger.requests(mission_id)]
        return JSONResponse({"effects": effects, "requests": requests})

    async def live(self, request: Request) -> JSONResponse:
        live = [effect.to_json() for effect in self._ledger.live(_mission(request))]
        return JSONResponse({"live": live})

    async def duplicates(self, request: Request) -> JSONResponse:
        found = [twice.to_json() for twice in self._ledger.duplicates(_mission(request))]
        return JSONResponse({"duplicates": found})

    async def faults(self, request: Request) -> JSONResponse:
        return JSONResponse(self._faults.to_json(request.query_params.get("request_prefix", "")))

    async def set_faults(self, request: Request) -> Response:
        try:
            sent = await request.json()
        except ValueError:
            sent = None
        plan = sent if isinstance(sent, dict) else {"rules": sent}
        try:
            rules = RULES.validate_python(plan.get("rules", []))
            seed = None if plan.get("seed") is None else int(plan["seed"])
        except (ValidationError, ValueError, TypeError) as exc:
            return _bad_rules(exc).to_response()
        if request.method == "POST":
            self._faults.add(rules)
        else:
            self._faults.replace(rules, seed=seed)
        return JSONResponse(self._faults.to_json())

    async def clear_faults(self, request: Request) -> JSONResponse:
        self._faults.clear()
        return JSONResponse(self._faults.to_json())


def _mission(request: Request) -> str | None:
    return request.query_params.get("mission") or None


def _bad_rules(error: Exception) -> RequestRefused:
    if not isinstance(error, ValidationError):
        return RequestRefused(422, f"These are no fault rules: {error}")
    violations = [
        Violation(".".join(str(part) for part in line["loc"]) or "body", line["msg"])
        for line in error.errors()
    ]
    return RequestRefused(422, "These are no fault rules.", violations=violations)


@dataclass(frozen=True)
class KindMemory:
    """A kind of resource and the operations on it, by action."""

    thing: str
    path: str
    operations: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class DocumentMemory:
    """A mounted document: its path, its remembered resources and the operations not served."""

    document: str
    path: str
    served: int
    kinds: tuple[KindMemory, ...]
    unremembered: tuple[str, ...]
    """Operations that are answered but store nothing that another operation could find."""
    skipped: tuple[UnservedOperation, ...]
    names: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return the same as JSON."""
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
    """Return the remembered resources of a document that is mounted at this path."""
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    labels: dict[str, str] = {}
    others: list[str] = []
    for operation in document.operations:
        place = document.kind_place(operation)
        action = action_of(operation)
        if place is None or action is None:
            others.append(operation.operation_id)
            continue
        labels[place.things] = place.label
        found[place.things].setdefault(action, []).append(operation.operation_id)
    kinds = [
        KindMemory(labels[things], things, {a: actions[a] for a in ACTIONS if a in actions})
        for things, actions in found.items()
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


def action_of(operation: ServedOperation) -> str | None:
    """Return the action of an operation on the resources of its path; None without one."""
    match operation.kind:
        case OperationKind.CREATE:
            return "create"
        case OperationKind.CANCEL:
            return "delete"
        case OperationKind.UPDATE:
            return "change"
    is_one = operation.place is not None and operation.place.position is Position.ONE
    return "list" if operation.list_name is not None else "read" if is_one else None
