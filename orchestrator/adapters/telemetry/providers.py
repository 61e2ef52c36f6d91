"""A process's providers, as OpenTelemetry's own variables describe them; made once, at its start.

`OTEL_*` variables say what is exported, where to and how often: each exporter, reader and sampler
reads its own. Here it is only found out whether anything is wanted at all, and by which exporter.
"""

import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from orchestrator.core.errors import UsageError

Signal = Literal["traces", "metrics"]
_DISABLED: Final = "OTEL_SDK_DISABLED"
_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
_PROTOCOLS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


@dataclass(frozen=True)
class Wanted:
    """The exporters of each signal, by the names of their entry points."""

    traces: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    @classmethod
    def by(cls, environ: Mapping[str, str] = os.environ) -> "Wanted":
        """What the variables ask for; nothing where none of them is set.

        Raises:
            UsageError: a protocol that there is none of.
        """
        if environ.get(_DISABLED, "").strip().lower() == "true":
            return cls()
        return cls(_exporters(environ, "traces"), _exporters(environ, "metrics"))

    def __bool__(self) -> bool:
        """Whether anything is."""
        return bool(self.traces or self.metrics)


def _exporters(environ: Mapping[str, str], signal: Signal) -> tuple[str, ...]:
    upper = signal.upper()
    named = environ.get(f"OTEL_{upper}_EXPORTER", "").strip()
    if not named:
        own = environ.get(f"OTEL_EXPORTER_OTLP_{upper}_ENDPOINT")
        named = "otlp" if own or environ.get(_ENDPOINT) else "none"
    names = [name.strip() for name in named.split(",")]
    return tuple(_entry_point(environ, name, upper) for name in names if name not in ("", "none"))


def _entry_point(environ: Mapping[str, str], name: str, upper: str) -> str:
    if name != "otlp":
        return name
    variable = f"OTEL_EXPORTER_OTLP_{upper}_PROTOCOL"
    protocol = environ.get(variable) or environ.get(_PROTOCOL) or "http/protobuf"
    if protocol not in _PROTOCOLS:
        raise UsageError(f"{_PROTOCOL}: {protocol!r} is none of {', '.join(_PROTOCOLS)}")
    return _PROTOCOLS[protocol]


def resource_of(service: str) -> Any:
    """Who tells it: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come first."""
    from importlib.metadata import version

    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    ours = Resource(
        {
            "service.name": service,
            "service.version": version("orchestrator-missions"),
            # Two processes that told the same series would overwrite each other's figures.
            "service.instance.id": str(uuid.uuid4()),
            "host.name": socket.gethostname(),
        }
    )
    return Resource.create().merge(ours).merge(OTELResourceDetector().detect())


def trace_provider(resource: Any, exporters: Sequence[str]) -> Any:
    """A provider whose spans are safe in workflows that are replayed.

    Raises:
        UsageError: an exporter is not installed.
    """
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from temporalio.contrib.opentelemetry import create_tracer_provider

    from orchestrator.adapters.telemetry.plain_spans import PlainSpans

    provider = create_tracer_provider(resource=resource, shutdown_on_exit=False)
    for name in exporters:
        exporter = _made(name, "traces")
        provider.add_span_processor(BatchSpanProcessor(PlainSpans(exporter)))
    return provider


def meter_provider(resource: Any, exporters: Sequence[str], readers: Sequence[Any] = ()) -> Any:
    """A provider that gives these exporters its measurements every so often.

    Raises:
        UsageError: an exporter is not installed.
    """
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader

    made = [_made(name, "metrics") for name in exporters]
    reading = [
        one if isinstance(one, MetricReader) else PeriodicExportingMetricReader(one) for one in made
    ]
    return MeterProvider([*reading, *readers], resource, shutdown_on_exit=False)


def _made(name: str, signal: Signal) -> Any:
    """An exporter, or of metrics a reader, that some package offers under this name."""
    from importlib.metadata import entry_points

    for found in entry_points(group=f"opentelemetry_{signal}_exporter", name=name):
        return found.load()()
    package = name.replace("otlp_", "otlp-").replace("_", "-")
    raise UsageError(
        f"no exporter {name!r} of {signal} is installed: install the package that offers it "
        f"(opentelemetry-exporter-{package}?), or name another in OTEL_{signal.upper()}_EXPORTER"
    )
