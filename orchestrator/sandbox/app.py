"""The sandbox as one Starlette app: a service per document, and control endpoints."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from orchestrator.sandbox.document_reading import read_document
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.effect_ledger import Cause, EffectLedger
from orchestrator.sandbox.faults import RULES, FaultPlan, FaultRule, InjectedFault
from orchestrator.sandbox.playbook import STANDARD, Call, Playbook, ProviderAnswer, timestamp
from orchestrator.sandbox.problems import (
    DocumentError,
    RequestRefused,
    UnservedOperation,
    Violation,
)
from orchestrator.sandbox.provider import Provider
from orchestrator.sandbox.request_validation import RequestValidator, sent_path
from orchestrator.sandbox.served_operations import (
    OperationKind,
    Position,
    ServedOperation,
    id_names,
    is_key,
)
from orchestrator.sandbox.synthesis import UnsupportedSchema
from orchestrator.sandbox.wire_values import (
    BODILESS,
    answer_response,
    break_off,
    broken_success,
    drop,
    gateway_page,
    refusal_response,
)

_log = logging.getLogger(__name__)
_BROKEN_OFF = frozenset({"truncate", "cut_chunk"})
_UNREPORTED = frozenset({"status_after", "drop_after", "refuse_repeat"})
"""Kinds that hide the outcome from the caller."""
_UNANSWERED = frozenset({"drop_after", "refuse_repeat"}) | _BROKEN_OFF


class _Visit(NamedTuple):
    """A request to an operation; path is the path after the document's prefix."""

    operation: ServedOperation
    request: Request
    path: str
    body: bytes

    def cause(self, arguments: Mapping[str, Any]) -> Cause:
        headers = self.request.headers
        reference = arguments.get("client_reference")
        named = str(self.operation.raw.get("x-orchet-idempotency-key", "")).lower()
        sent = [*headers.items(), *arguments.items()]
        keys = (
            v for n, v in sent if v and isinstance(v, str) and (is_key(n) or n.lower() == named)
        )
        return Cause(
            idempotency_key=next(keys, None),
            request_id=headers.get("x-request-id") or None,
            client_reference=reference if isinstance(reference, str) else None,
        )


