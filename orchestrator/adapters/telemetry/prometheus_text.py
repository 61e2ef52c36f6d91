"""What Prometheus is answered when it asks a process for its measurements."""

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest


class PrometheusText:
    """A reader of a meter provider, and what it has read in Prometheus' text format."""

    def __init__(self) -> None:
        """Read into a registry of its own: other libraries may use the process's."""
        self._registry = CollectorRegistry()
        self.reader = PrometheusMetricReader(registry=self._registry, scope_info_enabled=False)

    def now(self) -> tuple[bytes, str]:
        """The body and the content type of an answer."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST
