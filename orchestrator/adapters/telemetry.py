"""Traces and metrics of tool calls and selections: names and figures; never arguments or bodies."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Self
from urllib.parse import urlsplit

from opentelemetry import metrics, trace
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.http_attributes import (
    HTTP_REQUEST_METHOD,
    HTTP_RESPONSE_STATUS_CODE,
)
from opentelemetry.semconv.attributes.server_attributes import SERVER_ADDRESS, SERVER_PORT
from opentelemetry.semconv.attributes.service_attributes import SERVICE_NAME
from opentelemetry.semconv.attributes.url_attributes import URL_SCHEME
from opentelemetry.semconv.metrics.http_metrics import HTTP_CLIENT_REQUEST_DURATION
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from orchestrator.catalog.tool import Tool
from orchestrator.routing.selection import Selection

RefusedAt = Literal["decision", "preparation", "sending"]
_SCOPE = "orchestrator"
# Still in development in the conventions, so not among the library's stable constants.
_URL_TEMPLATE = "url.template"
_TOOL_NAME = "gen_ai.tool.name"
_CALL_ID = "gen_ai.tool.call.id"


@dataclass(frozen=True)
class Telemetry:
    """Where spans and measurements go: every instrument that activities measure with."""

    tracer: Tracer
    durations: Histogram
    selections: Counter
    refusals: Counter

    @classmethod
    def on(cls, tracer: Tracer, meter: Meter) -> Self:
        """Make the instruments on a meter."""
        return cls(
            tracer,
            meter.create_histogram(
                HTTP_CLIENT_REQUEST_DURATION, unit="s", description="Duration of tool calls."
            ),
            meter.create_counter(
                "orchestrator.route.selections", description="Selections by band."
            ),
            meter.create_counter(
                "orchestrator.agent.refusals",
                description="Calls outside what their agent may touch, by where they were stopped.",
            ),
        )


@dataclass
class CallFacts:
    """What of a running call its span tells at the end."""

    status: int | None = None
    error_type: str | None = None


def configure_telemetry(
    service_name: str,
    *,
    span_processors: Sequence[SpanProcessor] = (),
    metric_readers: Sequence[MetricReader] = (),
) -> Telemetry:
    """Make this process's providers and install them for every library that uses OpenTelemetry.

    Args:
        service_name: as dashboards show it; OTEL_RESOURCE_ATTRIBUTES adds to it.
        span_processors: with their exporters; none: spans are made and dropped.
        metric_readers: likewise.
    """
    resource = Resource.create({SERVICE_NAME: service_name})
    tracers = TracerProvider(resource=resource)
    for processor in span_processors:
        tracers.add_span_processor(processor)
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(MeterProvider(list(metric_readers), resource))
    return default_telemetry()


def default_telemetry() -> Telemetry:
    """What goes to the providers installed in this process; nowhere when there are none."""
    return Telemetry.on(trace.get_tracer(_SCOPE), metrics.get_meter(_SCOPE))


@contextmanager
def tool_call_span(
    telemetry: Telemetry, tool: Tool, *, base_url: str, call_id: str
) -> Iterator[CallFacts]:
    """A client span around one call, and its duration as a measurement.

    No URL and no exception text is recorded: either may hold what a person or a key is called.
    """
    measured = _server_attributes(tool, base_url)
    named = {**measured, _URL_TEMPLATE: tool.path, _TOOL_NAME: tool.name, _CALL_ID: call_id}
    facts = CallFacts()
    started = time.perf_counter()
    with telemetry.tracer.start_as_current_span(
        f"{tool.method} {tool.path}",
        kind=SpanKind.CLIENT,
        attributes=named,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield facts
        except BaseException as error:
            facts.error_type = type(error).__name__
            raise
        finally:
            ended = _end_attributes(facts)
            span.set_attributes(ended)
            if ERROR_TYPE in ended:
                span.set_status(Status(StatusCode.ERROR))
            telemetry.durations.record(time.perf_counter() - started, {**measured, **ended})


def count_selection(telemetry: Telemetry, selection: Selection) -> None:
    """Count one selection; its headers and its reason become attributes of the running span."""
    labels: dict[str, str] = {"band": selection.band}
    if selection.embedder:
        labels["embedder"] = selection.headers["x-orqen-embedder"]
    telemetry.selections.add(1, labels)
    trace.get_current_span().set_attributes(
        {**selection.headers, "orchestrator.route.reason": selection.reason}
    )


def count_refusal(telemetry: Telemetry, at: RefusedAt) -> None:
    """Count one call of a tool that its agent may not touch; the running span says so too."""
    telemetry.refusals.add(1, {"at": at})
    trace.get_current_span().set_attribute("orchestrator.agent.refused_at", at)


def _server_attributes(tool: Tool, base_url: str) -> dict[str, AttributeValue]:
    parts = urlsplit(base_url)
    port = parts.port if parts.port is not None else 443 if parts.scheme == "https" else 80
    return {
        HTTP_REQUEST_METHOD: tool.method,
        SERVER_ADDRESS: parts.hostname or "",
        SERVER_PORT: port,
        URL_SCHEME: parts.scheme,
    }


def _end_attributes(facts: CallFacts) -> dict[str, AttributeValue]:
    ended: dict[str, AttributeValue] = {}
    if facts.status is not None:
        ended[HTTP_RESPONSE_STATUS_CODE] = facts.status
        if facts.status >= 400:
            ended[ERROR_TYPE] = str(facts.status)
    if facts.error_type is not None:
        ended[ERROR_TYPE] = facts.error_type
    return ended
