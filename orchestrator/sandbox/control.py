"""The endpoints under /_sandbox: asking the witness, and planning faults."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from orchestrator.sandbox.effect_ledger import EffectLedger
from orchestrator.sandbox.faults import RULES, FaultPlan
from orchestrator.sandbox.problems import RequestRefused, Violation
from orchestrator.sandbox.remembered import DocumentMemory


def control_routes(
    ledger: EffectLedger, faults: FaultPlan, memories: Sequence[DocumentMemory] = ()
) -> list[Route]:
    """The routes; each that reads the ledger takes ?mission=ID."""
    control = _Control(ledger, faults, memories)
    return [
        Route("/documents", control.documents),
        Route("/health", control.health),
        Route("/ledger", control.ledger),
        Route("/live", control.live),
        Route("/duplicates", control.duplicates),
        Route("/faults", control.faults),
        Route("/faults", control.set_faults, methods=["PUT"]),
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
