"""Telemetry of a process, as the OTEL_* variables ask for it; each in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from orchestrator.core.errors import UsageError
from orchestrator.runtime.process_telemetry import Wanted
from tests.otlp_receiver import OtlpReceiver

# Providers can be installed once in a process.
_PROCESS = """
import asyncio, sys
from orchestrator.runtime.process_telemetry import process_telemetry

async def main():
    async with process_telemetry("house", serves_metrics={serves_metrics}) as telemetry:
        {body}

    {after}

asyncio.run(main())
heavy = ("opentelemetry.sdk", "opentelemetry.exporter", "prometheus_client", "requests")
print("imported:", *[name for name in heavy if name in sys.modules])
"""
_MEASURES = """
        from opentelemetry import metrics, trace
        from temporalio.runtime import Runtime
        with trace.get_tracer("theirs").start_as_current_span("theirs") as span:
            span.record_exception(ValueError("Ada Lovelace is unknown"))
        metrics.get_meter("theirs").create_counter("house.refused").add(1, {"why": "no"})
        Runtime.default().metric_meter.create_counter("sdk_counter").add(1, {"a": "1"})
        Runtime.default().metric_meter.create_counter("sdk_counter").add(2, {"a": "2"})
        Runtime.default().metric_meter.create_counter("sdk_counter").add(4, {"a": "1"})
"""


def _run(
    body: str = "pass",
    after: str = "pass",
    *,
    serves_metrics: bool = False,
    variables: Mapping[str, str] = {},
) -> str:
    others = {name: v for name, v in os.environ.items() if not name.startswith("OTEL_")}
    program = _PROCESS.format(body=body, after=after, serves_metrics=serves_metrics)
    command, env = [sys.executable, "-c", program], {**others, **variables}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


def test_off_means_that_nothing_is_imported() -> None:
    assert _run().split() == ["imported:"]


def test_all_arrives_at_the_endpoint_under_the_name_of_the_service() -> None:
    """Ours, other libraries', and what Temporal's SDK measures, by what its attributes say."""
    with OtlpReceiver() as collector:
        _run(_MEASURES, variables={**collector.variables, "OTEL_SERVICE_NAME": "theirs"})

    (span,) = collector.spans
    assert (span.name, span.service) == ("theirs", "theirs")
    assert collector.points["house.refused"][-1]["figure"] == 1
    counted = {point["a"]: point["figure"] for point in collector.points["sdk_counter"]}
    assert counted == {"1": 5, "2": 2}
    assert not any(b"Lovelace" in body for body in collector.bodies)


def test_prometheus_gets_the_same_as_text() -> None:
    printed = _run(
        f"{_MEASURES}\n        await asyncio.sleep(1.5)\n"
        "        body, kind = telemetry.metrics_text()\n        print(kind, body.decode())",
        serves_metrics=True,
    )

    assert printed.startswith("text/plain")
    assert 'house_refused_total{why="no"} 1.0' in printed
    assert 'sdk_counter_total{a="1"} 5.0' in printed


def test_a_collector_that_is_away_keeps_no_process_from_ending() -> None:
    body = f"{_MEASURES}\n        import time; began = time.monotonic()"
    printed = _run(
        body,
        "print(time.monotonic() - began)",
        variables={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    )

    assert float(printed.split()[0]) < 10


ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h"}
HTTP, GRPC = "otlp_proto_http", "otlp_proto_grpc"


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, Wanted()),
        ({"OTEL_SERVICE_NAME": "x"}, Wanted()),
        (ENDPOINT, Wanted((HTTP,), (HTTP,))),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h"}, Wanted((HTTP,))),
        ({**ENDPOINT, "OTEL_METRICS_EXPORTER": "none"}, Wanted((HTTP,))),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, Wanted(("console", HTTP))),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, Wanted((GRPC,))),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, Wanted()),
    ],
)
def test_the_standard_variables_say_what_is_exported(
    environ: dict[str, str], wanted: Wanted
) -> None:
    assert Wanted.by(environ) == wanted


def test_a_protocol_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(UsageError, match=r"OTEL_EXPORTER_OTLP_PROTOCOL: 'smoke' is none of"):
        Wanted.by({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "smoke"})
