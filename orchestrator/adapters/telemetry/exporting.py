"""The providers of traces and measurements of a process, and their exporters.

Each exporter, reader and sampler reads its own `OTEL_*` variables. The SDK's own exporter
(`temporalio.contrib.opentelemetry.MetricsExporter`) identifies the attributes of a measurement by
the address of an object that may be freed by then; here they are identified by their content.
"""

import asyncio
import logging
import socket
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points, version
from typing import Any, Final, Literal

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Meter, Observation
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
from opentelemetry.util.types import AttributeValue
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from temporalio.client import Client
from temporalio.contrib.opentelemetry import ReplaySafeTracerProvider, create_tracer_provider
from temporalio.runtime import (
    BUFFERED_METRIC_KIND_COUNTER,
    BUFFERED_METRIC_KIND_HISTOGRAM,
    BufferedMetric,
    MetricBuffer,
    MetricBufferDurationFormat,
)
from temporalio.service import RPCError

from orchestrator.adapters.telemetry.conventions import (
    MEASUREMENTS,
    PARKED,
    SECONDS,
    WAITING,
    Measured,
)
from orchestrator.adapters.temporal.search_attributes import PARKED as PARKED_KEY
from orchestrator.core.errors import UsageError
from orchestrator.messages import names

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


_CARRIED_EVERY_S: Final = 1.0
_ROOM: Final = 100_000
"""The maximum number of updates between two rounds; the SDK logs a warning and loses others."""
_BUCKETS: Final = {one.name: one.buckets for one in MEASUREMENTS if one.buckets}
_OURS: Final = "service_name"
"""An attribute that the SDK adds to every measurement; the resource has it already."""


def sdk_buffer() -> MetricBuffer:
    """Return a buffer for the measurements of a runtime of the SDK."""
    return MetricBuffer(_ROOM, MetricBufferDurationFormat.SECONDS)


@dataclass
class _Gauge:
    """The last value of each set of attributes."""

    values: dict[tuple[tuple[str, Any], ...], float] = field(default_factory=dict)

    def observe(self, _: CallbackOptions) -> Iterable[Observation]:
        """Return the values; called by the exporting thread."""
        return [Observation(value, dict(key)) for key, value in list(self.values.items())]

    def set(self, value: float, attributes: dict[str, AttributeValue]) -> None:
        self.values[tuple(sorted(attributes.items(), key=lambda one: one[0]))] = value


class SdkMetrics:
    """Transfers measurements from a buffer to a meter."""

    def __init__(self, buffer: MetricBuffer, meter: Meter) -> None:
        self._buffer = buffer
        self._meter = meter
        self._made: dict[str, Callable[[float, dict[str, AttributeValue]], None]] = {}

    async def keep_carrying(self) -> None:
        """Transfer updates until cancelled."""
        while True:
            await asyncio.sleep(_CARRIED_EVERY_S)
            self.carry()

    def carry(self) -> None:
        """Transfer the updates since the last time."""
        for update in self._buffer.retrieve_updates():
            metric = update.metric
            measure = self._made.get(metric.name)
            if measure is None:
                measure = self._made[metric.name] = self._instrument(metric)
            measure(update.value, {k: v for k, v in update.attributes.items() if k != _OURS})

    def _instrument(
        self, metric: BufferedMetric
    ) -> Callable[[float, dict[str, AttributeValue]], None]:
        described = {"unit": metric.unit or "", "description": metric.description or ""}
        if metric.kind == BUFFERED_METRIC_KIND_COUNTER:
            return self._meter.create_counter(metric.name, **described).add
        if metric.kind == BUFFERED_METRIC_KIND_HISTOGRAM:
            buckets = _BUCKETS.get(metric.name, SECONDS)
            histogram = self._meter.create_histogram(
                metric.name, **described, explicit_bucket_boundaries_advisory=buckets
            )
            return histogram.record
        gauge = _Gauge()
        self._meter.create_observable_gauge(metric.name, [gauge.observe], **described)
        return gauge.set


_log = logging.getLogger(__name__)
_COUNTED_EVERY_S: Final = 30.0
_Observe = Callable[[CallbackOptions], Iterable[Observation]]
_FOR: Final = ("confirmation", "answer", "hold", "operator", "provider")


class WaitingWork:
    """Gauges of waiting work in a namespace; empty while the server does not answer."""

    def __init__(self, client: Client, meter: Meter) -> None:
        """Register the gauges; `look` fills them."""
        self._client = client
        self._waiting: dict[str, int] = {}
        self._parked: int | None = None
        _gauge(meter, PARKED, self._observe_parked)
        _gauge(meter, WAITING, self._observe_waiting)

    async def keep_looking(self) -> None:
        """Query the server until cancelled."""
        while True:
            try:
                await self.look()
            except RPCError as error:
                self._waiting, self._parked = {}, None
                _log.warning("waiting work cannot be counted: %s", error.status.name)
            await asyncio.sleep(_COUNTED_EVERY_S)

    async def look(self) -> None:
        """Query the server once."""
        waiting = {}
        for what in _FOR:
            query = _running(f"{names.WAITING_FOR_ATTRIBUTE} = '{what}'")
            waiting[what] = (await self._client.count_workflows(query)).count
        query = _running(f"{names.PARKED_ATTRIBUTE} > 0")
        found = [run async for run in self._client.list_workflows(query)]
        self._parked = sum(run.typed_search_attributes.get(PARKED_KEY) or 0 for run in found)
        self._waiting = waiting

    def _observe_parked(self, _: CallbackOptions) -> Iterable[Observation]:
        return [] if self._parked is None else [Observation(self._parked)]

    def _observe_waiting(self, _: CallbackOptions) -> Iterable[Observation]:
        return [Observation(count, {"for": what}) for what, count in self._waiting.items()]


def _gauge(meter: Meter, one: Measured, observe: _Observe) -> None:
    meter.create_observable_gauge(one.name, [observe], unit=one.unit, description=one.means)


def _running(query: str) -> str:
    return f"{query} AND ExecutionStatus = 'Running'"
