"""The whole sandbox as one Starlette app: a service per document, and the witness's endpoints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount

from orchestrator.sandbox.control import control_routes
from orchestrator.sandbox.documents import Document, DocumentError, read_document
from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.faults import FaultPlan
from orchestrator.sandbox.playbook import Playbook
from orchestrator.sandbox.provider import Provider
from orchestrator.sandbox.providers import STANDARD
from orchestrator.sandbox.service import Service


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


def create_app(
    documents: Mapping[str, Mapping[str, Any]],
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
        documents: OpenAPI documents by name.
        ledger: where everything that happens is kept.
        faults: planned faults; none by default.
        clock: says what time it is; must be in UTC.
        seed: of everything made up; the same seed and request give the same offers.
        tokens: the credentials that secured operations accept; empty accepts any.
        playbook: hand-written behaviour beside the generic one.
        is_stocked: whatever a request names by an id exists, though no list ever offered it.

    Raises:
        DocumentError: a document cannot be served, or two want the same prefix.
    """
    plan = faults or FaultPlan()
    read = [read_document(name, raw) for name, raw in documents.items()]
    _refuse_shared_prefixes(read)
    routes: list[BaseRoute] = [Mount("/_sandbox", routes=control_routes(ledger, plan))]
    for document in read:
        provider = Provider(document, ledger, playbook=playbook, seed=seed, is_stocked=is_stocked)
        service = Service(
            document, provider, ledger=ledger, faults=plan, clock=clock, tokens=tokens
        )
        routes.append(Mount(document.prefix, app=service))
    return Starlette(routes=routes)


def _refuse_shared_prefixes(documents: list[Document]) -> None:
    owners = {"/_sandbox": "the sandbox itself"}
    for document in documents:
        if document.prefix in owners:
            other = owners[document.prefix]
            raise DocumentError(
                f"{document.name} and {other} are both served under {document.prefix};"
                " give one of them another server path"
            )
        owners[document.prefix] = document.name
