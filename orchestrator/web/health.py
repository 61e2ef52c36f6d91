"""Health, readiness, metrics and spans of `serve`: /healthz, /readyz and /metrics, without sign-in.

They show whether the process, Temporal and the store answer, and figures by route; no ids.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from temporalio.service import RPCError

from orchestrator.adapters.telemetry import conventions
from orchestrator.adapters.telemetry.instruments import SCOPE
from orchestrator.client.stores import store_of
from orchestrator.core.errors import OrchestratorError
from orchestrator.runtime.health_server import probe_routes
from orchestrator.web.web_service import Service

if TYPE_CHECKING:
    from orchestrator.adapters.storage.store import Store

_METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "QUERY"}
)
_SERVER_ERROR: Final = 500


class Readiness:
    """Asks Temporal and the store whether they answer; one question at a time for all callers."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._asking: asyncio.Task[str | None] | None = None
        self._store: Store | None = None

    async def hindrance(self) -> str | None:
        """Return why people cannot be served now; None: they can."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asking)

    async def _ask(self) -> str | None:
        """Return what does not answer; the address and password of a store are not shown."""
        server, within_s = self._service.client.connection.temporal.service_client, 2.0
        answers = await asyncio.gather(
            server.check_health(timeout=timedelta(seconds=within_s)),
            asyncio.wait_for(asyncio.to_thread(self._ask_store), within_s),
            return_exceptions=True,
        )
        for answer, problem in zip(answers, ("Temporal", "the store"), strict=True):
            if isinstance(answer, TimeoutError):
                return f"{problem} has not answered within {within_s:.0f} s"
            if isinstance(answer, RPCError | RuntimeError | OrchestratorError | OSError):
                return f"{problem} does not answer"
            if isinstance(answer, BaseException):
                raise answer
        return None

    def _ask_store(self) -> None:
        if self._store is None:
            self._store = store_of(self._service.settings)
        self._store.check()


def health_routes(service: Service) -> list[Route]:
    """Return the routes for probes and scrapers."""
    return probe_routes(Readiness(service).hindrance, metrics=service.metrics_text)


def route_template(routes: Iterable[BaseRoute], scope: Scope) -> str:
    """Return the template of the route that a request is for; empty if there is none.

    Example: `/api/v1/missions/{mission_id}`
    """
    for route in routes:
        matched, child = route.matches(scope)
        if matched is Match.NONE:
            continue
        if isinstance(route, Mount):
            inner = route_template(route.routes, {**scope, **child})
            return f"{route.path}{inner}" if inner else ""
        return str(getattr(route, "path", ""))
    return ""


class ServerTelemetry:
    """ASGI middleware: a span and a duration for each request, by the template of its route.

    Neither holds a path, a query, a header or a person, which may be personal or secret. Without a
    provider of telemetry it costs a few microseconds.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app, self._routes = app, routes
        self._tracer = trace.get_tracer(SCOPE)
        measured = conventions.SERVER_DURATION
        self._durations = metrics.get_meter(SCOPE).create_histogram(
            measured.name,
            unit=measured.unit,
            description=measured.means,
            explicit_bucket_boundaries_advisory=measured.buckets,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and measure it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        template = route_template(self._routes, scope)
        known = {"http.request.method": method, **({"http.route": template} if template else {})}
        status, is_stream = _SERVER_ERROR, False

        async def noting(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                heads = message.get("headers", ())
                is_stream = any(
                    k == b"content-type" and b"text/event-stream" in v for k, v in heads
                )
            await send(message)

        trace_names = (b"traceparent", b"tracestate")
        heads = [(k.decode(), v.decode("latin-1")) for k, v in scope["headers"] if k in trace_names]
        began = time.perf_counter()
        with self._tracer.start_as_current_span(
            f"{method} {template}".rstrip(),
            context=TraceContextTextMapPropagator().extract(dict(heads)),
            kind=SpanKind.SERVER,
            attributes=known,
            record_exception=False,  # its text may quote what a person wrote
            set_status_on_exception=False,
        ) as span:
            try:
                await self._app(scope, receive, noting)
            finally:
                span.set_attribute("http.response.status_code", status)
                if status >= _SERVER_ERROR:
                    span.set_status(Status(StatusCode.ERROR))
                if not is_stream:
                    ended = {**known, "http.response.status_code": status}
                    self._durations.record(time.perf_counter() - began, ended)
