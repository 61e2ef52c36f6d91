"""Telemetry of a process: installed once, for every library in it."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from orchestrator.adapters.telemetry import Telemetry, count_selection, tool_call_span
from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.routing.router import Router, fail_open
from orchestrator.settings import bundled_specs

_TOOL = Tool(
    name="t",
    document="d",
    domain="d",
    input_schema={"type": "object"},
    path="/x/{id}",
    method="GET",
)
# In a process of its own: providers can be installed once only.
_CONFIGURE = """
from opentelemetry import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from orchestrator.adapters.telemetry import configure_telemetry, default_telemetry
spans = InMemorySpanExporter()
configure_telemetry("worker", span_processors=[SimpleSpanProcessor(spans)])
default_telemetry().tracer.start_span("ours").end()
trace.get_tracer("theirs").start_span("theirs").end()
for span in spans.get_finished_spans():
    print(span.name, span.resource.attributes["service.name"])
"""


def test_configuring_installs_the_providers() -> None:
    """Our spans and other libraries' go the same way, under the service's name."""
    shown = subprocess.run(
        [sys.executable, "-c", _CONFIGURE], capture_output=True, text=True, check=True
    )

    assert shown.stdout.splitlines() == ["ours worker", "theirs worker"]


def test_a_failed_call_is_an_error_without_its_text() -> None:
    """The span tells the kind of failure; what it said may hold what a person is called."""
    spans = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    telemetry = Telemetry.on(tracers.get_tracer("t"), MeterProvider().get_meter("t"))

    with (
        pytest.raises(ValueError, match="Ada"),
        tool_call_span(telemetry, _TOOL, base_url="https://h/x", call_id="c"),
    ):
        raise ValueError("Ada Lovelace is unknown")

    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["error.type"] == "ValueError"
    assert span.attributes["server.port"] == 443
    assert not span.status.is_ok
    assert span.events == ()
    assert "Ada" not in span.to_json()


def test_selections_are_counted_by_band() -> None:
    """So that a dashboard sees the router fail open."""
    catalog = Catalog.load(bundled_specs())
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader]).get_meter("test")
    telemetry = Telemetry.on(TracerProvider().get_tracer("test"), meter)
    for selection in (
        fail_open(catalog, "ValueError in the router"),
        fail_open(catalog, "took over 50 ms, up to scoring"),
        Router(catalog).route("weather in London"),
    ):
        count_selection(telemetry, selection)

    data = reader.get_metrics_data()
    assert data is not None
    metric = data.resource_metrics[0].scope_metrics[0].metrics[0]
    points = {str(p.attributes["band"]): p.value for p in metric.data.data_points}  # type: ignore[union-attr, index]
    assert metric.name == "orchestrator.route.selections"
    assert points["fail_open"] == 2
    assert sum(points.values()) == 3
