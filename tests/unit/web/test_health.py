"""Probes, metrics and spans of `serve`: what they show, and that they show no id and no query."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.settings import Settings
from orchestrator.web.health import ServerTelemetry, health_routes


@dataclass
class Temporal:
    """A server that answers, or does not."""

    is_away: bool = False
    asked: int = 0

    async def check_health(self, **_: object) -> bool:
        self.asked += 1
        if self.is_away:
            raise RPCError("gone from 10.0.0.7", RPCStatusCode.UNAVAILABLE, b"")
        return True


def client(temporal: Temporal, settings: Settings, metrics_text: Any = None) -> httpx.AsyncClient:
    connected = SimpleNamespace(temporal=SimpleNamespace(service_client=temporal))
    service: Any = SimpleNamespace(
        client=SimpleNamespace(connection=connected), settings=settings, metrics_text=metrics_text
    )
    app = Starlette(routes=health_routes(service))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://inbox")


async def test_it_is_ready_when_temporal_and_the_store_answer(tmp_path: Path) -> None:
    """Without sign-in or an address; it is alive without Temporal, whose address is logged."""
    async with client(Temporal(), Settings(state_dir=tmp_path)) as http:
        live, ready, metrics = [await http.get(p) for p in ("/healthz", "/readyz", "/metrics")]

    assert (live.status_code, live.json()) == (200, {"status": "alive"})
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "why_not": None})
    assert metrics.status_code == 404
    async with client(Temporal(is_away=True), Settings(state_dir=tmp_path)) as http:
        live, ready = [await http.get(path) for path in ("/healthz", "/readyz")]
    assert live.status_code == 200
    assert ready.status_code == 503
    assert ready.json() == {"ready": False, "why_not": "Temporal does not answer"}


async def test_it_is_not_ready_without_its_store(tmp_path: Path) -> None:
    """The password in the store's URL is not shown; metrics are there all the same."""
    store: Any = "postgresql://ana:secret@127.0.0.1:9/missions"
    settings, text = Settings(state_dir=tmp_path, store=store), (b"up 1\n", "text/plain")
    async with client(Temporal(), settings, metrics_text=lambda: text) as http:
        ready, metrics = await http.get("/readyz"), await http.get("/metrics")

    assert (ready.status_code, metrics.status_code, metrics.text) == (503, 200, "up 1\n")
    assert "store" in ready.json()["why_not"]
    assert "secret" not in ready.text


@dataclass
class Measured:
    """What was traced and measured."""

    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)

    def points(self) -> list[Any]:
        data = self.reader.get_metrics_data()
        scopes = [s for r in data.resource_metrics for s in r.scope_metrics] if data else []
        return [p for s in scopes for m in s.metrics for p in m.data.data_points]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    found = Measured()
    tracing, measuring = TracerProvider(), MeterProvider([found.reader])
    tracing.add_span_processor(SimpleSpanProcessor(found.spans))
    monkeypatch.setattr("orchestrator.web.health.trace.get_tracer", tracing.get_tracer)
    monkeypatch.setattr("orchestrator.web.health.metrics.get_meter", measuring.get_meter)
    return found


def app() -> Starlette:
    async def show(_: Request) -> Response:
        return PlainTextResponse("shown")

    async def fail(_: Request) -> Response:
        raise ValueError("ana@example.com has a secret")

    async def events(_: Request) -> Response:
        return StreamingResponse(iter([b"data: 1\n\n"]), media_type="text/event-stream")

    api = [Route("/missions/{mission_id}", show), Route("/events", events), Route("/fails", fail)]
    made = Starlette(routes=[Route("/", show), Mount("/api/v1", routes=api)])
    made.add_middleware(ServerTelemetry, routes=made.routes)
    return made


async def requested(*wanted: tuple[str, str]) -> list[int]:
    transport = httpx.ASGITransport(app(), raise_app_exceptions=False)
    headers = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    async with httpx.AsyncClient(transport=transport, base_url="http://inbox") as http:
        answers = [await http.request(method, path, headers=headers) for method, path in wanted]
    return [one.status_code for one in answers]


async def test_spans_are_named_by_templates_of_routes(measured: Measured) -> None:
    """No id, query, unknown path or unknown method is in a name or an attribute."""
    statuses = await requested(
        ("GET", "/"),
        ("GET", "/api/v1/missions/trip-ana?token=secret"),
        ("GET", "/ana/secret"),
        ("SECRET", "/"),
        ("GET", "/api/v1/fails"),
    )
    spans = measured.spans.get_finished_spans()

    assert statuses == [200, 200, 404, 405, 500]
    assert [span.name for span in spans] == [
        *("GET /", "GET /api/v1/missions/{mission_id}", "GET", "_OTHER /", "GET /api/v1/fails")
    ]
    assert [(s.attributes or {})["http.response.status_code"] for s in spans] == statuses
    assert {span.context.trace_id for span in spans if span.context} == {int("a" * 32, 16)}
    for word in ("ana", "secret", "SECRET"):
        assert word not in "".join(span.to_json() for span in spans)


async def test_durations_leave_out_event_streams(measured: Measured) -> None:
    """A stream that stays open for hours is no slow request."""
    await requested(("GET", "/api/v1/events"), ("GET", "/api/v1/missions/x"))

    assert [dict(point.attributes) for point in measured.points()] == [
        {
            "http.request.method": "GET",
            "http.route": "/api/v1/missions/{mission_id}",
            "http.response.status_code": 200,
        }
    ]
