"""The exporters that OpenTelemetry's own variables select, read without importing its SDK."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

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
        """Read the variables; without any of them no exporter is wanted.

        Raises:
            UsageError: an unknown protocol.
        """
        if environ.get(_DISABLED, "").strip().lower() == "true":
            return cls()
        return cls(_exporters(environ, "traces"), _exporters(environ, "metrics"))

    def __bool__(self) -> bool:
        """True if any exporter is wanted."""
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
