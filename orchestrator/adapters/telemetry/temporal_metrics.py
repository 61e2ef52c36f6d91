"""Measurements of Temporal's SDK, of workflows and of the server, on the process's own meter.

The SDK has an exporter for this (`temporalio.contrib.opentelemetry.MetricsExporter`), which
identifies the attributes of a measurement by the address of an object that may be freed by then.
Here they are identified by their content.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.util.types import AttributeValue
from temporalio.client import Client
from temporalio.runtime import (
    BUFFERED_METRIC_KIND_COUNTER,
    BUFFERED_METRIC_KIND_HISTOGRAM,
    BufferedMetric,
    BufferedMetricUpdate,
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
from orchestrator.messages import names

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
            self._take(update)

    def _take(self, update: BufferedMetricUpdate) -> None:
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
