"""What activities measure and trace: names and figures; never arguments, goals or bodies."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, Self
from urllib.parse import urlsplit

from opentelemetry import metrics, trace
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.semconv.attributes.http_attributes import (
    HTTP_REQUEST_METHOD,
    HTTP_RESPONSE_STATUS_CODE,
)
from opentelemetry.semconv.attributes.server_attributes import SERVER_ADDRESS, SERVER_PORT
from opentelemetry.semconv.attributes.url_attributes import URL_SCHEME
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from orchestrator.adapters.telemetry import told_names as told
from orchestrator.adapters.telemetry.told_names import ERROR_TYPE, Measured
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.routing.selection import Selection

RefusedAt = Literal["decision", "preparation", "sending"]
SCOPE = "orchestrator"
FAILED = "failed"
"""The outcome of a call that has none, for want of an answer."""


@dataclass(frozen=True)
class Telemetry:
    """Where spans and measurements go: every instrument that activities measure with."""

    tracer: Tracer
    durations: Histogram
    calls: Counter
    selections: Counter
    tools_offered: Histogram
    tools_forwarded: Histogram
    refusals: Counter
    tokens: Histogram
    model_durations: Histogram
    model_cost: Counter

    @classmethod
    def on(cls, tracer: Tracer, meter: Meter) -> Self:
        """Make the instruments on a meter."""
        return cls(
            tracer=tracer,
            durations=_histogram(meter, told.HTTP_DURATION),
            calls=_counter(meter, told.TOOL_CALLS),
            selections=_counter(meter, told.SELECTIONS),
            tools_offered=_histogram(meter, told.TOOLS_OFFERED),
            tools_forwarded=_histogram(meter, told.TOOLS_FORWARDED),
            refusals=_counter(meter, told.REFUSALS),
            tokens=_histogram(meter, told.TOKENS),
            model_durations=_histogram(meter, told.MODEL_DURATION),
            model_cost=_counter(meter, told.MODEL_COST),
        )


def _counter(meter: Meter, one: Measured) -> Counter:
    return meter.create_counter(one.name, unit=one.unit, description=one.means)


def _histogram(meter: Meter, one: Measured) -> Histogram:
    return meter.create_histogram(
        one.name,
        unit=one.unit,
        description=one.means,
        explicit_bucket_boundaries_advisory=one.buckets,
    )


@dataclass
class CallFacts:
    """What of a running call its span tells at the end."""

    status: int | None = None
    error_type: str | None = None
    outcome: str = FAILED


def default_telemetry() -> Telemetry:
    """What goes to the providers installed in this process; nowhere when there are none."""
    return Telemetry.on(trace.get_tracer(SCOPE), metrics.get_meter(SCOPE))


@contextmanager
def quiet_span(
    tracer: Tracer,
    name: str,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: dict[str, AttributeValue] | None = None,
    kind_of: Callable[[BaseException], str] = lambda error: type(error).__name__,
) -> Iterator[Span]:
    """A span that tells of an error its kind alone: its text may hold what a person is called."""
    with tracer.start_as_current_span(
        name,
        kind=kind,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            note_error(span, kind_of(error))
            raise


def note_error(span: Span, kind: str) -> None:
    """Let a span be one of a failure of this kind."""
    span.set_attribute(ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR))


@contextmanager
def tool_call_span(
    telemetry: Telemetry, tool: Tool, *, base_url: str, call_id: str
) -> Iterator[CallFacts]:
    """A client span around one call, and its duration as a measurement.

    No URL and no exception text is recorded: either may hold what a person or a key is called.
    """
    measured = _server_attributes(tool, base_url)
    named = {
        **measured,
        told.URL_TEMPLATE: tool.path,
        told.TOOL_NAME: tool.name,
        told.CALL_ID: call_id,
    }
    facts = CallFacts()
    started = time.perf_counter()
    with telemetry.tracer.start_as_current_span(
        f"{tool.method} {tool.path}",
        kind=SpanKind.CLIENT,
        attributes=named,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield facts
        except BaseException as error:
            facts.error_type = type(error).__name__
            raise
        finally:
            ended = _end_attributes(facts)
            span.set_attributes({**ended, told.OUTCOME: facts.outcome})
            if ERROR_TYPE in ended:
                span.set_status(Status(StatusCode.ERROR))
            telemetry.durations.record(time.perf_counter() - started, {**measured, **ended})
            telemetry.calls.add(1, {told.TOOL_NAME: tool.name, told.OUTCOME: facts.outcome})


@dataclass
class ModelFacts:
    """What of a request to a model its span tells at the end."""

    usage: Usage | None = None


@contextmanager
def model_span(telemetry: Telemetry, name: str) -> Iterator[ModelFacts]:
    """A client span around one request to a model, with what it took as measurements.

    Args:
        telemetry: where it goes.
        name: `provider:model`.
    """
    provider, _, model = name.partition(":")
    asked: dict[str, AttributeValue] = {
        told.OPERATION: "chat",
        told.PROVIDER: provider if model else "",
        told.REQUEST_MODEL: model or name,
    }
    facts = ModelFacts()
    started = time.perf_counter()
    ended = dict(asked)
    with quiet_span(
        telemetry.tracer, f"chat {model or name}", kind=SpanKind.CLIENT, attributes=asked
    ) as span:
        try:
            yield facts
        except BaseException as error:
            ended[ERROR_TYPE] = type(error).__name__
            raise
        finally:
            telemetry.model_durations.record(time.perf_counter() - started, ended)
            if facts.usage is not None:
                _tell_usage(telemetry, span, facts.usage, asked)


def _tell_usage(
    telemetry: Telemetry, span: Span, usage: Usage, asked: dict[str, AttributeValue]
) -> None:
    counted = {"input": usage.input_tokens, "output": usage.output_tokens}
    for token_type, tokens in counted.items():
        telemetry.tokens.record(tokens, {**asked, told.TOKEN_TYPE: token_type})
    cost = float(usage.cost_usd)
    telemetry.model_cost.add(cost, asked)
    span.set_attributes(
        {
            told.INPUT_TOKENS: usage.input_tokens,
            told.OUTPUT_TOKENS: usage.output_tokens,
            told.CACHED_TOKENS: usage.cached_tokens,
            told.COST: cost,
        }
    )


_W3C: Final = TraceContextTextMapPropagator()


def trace_headers() -> dict[str, str]:
    """The W3C trace context of the running span, as headers; none where nothing is traced.

    Without baggage, in which whoever is before us may have put anything.
    """
    headers: dict[str, str] = {}
    _W3C.inject(headers)
    return headers


def count_selection(telemetry: Telemetry, selection: Selection) -> None:
    """Count one selection; its headers become attributes of the running span.

    So does the reason of one that failed open. Other reasons quote words of what was asked.
    """
    labels: dict[str, str] = {"band": selection.band}
    telemetry.tools_offered.record(selection.catalog_size, labels)
    telemetry.tools_forwarded.record(len(selection.tools), labels)
    if selection.embedder:
        labels["embedder"] = selection.headers["x-orqen-embedder"]
    telemetry.selections.add(1, labels)
    span = trace.get_current_span()
    span.set_attributes(selection.headers)
    if selection.band == "fail_open":
        span.set_attribute(told.ROUTE_REASON, selection.reason)


def count_refusal(telemetry: Telemetry, at: RefusedAt) -> None:
    """Count one call of a tool that its agent may not touch; the running span says so too."""
    telemetry.refusals.add(1, {"at": at})
    trace.get_current_span().set_attribute(told.REFUSED_AT, at)


def _server_attributes(tool: Tool, base_url: str) -> dict[str, AttributeValue]:
    parts = urlsplit(base_url)
    port = parts.port if parts.port is not None else 443 if parts.scheme == "https" else 80
    return {
        HTTP_REQUEST_METHOD: tool.method,
        SERVER_ADDRESS: parts.hostname or "",
        SERVER_PORT: port,
        URL_SCHEME: parts.scheme,
    }


def _end_attributes(facts: CallFacts) -> dict[str, AttributeValue]:
    ended: dict[str, AttributeValue] = {}
    if facts.status is not None:
        ended[HTTP_RESPONSE_STATUS_CODE] = facts.status
        if facts.status >= 400:
            ended[ERROR_TYPE] = str(facts.status)
    if facts.error_type is not None:
        ended[ERROR_TYPE] = facts.error_type
    return ended
