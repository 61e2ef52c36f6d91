"""A collector on loopback: takes OTLP over HTTP, decodes it, and keeps all of it."""

import gzip
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue


@dataclass(frozen=True)
class SeenSpan:
    """A span as it arrived."""

    name: str
    service: str
    scope: str
    """The library that made it."""
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    attributes: dict[str, Any]
    is_error: bool


@dataclass
class OtlpReceiver:
    """Listens while it is open; what arrived can be read at any time."""

    spans: list[SeenSpan] = field(default_factory=list, repr=False)
    points: dict[str, list[dict[str, Any]]] = field(default_factory=dict, repr=False)
    """By the name of the measurement, the attributes and the figure of every point."""
    units: dict[str, str] = field(default_factory=dict, repr=False)
    bodies: list[bytes] = field(default_factory=list, repr=False)
    """All that was sent, unpacked: what is planted must be in none."""

    def __enter__(self) -> Self:
        """Listen on a free port."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.take(self.path, body)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """For OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def variables(self) -> dict[str, str]:
        """An environment in which a process tells all it has, soon."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_BSP_SCHEDULE_DELAY": "200",
            "OTEL_METRIC_EXPORT_INTERVAL": "500",
        }

    def take(self, path: str, body: bytes) -> None:
        """Take one request."""
        self.bodies.append(body)
        if path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self._take_points(ExportMetricsServiceRequest.FromString(body))

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for group in request.resource_spans:
            service = str(_attributes(group.resource.attributes)["service.name"])
            for scope, span in (
                (one.scope.name, s) for one in group.scope_spans for s in one.spans
            ):
                self.spans.append(
                    SeenSpan(
                        name=span.name,
                        service=service,
                        scope=scope,
                        trace_id=span.trace_id.hex(),
                        span_id=span.span_id.hex(),
                        parent_id=span.parent_span_id.hex(),
                        kind=span.kind,
                        attributes=_attributes(span.attributes),
                        is_error=span.status.code == 2,
                    )
                )

    def _take_points(self, request: ExportMetricsServiceRequest) -> None:
        for metric in (
            metric
            for group in request.resource_metrics
            for scope in group.scope_metrics
            for metric in scope.metrics
        ):
            self.units[metric.name] = metric.unit
            kind = metric.WhichOneof("data") or ""
            for point in getattr(metric, kind).data_points:
                figure = point.count if kind == "histogram" else point.as_int or point.as_double
                told = {**_attributes(point.attributes), "figure": figure}
                self.points.setdefault(metric.name, []).append(told)

    def trace(self, trace_id: str) -> list[SeenSpan]:
        """The spans of one trace."""
        return [span for span in list(self.spans) if span.trace_id == trace_id]

    def above(self, span: SeenSpan) -> list[str]:
        """The names of a span and of those that it is in, the outermost last."""
        by_id = {one.span_id: one for one in self.trace(span.trace_id)}
        names, at = [], by_id.get(span.span_id)
        while at is not None:
            names.append(at.name)
            at = by_id.get(at.parent_id)
        return names


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair) for pair in pairs}


def _value(pair: KeyValue) -> Any:
    value: AnyValue = pair.value
    kind = value.WhichOneof("value")
    return None if kind is None else getattr(value, kind)
