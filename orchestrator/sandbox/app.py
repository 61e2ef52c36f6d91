"""The whole sandbox as one Starlette app: a service per document, and the witness's endpoints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount

from orchestrator.sandbox.control import control_routes
from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.faults import FaultPlan
from orchestrator.sandbox.playbook import Playbook
from orchestrator.sandbox.problems import DocumentError
from orchestrator.sandbox.provider import Provider
from orchestrator.sandbox.providers import STANDARD
from orchestrator.sandbox.remembered import DocumentMemory, memory_of
from orchestrator.sandbox.service import Service


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


def create_app(
    documents: Mapping[str, Mapping[str, Any] | Document],
    *,
    ledger: EffectLedger,
    faults: FaultPlan | None = None,
    clock: Callable[[], datetime] = utc_now,
    seed: int = 0,
    tokens: Collection[str] = (),
    playbook: Playbook = STANDARD,
    is_stocked: bool = False,
) -> Starlette:
    """An app that serves each document under its prefix, and itself under /_sandbox.

    Args:
        documents: OpenAPI documents by name, or what `read_document` made of them: reading is most
            of the work, and apps may share it.
        ledger: where everything that happens is kept.
        faults: planned faults; none by default.
        clock: says what time it is; must be in UTC.
        seed: of everything made up; the same seed and request give the same offers.
        tokens: the credentials that secured operations accept; empty accepts any.
        playbook: hand-written behaviour beside the generic one.
        is_stocked: whatever a request names by an id exists, though no list ever offered it.

    Raises:
        DocumentError: none of the documents has paths, or there is no place for one.
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
        service = Service(
            document, provider, ledger=ledger, faults=plan, clock=clock, tokens=tokens
        )
        routes.append(Mount(prefix, app=service))
    app = Starlette(routes=routes)
    app.state.memories = tuple(memories)
    return app


def memories_of(app: Starlette) -> tuple[DocumentMemory, ...]:
    """Where an app serves each of its documents, and what it remembers of each."""
    found: tuple[DocumentMemory, ...] = app.state.memories
    return found


def _has_paths(document: Mapping[str, Any] | Document) -> bool:
    return isinstance(document, Document) or isinstance(document.get("paths"), Mapping)


def _mounted(documents: list[Document]) -> dict[str, Document]:
    """Each document by its prefix; where another has it already, by its own name.

    The longest come first: one may begin like another.
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
