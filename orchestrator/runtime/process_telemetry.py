"""Telemetry of one process while it runs: as the OTEL_* variables configure it, and /metrics."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from orchestrator.core.errors import UsageError

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.runtime import MetricBuffer

    from orchestrator.adapters.telemetry.exporting import Signal

_DISABLED: Final = "OTEL_SDK_DISABLED"
_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
_PROTOCOLS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_FLUSH_S: Final = 3.0
"""How long an ending process waits for its last spans to be sent, as the collector may be
unavailable."""


@dataclass(frozen=True)
class Wanted:
    """The exporters of each signal, by the names of their entry points."""

    traces: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    @classmethod
    def by(cls, environ: Mapping[str, str] = os.environ) -> "Wanted":
        """Read the variables; without any of them no exporter is wanted."""
        if environ.get(_DISABLED, "").strip().lower() == "true":
            return cls()
        return cls(_exporters(environ, "traces"), _exporters(environ, "metrics"))

    def __bool__(self) -> bool:
        return bool(self.traces or self.metrics)


def _exporters(environ: Mapping[str, str], signal: "Signal") -> tuple[str, ...]:
    upper = signal.upper()
    named = environ.get(f"OTEL_{upper}_EXPORTER", "").strip()
    if not named:
        own = environ.get(f"OTEL_EXPORTER_OTLP_{upper}_ENDPOINT")
        named = "otlp" if own or environ.get(_ENDPOINT) else "none"
    found = [name.strip() for name in named.split(",")]
    own = environ.get(f"OTEL_EXPORTER_OTLP_{upper}_PROTOCOL")
    protocol = own or environ.get(_PROTOCOL) or "http/protobuf"
    if "otlp" in found and protocol not in _PROTOCOLS:
        raise UsageError(f"{_PROTOCOL}: {protocol!r} is none of {', '.join(_PROTOCOLS)}")
    wanted = [name for name in found if name not in ("", "none")]
    return tuple(_PROTOCOLS[protocol] if name == "otlp" else name for name in wanted)


@dataclass(frozen=True)
class ProcessTelemetry:
    """The telemetry interface of a process."""

    metrics_text: Callable[[], tuple[bytes, str]] | None = None
    """Returns the body and the content type for Prometheus; None if metrics are not served."""
    watch: Callable[["Client"], None] = lambda _: None
    """Starts measuring the backlog on the server of a client."""


@asynccontextmanager
async def process_telemetry(
    service: str, *, serves_metrics: bool = False, is_worker: bool = True
) -> AsyncIterator[ProcessTelemetry]:
    """Provide telemetry while the body runs; enter it before a Temporal client connects.

    If nothing is configured, nothing of it is imported, and only the log of a worker's SDK is
    routed to Python's. A process that is no worker only traces. `service` is the name in
    dashboards, unless OTEL_SERVICE_NAME sets one.

    Raises:
        UsageError: a variable needs a package that is not installed.
    """
    wanted = Wanted.by()
    if not is_worker:
        wanted = Wanted(traces=wanted.traces)
    if not (wanted or serves_metrics):
        if is_worker:
            _use_runtime(None)
        yield ProcessTelemetry()
        return
    async with AsyncExitStack() as stack:
        installed = _installed(stack, service, wanted, serves_metrics=serves_metrics)
        if is_worker and not (wanted.metrics or serves_metrics):
            _use_runtime(None)
        yield installed


def _installed(
    stack: AsyncExitStack, service: str, wanted: Wanted, *, serves_metrics: bool
) -> ProcessTelemetry:
    from opentelemetry import metrics, trace

    from orchestrator.adapters.telemetry import exporting

    resource = exporting.resource_of(service)
    made: list[Any] = []

    async def shut_down() -> None:
        # What remains is sent; the threads do not keep the process from ending.
        ending = [threading.Thread(target=one.shutdown, daemon=True) for one in made]
        for thread in ending:
            thread.start()
        await asyncio.gather(*(asyncio.to_thread(thread.join, _FLUSH_S) for thread in ending))

    stack.push_async_callback(shut_down)
    if wanted.traces:
        made.append(tracing := exporting.trace_provider(resource, wanted.traces))
        trace.set_tracer_provider(tracing)
    if not (wanted.metrics or serves_metrics):
        return ProcessTelemetry()
    text = exporting.PrometheusText() if serves_metrics else None
    readers = [] if text is None else [text.reader]
    measuring = exporting.meter_provider(resource, wanted.metrics, readers)
    made.append(measuring)
    metrics.set_meter_provider(measuring)
    # The metrics of Temporal's SDK and of the workflows are exported in the same way.
    buffer = exporting.sdk_buffer()
    _use_runtime(buffer)
    sdk = exporting.SdkMetrics(buffer, measuring.get_meter("temporalio"))
    carrying = asyncio.create_task(sdk.keep_carrying())
    stack.callback(sdk.carry)
    stack.callback(carrying.cancel)

    def watch(client: "Client") -> None:
        from orchestrator.adapters.telemetry.instruments import SCOPE

        work = exporting.WaitingWork(client, measuring.get_meter(SCOPE))
        stack.callback(asyncio.create_task(work.keep_looking()).cancel)

    return ProcessTelemetry(None if text is None else text.now, watch)


def _use_runtime(buffer: "MetricBuffer | None") -> None:
    """Make clients that connect from now on measure into a buffer, and log to Python.

    The fields of the SDK's log records are dropped, as failures in them quote sent data.
    """
    from temporalio.runtime import (
        LogForwardingConfig,
        LoggingConfig,
        Runtime,
        TelemetryConfig,
        TelemetryFilter,
    )

    forwarded = LogForwardingConfig(
        logging.getLogger("temporalio.core"),
        append_target_to_name=False,
        prepend_target_on_message=False,
        append_log_fields_to_message=False,
    )
    logs = LoggingConfig(TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarded)
    runtime = Runtime(telemetry=TelemetryConfig(logging=logs, metrics=buffer))
    Runtime.set_default(runtime, error_if_already_set=False)
