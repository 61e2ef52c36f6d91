"""One document as an ASGI app: checks a request, injects the planned faults, does it, answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from orchestrator.sandbox.credential_check import check_credentials
from orchestrator.sandbox.documents import Document
from orchestrator.sandbox.effect_ledger import Cause, EffectLedger
from orchestrator.sandbox.faults import FaultPlan, FaultRule, InjectedFault
from orchestrator.sandbox.problems import RequestRefused
from orchestrator.sandbox.provider import Provider
from orchestrator.sandbox.provider_call import Call, ProviderAnswer, timestamp
from orchestrator.sandbox.request_validation import RequestValidator
from orchestrator.sandbox.served_operations import OperationKind, ServedOperation
from orchestrator.sandbox.synthesis import UnsupportedSchema

DROP = "sandbox.drop"


class _Visit(NamedTuple):
    """One request to an operation; path is what follows the document's prefix."""

    operation: ServedOperation
    request: Request
    path: str
    body: bytes

    def cause(self, arguments: Mapping[str, Any]) -> Cause:
        """Who asks, from the headers and from the reference among the arguments."""
        headers = self.request.headers
        reference = arguments.get("client_reference")
        key = headers.get("idempotency-key") or headers.get("x-idempotency-key")
        return Cause(
            idempotency_key=key or None,
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
        tokens: Collection[str],
    ) -> None:
        self._document = document
        self._provider = provider
        self._validator = RequestValidator(document)
        self._ledger = ledger
        self._faults = faults
        self._clock = clock
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or close its connection."""
        request = Request(scope, receive)
        body = await request.body()
        path = scope["path"][len(scope.get("root_path", "")) :] or "/"
        found = self._document.match(request.method, path)
        if found is None:
            await self._not_found(request.method, path).to_response()(scope, receive, send)
            return
        response = await self._handle(_Visit(found[0], request, path, body))
        if response is None:
            await _drop(scope, receive)
        else:
            await response(scope, receive, send)

    def _not_found(self, method: str, path: str) -> RequestRefused:
        methods = self._document.methods(path)
        if not methods:
            return RequestRefused(404, f"{self._document.name} has no path {path}.")
        allow = ", ".join(sorted(set(methods)))
        return RequestRefused(405, f"{path} takes {allow}, not {method}.", headers={"Allow": allow})

    async def _handle(self, visit: _Visit) -> Response | None:
        """The response, or None when the connection is to be closed without one."""
        operation = visit.operation
        fault = self._faults.draw(
            operation.operation_id,
            is_cancel=operation.kind is OperationKind.CANCEL,
            request_id=visit.request.headers.get("x-request-id"),
        )
        if fault.delay_s:
            await asyncio.sleep(fault.delay_s)
        refusal = _refusal_before(operation, fault.rule)
        if refusal:
            return self._refuse(visit, refusal, fault)
        if fault.rule and fault.rule.kind == "drop_before":
            self._record(visit, None, fault)
            return None
        response = self._perform(visit, fault)
        if fault.rule and fault.rule.kind == "duplicate":
            self._perform(visit, fault)
        return response

    def _perform(self, visit: _Visit, fault: InjectedFault) -> Response | None:
        """Do what is asked, and answer as the fault lets it."""
        rule = fault.rule
        try:
            answer = self._answer(visit, fault)
        except RequestRefused as problem:
            if rule is None or rule.kind == "duplicate":
                return self._refuse(visit, problem, fault)
            self._record(visit, _status_seen(rule, problem.status), fault)
        else:
            if rule is None or rule.kind == "duplicate":
                return _response(answer)
        return _failed(rule).to_response() if rule.kind == "status_after" else None

    def _answer(self, visit: _Visit, fault: InjectedFault) -> ProviderAnswer:
        """Check the request, do it, and record it with its effect in one transaction.

        Raises:
            RequestRefused: credentials are missing, the request does not follow the document, the
                provider refuses, or no answer can be made up from the schema.
        """
        operation, request = visit.operation, visit.request
        check_credentials(self._document, operation, request, tokens=self._tokens)
        arguments = self._validator.arguments(operation, request, visit.path, visit.body)
        call = Call(operation, arguments, visit.cause(arguments), self._clock())
        try:
            with self._ledger.database.transaction():
                answer = self._provider.answer(call)
                seen = _status_seen(fault.rule, answer.status)
                self._record(visit, seen, fault, cause=call.cause, replayed=answer.replayed)
        except UnsupportedSchema as exc:
            raise RequestRefused(501, f"{operation.operation_id}: {exc}") from exc
        except RecursionError as exc:
            reason = f"{operation.operation_id}: the schema of its answer is part of itself"
            raise RequestRefused(501, reason) from exc
        return answer

    def _refuse(self, visit: _Visit, problem: RequestRefused, fault: InjectedFault) -> Response:
        self._record(visit, problem.status, fault)
        return problem.to_response()

    def _record(
        self,
        visit: _Visit,
        status: int | None,
        fault: InjectedFault,
        *,
        cause: Cause | None = None,
        replayed: bool = False,
    ) -> None:
        """Write down that a request arrived; status is None when no answer leaves."""
        self._ledger.record_request(
            at=timestamp(self._clock()),
            provider=self._document.name,
            operation=visit.operation.operation_id,
            cause=cause or visit.cause({}),
            status=status,
            fault=fault.name,
            replayed=replayed,
        )


def _refusal_before(operation: ServedOperation, rule: FaultRule | None) -> RequestRefused | None:
    if rule is None:
        return None
    if rule.kind == "status_before":
        return _failed(rule)
    if rule.kind == "refuse_cancel":
        return RequestRefused(409, f"{operation.operation_id}: it can no longer be cancelled.")
    if rule.kind == "rate_limit":
        wait = 1 if rule.retry_after_s is None else rule.retry_after_s
        return RequestRefused(
            429, f"Too many requests; try again in {wait} s.", headers={"Retry-After": str(wait)}
        )
    return None


def _failed(rule: FaultRule) -> RequestRefused:
    wait = rule.retry_after_s
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return RequestRefused(rule.status, "The provider failed on purpose.", headers=headers)


def _status_seen(rule: FaultRule | None, status: int) -> int | None:
    if rule and rule.kind == "drop_after":
        return None
    return rule.status if rule and rule.kind == "status_after" else status


def _response(answer: ProviderAnswer) -> Response:
    replayed = {"Idempotent-Replayed": "true"} if answer.replayed else {}
    headers = {**answer.headers, **replayed}
    if answer.status == 204:
        return Response(status_code=204, headers=headers)
    return JSONResponse(answer.body, status_code=answer.status, headers=headers)


async def _drop(scope: Scope, receive: Receive) -> None:
    """Close the connection under the caller.

    Raises:
        ConnectionAbortedError: the app runs without a server whose connection could be closed.
    """
    drop = scope.get("state", {}).get(DROP)
    if drop is None:
        raise ConnectionAbortedError("dropped on purpose")
    drop()
    # Until the server has noticed, returning without an answer would make it send a 500.
    while (await receive())["type"] != "http.disconnect":
        pass
