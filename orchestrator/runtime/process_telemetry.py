"""Telemetry of one process, on while it runs: what the OTEL_* variables ask for, and /metrics."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from orchestrator.adapters.telemetry.providers import Wanted

if TYPE_CHECKING:
    from temporalio.client import Client
    from temporalio.runtime import MetricBuffer

_FLUSH_S: Final = 3.0
"""How long a process that ends waits for its last spans to be taken: a collector may be away."""


@dataclass(frozen=True)
class ProcessTelemetry:
    """What of this process can be asked for, and told to it."""

    metrics_text: Callable[[], tuple[bytes, str]] | None = None
    """The body and the content type of an answer to Prometheus; None where nobody may ask."""
    watch: Callable[["Client"], None] = lambda _: None
    """Has it told, from now on, what waits on the server of a client."""


@asynccontextmanager
async def process_telemetry(
    service: str,
    *,
    serves_metrics: bool = False,
    is_worker: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> AsyncIterator[ProcessTelemetry]:
    """Telemetry while the body runs; to be entered before a Temporal client is connected.

    Where nothing is asked for, nothing of it is imported, and only the log of a worker's SDK is led
    to Python's.

    Args:
        service: as dashboards name it, unless OTEL_SERVICE_NAME does.
        serves_metrics: whether Prometheus may ask for them.
        is_worker: whether it measures, and the SDK in it: other processes only trace.
        environ: where the OTEL_* variables are.

    Raises:
        UsageError: a variable asks for what is not installed.
    """
    wanted = Wanted.by(environ)
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

    from orchestrator.adapters.telemetry import providers

    resource = providers.resource_of(service)
    made: list[Any] = []
    stack.push_async_callback(_shut_down, made)
    if wanted.traces:
        made.append(tracing := providers.trace_provider(resource, wanted.traces))
        trace.set_tracer_provider(tracing)
    if not (wanted.metrics or serves_metrics):
        return ProcessTelemetry()
    readers, text = _prometheus() if serves_metrics else ((), None)
    measuring = providers.meter_provider(resource, wanted.metrics, readers)
    made.append(measuring)
    metrics.set_meter_provider(measuring)
    _carry_sdk_metrics(stack, measuring)
    return ProcessTelemetry(text, lambda client: _watch(stack, measuring, client))


def _prometheus() -> tuple[Sequence[Any], Callable[[], tuple[bytes, str]]]:
    from orchestrator.adapters.telemetry.prometheus_text import PrometheusText

    text = PrometheusText()
    return [text.reader], text.now


def _carry_sdk_metrics(stack: AsyncExitStack, measuring: Any) -> None:
    """Have what Temporal's SDK and the workflows measure go the same way."""
    from orchestrator.adapters.telemetry.sdk_metrics import SdkMetrics, sdk_buffer

    buffer = sdk_buffer()
    _use_runtime(buffer)
    sdk = SdkMetrics(buffer, measuring.get_meter("temporalio"))
    carrying = asyncio.create_task(sdk.keep_carrying())
    stack.callback(sdk.carry)
    stack.callback(carrying.cancel)


def _watch(stack: AsyncExitStack, measuring: Any, client: "Client") -> None:
    from orchestrator.adapters.telemetry.instruments import SCOPE
    from orchestrator.adapters.telemetry.waiting_work import WaitingWork

    work = WaitingWork(client, measuring.get_meter(SCOPE))
    looking = asyncio.create_task(work.keep_looking())
    stack.callback(looking.cancel)


def _use_runtime(buffer: "MetricBuffer | None") -> None:
    """Have clients that are connected from now on measure into a buffer, and log to Python.

    Of what the SDK logs, the fields stay out: failures in them say what was sent.
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
    told = LoggingConfig(TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarded)
    runtime = Runtime(telemetry=TelemetryConfig(logging=told, metrics=buffer))
    Runtime.set_default(runtime, error_if_already_set=False)


async def _shut_down(made: Sequence[Any]) -> None:
    """Send what is left, and wait for it no longer than a while.

    In threads that keep no process from ending.
    """
    ending = [threading.Thread(target=one.shutdown, daemon=True) for one in made]
    for thread in ending:
        thread.start()
    await asyncio.gather(*(asyncio.to_thread(thread.join, _FLUSH_S) for thread in ending))