class Service:
    """Serves one document; requests are handled one at a time, so none sees half an effect."""

    def __init__(
        self,
        document: Document,
        provider: Provider,
        *,
        ledger: EffectLedger,
        faults: FaultPlan,
        clock: Callable[[], datetime],
    ) -> None:
        self._document = document
        self._provider = provider
        self._validator = RequestValidator(document)
        self._ledger = ledger
        self._faults = faults
        self._now = clock
        self._first_ids: dict[tuple[str, str], Mapping[str, Any]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or close its connection."""
        request = Request(scope, receive)
        body = await request.body()
        path = sent_path(scope)
        found = self._document.candidates(request.method, path, dict(request.query_params))
        if not found:
            allow = ", ".join(sorted(set(self._document.methods(path))))
            refused = RequestRefused(404, f"{self._document.name} has no path {path}.")
            if allow:
                detail = f"{path} takes {allow}, not {request.method}."
                refused = RequestRefused(405, detail, headers={"Allow": allow})
            await refused.to_response()(scope, receive, send)
            return
        called = found[0]
        for operation in found if len(found) > 1 else ():
            with suppress(RequestRefused):
                self._validator.arguments(operation, request, path, body)
                called = operation
                break
        visit = _Visit(called, request, path, body)
        fault = self._faults.draw(
            called.operation_id,
            role=self._document.role(called),
            request_id=request.headers.get("x-request-id"),
        )
        kind = fault.rule.kind if fault.rule else None
        response = await self._handle(visit, fault)
        if response is None:
            await drop(scope, receive)
        elif kind in _BROKEN_OFF and response.status_code < 300:
            in_chunk = kind == "cut_chunk"
            await break_off(response, scope, receive, send, in_chunk=in_chunk)
        else:
            await response(scope, receive, send)

    async def _handle(self, visit: _Visit, fault: InjectedFault) -> Response | None:
        """Return the response, or None if the connection must be closed without one."""
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        rule, status = fault.rule, visit.operation.success_status
        if rule and rule.kind.startswith("breach") and status in BODILESS:
            # A broken body where the document declares none could only lie: no caller can notice
            # it and no document can prevent it.
            fault, rule = replace(fault, rule=None), None
        if rule is None:
            return self._perform(visit, fault)
        refusal = _refusal_before(visit.operation, rule, is_repeat=fault.is_repeat)
        if refusal:
            return self._refuse(visit, refusal, fault)
        if rule.kind == "drop_before":
            self._record(visit, None, fault)
            return None
        if rule.kind == "gateway":
            self._record(visit, rule.status, fault)
            return gateway_page(rule.status)
        if rule.kind == "breach_before" and rule.breach in ("html", "error"):
            self._record(visit, status, fault)
            return broken_success(rule.breach, status)
        response = self._perform(visit, fault, is_kept=rule.kind != "breach_before")
        if rule.kind == "duplicate":
            self._perform(visit, fault)
        if rule.kind == "late_duplicate":
            asyncio.get_running_loop().call_later(rule.delay_s, self._perform, visit, fault)
        return response

    def _perform(
        self, visit: _Visit, fault: InjectedFault, *, is_kept: bool = True
    ) -> Response | None:
        rule = fault.rule
        is_reported = rule is None or rule.kind not in _UNREPORTED
        try:
            answer = self._answer(visit, fault, is_kept=is_kept)
        except RequestRefused as problem:
            if is_reported:
                return self._refuse(visit, problem, fault)
            self._record(visit, _status_seen(rule, problem.status), fault)
        else:
            mission = visit.request.headers.get("x-request-id", "").partition(".")[0]
            body = answer.body if isinstance(answer.body, Mapping) else {}
            ids = {name: body[name] for name in id_names(body)}
            earlier = self._first_ids.setdefault((visit.operation.operation_id, mission), ids)
            if rule and rule.kind.startswith("breach"):
                return broken_success(rule.breach, answer.status, answer, earlier)
            if is_reported:
                return answer_response(visit.operation, answer, url=str(visit.request.url))
        is_status = rule is not None and rule.kind == "status_after"
        return _failed(rule).to_response() if rule and is_status else None

    def _answer(
        self, visit: _Visit, fault: InjectedFault, *, is_kept: bool = True
    ) -> ProviderAnswer:
        """Validate, perform and record a request with its effect in one transaction.

        If `is_kept` is False, the request is rolled back after its answer is made.

        Raises:
            RequestRefused: credentials are missing, the request does not follow the document, the
                provider refuses, or no answer can be generated from the schema.
        """
        operation, request = visit.operation, visit.request
        _check_credentials(self._document, operation, request)
        arguments = self._validator.arguments(operation, request, visit.path, visit.body)
        call = Call(operation, arguments, visit.cause(arguments), self._now(), fault.surcharge)
        if fault.rule is not None and fault.rule.kind == "moved_version":
            with self._ledger.database.transaction():
                self._provider.move_version(call)

        def record(answer: ProviderAnswer) -> None:
            seen = _status_seen(fault.rule, answer.status)
            self._record(visit, seen, fault, call=call, replayed=answer.replayed)

        try:
            with self._ledger.database.transaction(is_kept=is_kept):
                answer = self._provider.answer(call)
                if is_kept:
                    record(answer)
            if not is_kept:
                record(answer)
        except UnsupportedSchema as exc:
            raise RequestRefused(501, f"{operation.operation_id}: {exc}") from exc
        except RecursionError as exc:
            reason = f"{operation.operation_id}: the schema of its answer is part of itself"
            raise RequestRefused(501, reason) from exc
        return answer

    def _refuse(self, visit: _Visit, problem: RequestRefused, fault: InjectedFault) -> Response:
        self._record(visit, problem.status, fault)
        return refusal_response(self._document, visit.operation, problem, now=self._now())

    def _record(
        self,
        visit: _Visit,
        status: int | None,
        fault: InjectedFault,
        *,
        call: Call | None = None,
        replayed: bool = False,
    ) -> None:
        """Record that a request arrived; status is None when no answer is sent."""
        self._ledger.record_request(
            at=timestamp(self._now()),
            provider=self._document.name,
            operation=visit.operation.operation_id,
            cause=call.cause if call else visit.cause({}),
            arguments=call.arguments if call else None,
            status=status,
            fault=fault.name,
            replayed=replayed,
        )
        answered = "no answer" if status is None else status
        planned = f", as planned: {fault.name}" if fault.name else ""
        again = ", replayed" if replayed else ""
        _log.info("%s: %s%s%s", visit.operation.operation_id, answered, planned, again)


def _refusal_before(
    operation: ServedOperation, rule: FaultRule, *, is_repeat: bool
) -> RequestRefused | None:
    if rule.kind == "status_before" or is_repeat:
        return _failed(rule)
    if rule.kind == "refuse_cancel":
        return RequestRefused(409, f"{operation.operation_id}: it can no longer be cancelled.")
    if rule.kind == "rate_limit":
        wait = 1 if rule.retry_after_s is None else rule.retry_after_s
        status = 403 if rule.status == 403 else 429
        why = f"Too many requests; try again in {wait} s."
        return RequestRefused(status, why, headers={"Retry-After": str(wait)})
    return None


def _failed(rule: FaultRule) -> RequestRefused:
    wait = rule.retry_after_s
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return RequestRefused(rule.status, "The provider failed on purpose.", headers=headers)


def _status_seen(rule: FaultRule | None, status: int) -> int | None:
    if rule and rule.kind in _UNANSWERED:
        return None
    return rule.status if rule and rule.kind == "status_after" else status


def _check_credentials(document: Document, operation: ServedOperation, request: Request) -> None:
    """Check that the credentials of one security alternative are present; any value is accepted.

    Raises:
        RequestRefused: 401; a credential is missing.
    """
    alternatives = operation.raw.get("security", document.raw.get("security")) or []
    schemes = document.raw.get("components", {}).get("securitySchemes", {})

    def is_given(name: str) -> bool:
        scheme = schemes.get(name, {})
        if scheme.get("type") == "apiKey":
            places = {"query": request.query_params, "cookie": request.cookies}
            values = places.get(str(scheme.get("in")), request.headers)
            return bool(values.get(str(scheme.get("name"))))
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        # OAuth 2 and OpenID Connect end in a bearer token.
        wanted = str(scheme.get("scheme", "bearer")).lower()
        return kind.lower() == wanted and bool(value.strip())

    if alternatives and not any(all(map(is_given, needed)) for needed in alternatives):
        wanted = " or ".join(" and ".join(alternative) for alternative in alternatives)
        raise RequestRefused(
            401,
            f"{operation.operation_id} needs the credential {wanted}; it is missing.",
            headers={"WWW-Authenticate": "Bearer"},
        )


_ACTIONS = {
    OperationKind.CREATE: "create",
    OperationKind.CANCEL: "delete",
    OperationKind.UPDATE: "change",
}


def create_app(
    documents: Mapping[str, Mapping[str, Any] | Document],
    *,
    ledger: EffectLedger,
    faults: FaultPlan | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
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
    if documents and not any(
        isinstance(one, Document) or isinstance(one.get("paths"), Mapping)
        for one in documents.values()
    ):
        named = ", ".join(map(repr, documents))
        raise DocumentError(f"there are no paths in {named}, so there is nothing to serve")
    owners: dict[str, Document] = {}
    for name, one in documents.items():
        document = one if isinstance(one, Document) else read_document(name, one)
        wanted = (document.prefix, f"/{document.name}")
        free = (path for path in wanted if path not in owners and path != "/_sandbox")
        prefix = next(free, None)
        if prefix is None:
            raise DocumentError(
                f"the paths {' and '.join(wanted)} are both taken; rename {document.name}"
            )
        owners[prefix] = document
    # The longest prefixes come first, as one may begin like another.
    mounted = sorted(owners.items(), key=lambda owner: -len(owner[0]))
    memories = tuple(memory_of(document, prefix) for prefix, document in mounted)
    routes: list[BaseRoute] = [Mount("/_sandbox", routes=_control_routes(ledger, plan, memories))]
    for prefix, document in mounted:
        provider = Provider(document, ledger, playbook=playbook, seed=seed, is_stocked=is_stocked)
        service = Service(document, provider, ledger=ledger, faults=plan, clock=clock)
        routes.append(Mount(prefix, service))
    app = Starlette(routes=routes)
    app.state.memories = memories
    return app


def memories_of(app: Starlette) -> tuple[DocumentMemory, ...]:
    """Return an app's mounted documents, with the resources that it remembers of each."""
    found: tuple[DocumentMemory, ...] = app.state.memories
    return found


def _control_routes(
    ledger: EffectLedger, faults: FaultPlan, memories: Sequence[DocumentMemory]
) -> list[Route]:
    """Return the control routes; those that read the ledger take ?mission=ID."""

    def mission(request: Request) -> str | None:
        return request.query_params.get("mission") or None

    async def documents(request: Request) -> JSONResponse:
        return JSONResponse({"documents": [memory.to_json() for memory in memories]})

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"healthy": True})

    async def everything(request: Request) -> JSONResponse:
        effects = [effect.to_json() for effect in ledger.effects(mission(request))]
        requests = [record.to_json() for record in ledger.requests(mission(request))]
        return JSONResponse({"effects": effects, "requests": requests})

    async def live(request: Request) -> JSONResponse:
        return JSONResponse({"live": [one.to_json() for one in ledger.live(mission(request))]})

    async def duplicates(request: Request) -> JSONResponse:
        found = [twice.to_json() for twice in ledger.duplicates(mission(request))]
        return JSONResponse({"duplicates": found})

    async def planned(request: Request) -> JSONResponse:
        return JSONResponse(faults.to_json(request.query_params.get("request_prefix", "")))

    async def set_faults(request: Request) -> Response:
        try:
            sent = await request.json()
        except ValueError:
            sent = None
        plan = sent if isinstance(sent, dict) else {"rules": sent}
        try:
            rules = RULES.validate_python(plan.get("rules", []))
            seed = None if plan.get("seed") is None else int(plan["seed"])
        except ValidationError as exc:
            violations = [
                Violation(".".join(str(part) for part in line["loc"]) or "body", line["msg"])
                for line in exc.errors()
            ]
            why = "These are no fault rules."
            return RequestRefused(422, why, violations=violations).to_response()
        except (ValueError, TypeError) as exc:
            return RequestRefused(422, f"These are no fault rules: {exc}").to_response()
        if request.method == "POST":
            faults.add(rules)
        else:
            faults.replace(rules, seed=seed)
        return JSONResponse(faults.to_json())

    async def clear_faults(request: Request) -> JSONResponse:
        faults.clear()
        return JSONResponse(faults.to_json())

    return [
        Route("/documents", documents),
        Route("/health", health),
        Route("/ledger", everything),
        Route("/live", live),
        Route("/duplicates", duplicates),
        Route("/faults", planned),
        Route("/faults", set_faults, methods=["PUT", "POST"]),
        Route("/faults", clear_faults, methods=["DELETE"]),
    ]


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
        action = _ACTIONS.get(operation.kind)
        if action is None and operation.list_name is not None:
            action = "list"
        elif action is None and operation.place and operation.place.position is Position.ONE:
            action = "read"
        if place is None or action is None:
            others.append(operation.operation_id)
            continue
        labels[place.things] = place.label
        found[place.things].setdefault(action, []).append(operation.operation_id)
    order = ("create", "list", "read", "change", "delete")
    kinds = [
        KindMemory(labels[things], things, {a: actions[a] for a in order if a in actions})
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
