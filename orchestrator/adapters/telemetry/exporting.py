"""The providers of traces and measurements of a process, and their exporters.

Each exporter, reader and sampler reads its own `OTEL_*` variables.
"""

import socket
import uuid
from collections.abc import Sequence
from importlib.metadata import entry_points, version
from typing import Any, Literal

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.semconv.attributes.exception_attributes import (
    EXCEPTION_MESSAGE,
    EXCEPTION_STACKTRACE,
)
from opentelemetry.trace import Status
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from temporalio.contrib.opentelemetry import ReplaySafeTracerProvider, create_tracer_provider

from orchestrator.core.errors import UsageError

Signal = Literal["traces", "metrics"]
_TEXTS = (EXCEPTION_MESSAGE, EXCEPTION_STACKTRACE)


def resource_of(service: str) -> Resource:
    """Describe this process; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence."""
    ours = Resource(
        {
            "service.name": service,
            "service.version": version("orchestrator-missions"),
            # Two processes with the same series would overwrite each other's figures.
            "service.instance.id": str(uuid.uuid4()),
            "host.name": socket.gethostname(),
        }
    )
    return Resource.create().merge(ours).merge(OTELResourceDetector().detect())


def trace_provider(resource: Resource, exporters: Sequence[str]) -> ReplaySafeTracerProvider:
    """Return a provider whose spans are safe in workflows that are replayed.

    Raises:
        UsageError: an exporter is not installed.
    """
    provider = create_tracer_provider(resource=resource, shutdown_on_exit=False)
    for name in exporters:
        exporter = _loaded(name, "traces")
        provider.add_span_processor(BatchSpanProcessor(PlainSpans(exporter)))
    return provider


def meter_provider(
    resource: Resource, exporters: Sequence[str], readers: Sequence[MetricReader] = ()
) -> MeterProvider:
    """Return a provider that exports its measurements periodically.

    Raises:
        UsageError: an exporter is not installed.
    """
    loaded = [_loaded(name, "metrics") for name in exporters]
    reading = [
        one if isinstance(one, MetricReader) else PeriodicExportingMetricReader(one)
        for one in loaded
    ]
    return MeterProvider([*reading, *readers], resource, shutdown_on_exit=False)


def _loaded(name: str, signal: Signal) -> Any:
    """Return an exporter, or a reader of metrics, that a package offers under this name."""
    for found in entry_points(group=f"opentelemetry_{signal}_exporter", name=name):
        return found.load()()
    package = name.replace("otlp_", "otlp-").replace("_", "-")
    raise UsageError(
        f"no exporter {name!r} of {signal} is installed: install the package that offers it "
        f"(opentelemetry-exporter-{package}?), or name another in OTEL_{signal.upper()}_EXPORTER"
    )


class PrometheusText:
    """Measurements of a meter provider in Prometheus' text format."""

    def __init__(self) -> None:
        """Read into a separate registry: other libraries may use the process's."""
        self._registry = CollectorRegistry()
        self.reader = PrometheusMetricReader(registry=self._registry, scope_info_enabled=False)

    def now(self) -> tuple[bytes, str]:
        """Return the body and the content type of an answer."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class PlainSpans(SpanExporter):
    """Exports spans of all libraries without the texts of errors, which may quote sent values.

    Spans of this project have none; others, such as those of Temporal's SDK, may record exceptions
    whole.
    """

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export the spans without texts of errors."""
        return self._inner.export([_plain(span) for span in spans])

    def shutdown(self) -> None:
        """Shut the wrapped exporter down."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the wrapped exporter."""
        return self._inner.force_flush(timeout_millis)


def _plain(span: ReadableSpan) -> ReadableSpan:
    if not span.events and span.status.description is None:
        return span
    return ReadableSpan(
        name=span.name,
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=span.attributes,
        events=[_plain_event(event) for event in span.events],
        links=span.links,
        kind=span.kind,
        instrumentation_scope=span.instrumentation_scope,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
    )


def _plain_event(event: Event) -> Event:
    kept = {name: v for name, v in (event.attributes or {}).items() if name not in _TEXTS}
    return Event(event.name, kept, event.timestamp)
