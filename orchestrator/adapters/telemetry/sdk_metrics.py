"""Carries what Temporal's SDK and our workflows measure into the process's own meter.

The SDK has an exporter for this (`temporalio.contrib.opentelemetry.MetricsExporter`), which knows
the attributes of a measurement by the identity of an object that is long gone when the next one has
its place in memory. Here they are known by what they say.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.util.types import AttributeValue
from temporalio.runtime import (
    BUFFERED_METRIC_KIND_COUNTER,
    BUFFERED_METRIC_KIND_HISTOGRAM,
    BufferedMetric,
    BufferedMetricUpdate,
    MetricBuffer,
    MetricBufferDurationFormat,
)

from orchestrator.adapters.telemetry.told_names import MEASUREMENTS, SECONDS

_EVERY_S: Final = 1.0
_ROOM: Final = 100_000
"""Updates between two rounds; what comes beyond them is lost, and the SDK says so."""
_BUCKETS: Final = {one.name: one.buckets for one in MEASUREMENTS if one.buckets}
_OURS: Final = "service_name"
"""An attribute that the SDK gives every measurement: the resource says it better."""


def sdk_buffer() -> MetricBuffer:
    """What a runtime of the SDK is to write its measurements to."""
    return MetricBuffer(_ROOM, MetricBufferDurationFormat.SECONDS)


@dataclass
class _Gauge:
    """The last value of each set of attributes."""

    values: dict[tuple[tuple[str, Any], ...], float] = field(default_factory=dict)

    def observe(self, _: CallbackOptions) -> Iterable[Observation]:
        """Asked by the exporting thread."""
        return [Observation(value, dict(key)) for key, value in list(self.values.items())]

    def set(self, value: float, attributes: dict[str, AttributeValue]) -> None:
        self.values[tuple(sorted(attributes.items(), key=lambda one: one[0]))] = value


class SdkMetrics:
    """Takes measurements out of a buffer and makes them again on a meter."""

    def __init__(self, buffer: MetricBuffer, meter: Meter) -> None:
        """Take a buffer that a runtime writes to."""
        self._buffer = buffer
        self._meter = meter
        self._made: dict[str, Callable[[float, dict[str, AttributeValue]], None]] = {}

    async def keep_carrying(self) -> None:
        """Carry until cancelled."""
        while True:
            await asyncio.sleep(_EVERY_S)
            self.carry()

    def carry(self) -> None:
        """Carry what has come in since the last time."""
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
        told = {"unit": metric.unit or "", "description": metric.description or ""}
        if metric.kind == BUFFERED_METRIC_KIND_COUNTER:
            return self._meter.create_counter(metric.name, **told).add
        if metric.kind == BUFFERED_METRIC_KIND_HISTOGRAM:
            buckets = _BUCKETS.get(metric.name, SECONDS)
            histogram = self._meter.create_histogram(
                metric.name, **told, explicit_bucket_boundaries_advisory=buckets
            )
            return histogram.record
        gauge = _Gauge()
        self._meter.create_observable_gauge(metric.name, [gauge.observe], **told)
        return gauge.set
