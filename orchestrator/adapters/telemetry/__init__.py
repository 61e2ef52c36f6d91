"""Traces and measurements: names, instruments, exporters, and the tracing of Temporal clients."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from temporalio.client import Plugin


def tracing_plugins() -> list["Plugin"]:
    """Return the plugin that traces; [] if this process has no provider of traces.

    Without a provider nothing of tracing is imported: installing a provider would have imported it.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return []
    from orchestrator.adapters.telemetry.mission_spans import MissionTracing

    return [MissionTracing()]
