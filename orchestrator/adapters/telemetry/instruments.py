"""Spans and measurements of activities: names and figures, never arguments, goals or bodies."""

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

from orchestrator.adapters.telemetry import conventions
from orchestrator.adapters.telemetry.conventions import ERROR_TYPE, Measured
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.routing.selection import Selection

RefusedAt = Literal["decision", "preparation", "sending"]
SCOPE = "orchestrator"
FAILED = "failed"
"""The outcome of a call without an answer."""


@dataclass(frozen=True)
class Telemetry:
    """The tracer and every instrument that activities measure with."""

    tracer: Tracer
    durations: Histogram
    calls: Counter
    selections: Counter
    tools_offered: Histogram
    tools_forwarded: Histogram
    refusals: Counter
    notices: Counter
    tokens: Histogram
    model_durations: Histogram
    model_cost: Counter

    @classmethod
    def on(cls, tracer: Tracer, meter: Meter) -> Self:
        """Create the instruments on a meter."""
        return cls(
            tracer=tracer,
            durations=_histogram(meter, conventions.HTTP_DURATION),
            calls=_counter(meter, conventions.TOOL_CALLS),
            selections=_counter(meter, conventions.SELECTIONS),
            tools_offered=_histogram(meter, conventions.TOOLS_OFFERED),
            tools_forwarded=_histogram(meter, conventions.TOOLS_FORWARDED),
            refusals=_counter(meter, conventions.REFUSALS),
            notices=_counter(meter, conventions.NOTICES),
            tokens=_histogram(meter, conventions.TOKENS),
            model_durations=_histogram(meter, conventions.MODEL_DURATION),
            model_cost=_counter(meter, conventions.MODEL_COST),
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
    """Facts of a running call that its span records at the end."""

    status: int | None = None
    error_type: str | None = None
    outcome: str = FAILED


def default_telemetry() -> Telemetry:
    """Return the telemetry of the providers installed in this process; without any, a no-op."""
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
    """Open a span that records only the kind of an error: its text may contain personal values."""
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
    """Mark a span as failed by an error of this kind."""
    span.set_attribute(ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR))


@contextmanager
def tool_call_span(
    telemetry: Telemetry, tool: Tool, *, base_url: str, call_id: str
) -> Iterator[CallFacts]:
    """Open a client span around one call, and measure its duration.

    No URL and no exception text is recorded: either may contain personal values or keys.
    """
    parts = urlsplit(base_url)
    port = parts.port if parts.port is not None else 443 if parts.scheme == "https" else 80
    measured: dict[str, AttributeValue] = {
        HTTP_REQUEST_METHOD: tool.method,
        SERVER_ADDRESS: parts.hostname or "",
        SERVER_PORT: port,
        URL_SCHEME: parts.scheme,
    }
    named = {
        **measured,
        conventions.URL_TEMPLATE: tool.path,
        conventions.TOOL_NAME: tool.name,
        conventions.CALL_ID: call_id,
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
            span.set_attributes({**ended, conventions.OUTCOME: facts.outcome})
            if ERROR_TYPE in ended:
                span.set_status(Status(StatusCode.ERROR))
            telemetry.durations.record(time.perf_counter() - started, {**measured, **ended})
            telemetry.calls.add(
                1, {conventions.TOOL_NAME: tool.name, conventions.OUTCOME: facts.outcome}
            )


@dataclass
class ModelFacts:
    """Facts of a request to a model that its span records at the end."""

    usage: Usage | None = None


@contextmanager
def model_span(telemetry: Telemetry, name: str) -> Iterator[ModelFacts]:
    """Open a client span around one request to a model, `provider:model`, and measure its use."""
    provider, _, model = name.partition(":")
    asked: dict[str, AttributeValue] = {
        conventions.OPERATION: "chat",
        conventions.PROVIDER: provider if model else "",
        conventions.REQUEST_MODEL: model or name,
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
                counted = {"input": facts.usage.input_tokens, "output": facts.usage.output_tokens}
                for token_type, tokens in counted.items():
                    telemetry.tokens.record(tokens, {**asked, conventions.TOKEN_TYPE: token_type})
                cost = float(facts.usage.cost_usd)
                telemetry.model_cost.add(cost, asked)
                span.set_attributes(
                    {
                        conventions.INPUT_TOKENS: facts.usage.input_tokens,
                        conventions.OUTPUT_TOKENS: facts.usage.output_tokens,
                        conventions.CACHED_TOKENS: facts.usage.cached_tokens,
                        conventions.COST: cost,
                    }
                )


_W3C: Final = TraceContextTextMapPropagator()


def trace_headers() -> dict[str, str]:
    """Return the W3C trace context of the running span as headers; {} if nothing is traced.

    Baggage is left out, because it may contain anything that callers put into it.
    """
    headers: dict[str, str] = {}
    _W3C.inject(headers)
    return headers


def count_selection(telemetry: Telemetry, selection: Selection) -> None:
    """Count one selection; its headers become attributes of the running span.

    The reason of a selection that failed open does too; other reasons quote words of the request.
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
        span.set_attribute(conventions.ROUTE_REASON, selection.reason)


def count_refusal(telemetry: Telemetry, at: RefusedAt) -> None:
    """Count one refused call of a tool outside its agent's wall, also on the running span."""
    telemetry.refusals.add(1, {"at": at})
    trace.get_current_span().set_attribute(conventions.REFUSED_AT, at)


def _end_attributes(facts: CallFacts) -> dict[str, AttributeValue]:
    ended: dict[str, AttributeValue] = {}
    if facts.status is not None:
        ended[HTTP_RESPONSE_STATUS_CODE] = facts.status
        if facts.status >= 400:
            ended[ERROR_TYPE] = str(facts.status)
    if facts.error_type is not None:
        ended[ERROR_TYPE] = facts.error_type
    return ended
