"""Keeps out of exported spans what exceptions say: it may quote what was sent."""

from collections.abc import Sequence

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.semconv.attributes.exception_attributes import (
    EXCEPTION_MESSAGE,
    EXCEPTION_STACKTRACE,
)
from opentelemetry.trace import Status

_TEXTS = (EXCEPTION_MESSAGE, EXCEPTION_STACKTRACE)


class PlainSpans(SpanExporter):
    """Exports spans of every library in the process without the texts of errors, only their kinds.

    Ours hold none. What others make, such as Temporal's SDK, may record exceptions whole.
    """

    def __init__(self, inner: SpanExporter) -> None:
        """Take the exporter that sends them."""
        self._inner = inner

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send them."""
        return self._inner.export([_plain(span) for span in spans])

    def shutdown(self) -> None:
        """As the other exporter does."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """As the other exporter does."""
        return self._inner.force_flush(timeout_millis)


def _plain(span: ReadableSpan) -> ReadableSpan:
    if not span.events and span.status.description is None:
        return span
    return ReadableSpan(
        name=span.name,
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=span.attributes,
        events=[_plain_event(event) for event in span.events],
        links=span.links,
        kind=span.kind,
        instrumentation_scope=span.instrumentation_scope,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
    )


def _plain_event(event: Event) -> Event:
    told = {name: v for name, v in (event.attributes or {}).items() if name not in _TEXTS}
    return Event(event.name, told, event.timestamp)
