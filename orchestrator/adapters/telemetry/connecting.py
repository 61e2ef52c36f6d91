"""What a Temporal client is connected with, so that it and its workers are traced."""

import sys

from temporalio.client import Plugin


def tracing_plugins() -> list[Plugin]:
    """The plugin that traces; none where no provider of traces is installed in this process.

    Then nothing of tracing is imported either: a provider cannot have been installed without.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return []
    from orchestrator.adapters.telemetry.mission_spans import MissionTracing

    return [MissionTracing()]
