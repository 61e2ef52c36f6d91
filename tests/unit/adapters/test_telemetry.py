"""Spans and measurements of activities, and the leg that an activity works for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from types import SimpleNamespace
from types import SimpleNamespace as Message
from typing import Any, cast

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from temporalio.client import Client
from temporalio.common import SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.telemetry import conventions
from orchestrator.adapters.telemetry.exporting import WaitingWork
from orchestrator.adapters.telemetry.instruments import (
    Telemetry,
    count_selection,
    model_span,
    tool_call_span,
)
from orchestrator.adapters.telemetry.mission_spans import leg_attributes
from orchestrator.adapters.temporal.search_attributes import PARKED
from orchestrator.catalog.tool import Tool
from orchestrator.core.budget import Usage
from orchestrator.core.errors import ModelRefused
from orchestrator.planning.llm.model_asking import Models
from orchestrator.planning.metering import open_meter
from orchestrator.routing.router import Router, fail_open
from tests.shipped import shipped_catalog

_TOOL = Tool(
    name="t",
    document="d",
    domain="d",
    input_schema={"type": "object"},
    path="/x/{id}",
    method="GET",
)


def _recorded() -> tuple[Telemetry, InMemorySpanExporter, InMemoryMetricReader]:
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    meter = MeterProvider([reader]).get_meter("t")
    return Telemetry.on(tracers.get_tracer("t"), meter), spans, reader


def test_a_failed_call_is_an_error_without_its_text() -> None:
    """The span tells the kind of failure; what it said may hold what a person is called."""
    telemetry, spans, _ = _recorded()
    with (
        pytest.raises(ValueError, match="Ada"),
        tool_call_span(telemetry, _TOOL, base_url="https://h/x", call_id="c"),
    ):
        raise ValueError("Ada Lovelace is unknown")

    (span,) = spans.get_finished_spans()
    assert span.attributes is not None
    assert span.attributes["error.type"] == "ValueError"
    assert span.attributes["server.port"] == 443
    assert not span.status.is_ok
    assert span.events == ()
    assert "Ada" not in span.to_json()


def test_selections_are_counted_by_band() -> None:
    """So that a dashboard sees the router fail open."""
    catalog = shipped_catalog()
    telemetry, _, reader = _recorded()
    for selection in (
        fail_open(catalog, "ValueError in the router"),
        fail_open(catalog, "took over 50 ms, up to scoring"),
        Router(catalog).route("weather in London"),
    ):
        count_selection(telemetry, selection)

    data = reader.get_metrics_data()
    assert data is not None
    by_name = {m.name: m for m in data.resource_metrics[0].scope_metrics[0].metrics}
    metric = by_name["orchestrator.route.selections"]
    points = {str(p.attributes["band"]): p.value for p in metric.data.data_points}  # type: ignore[union-attr, index]
    assert by_name.keys() >= {
        "orchestrator.route.tools.offered",
        "orchestrator.route.tools.forwarded",
    }
    assert points["fail_open"] == 2
    assert sum(points.values()) == 3


async def test_a_request_to_a_model_is_a_span_with_its_usage_and_without_its_words() -> None:
    """By the conventions for generative AI: operation, provider, model, tokens, what it cost."""
    telemetry, spans, reader = _recorded()
    asked = [ModelRequest(parts=[UserPromptPart("book for Ada")])]

    def answered(_: object, info: AgentInfo) -> ModelResponse:
        return ModelResponse(
            parts=[TextPart("Ada is booked")], usage=RequestUsage(input_tokens=120, output_tokens=8)
        )

    def refused(_: object, info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(429, "gpt-5", {"error": "too many for Ada"})

    with open_meter(Usage(), lambda _: None, partial(model_span, telemetry)):
        for model in (FunctionModel(answered), FunctionModel(refused)):
            with contextlib.suppress(ModelRefused):
                models = Models(partial(lambda model, _: model, model))
                await models.ask("openai:gpt-5", asked, ModelRequestParameters())

    good, bad = spans.get_finished_spans()
    assert (good.name, bad.name) == ("chat gpt-5", "chat gpt-5")
    assert dict(good.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 8,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "orchestrator.model.cost": 0.0,
    }
    assert (bad.attributes or {})["error.type"] == "ModelRefused"
    told = "".join([*(span.to_json() for span in (good, bad)), str(reader.get_metrics_data())])
    assert "gen_ai.client.token.usage" in told
    assert "gen_ai.client.operation.duration" in told
    assert "Ada" not in told


async def test_what_waits_is_told_until_the_server_no_longer_answers() -> None:
    """What is parked is summed up; a server that is away leaves no old figure standing."""
    reader = InMemoryMetricReader()
    server = _Visibility([2, 3])
    work = WaitingWork(cast(Client, server), MeterProvider([reader]).get_meter("t"))

    assert _gauges(reader) == {}
    await work.look()
    assert _gauges(reader) == {
        "orchestrator.rollback.parked": [5],
        "orchestrator.waiting": [7, 7, 7, 7, 7],
    }
    assert all("ExecutionStatus = 'Running'" in query for query in server.asked)
    server.is_away = True
    looking = asyncio.create_task(work.keep_looking())
    await asyncio.sleep(0)
    looking.cancel()
    assert _gauges(reader) == {}


class _Visibility:
    """Of a Temporal client what counts and lists."""

    def __init__(self, parked: list[int]) -> None:
        self._parked = parked
        self.asked: list[str] = []
        self.is_away = False

    async def count_workflows(self, query: str) -> Any:
        self.asked.append(query)
        if self.is_away:
            raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")
        return SimpleNamespace(count=7)

    async def list_workflows(self, query: str) -> AsyncIterator[Any]:
        self.asked.append(query)
        for parked in self._parked:
            pairs = [SearchAttributePair(PARKED, parked)]
            yield SimpleNamespace(typed_search_attributes=TypedSearchAttributes(pairs))


def _gauges(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    data = reader.get_metrics_data()
    found = [] if data is None else data.resource_metrics[0].scope_metrics[0].metrics
    return {one.name: [point.value for point in one.data.data_points] for one in found}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("message", "leg_id", "agent"),
    [
        (Message(leg_id="1-room", agent=Message(agent="rooms")), "1-room", "rooms"),
        (Message(step=Message(leg_id="1-room", agent=Message(name="rooms"))), "1-room", "rooms"),
        (Message(step=Message(key="kept"), call=Message(leg_id="1-room")), "1-room", None),
        (Message(obligation=Message(leg_id="1-room")), "1-room", None),
        (Message(goal="split it"), None, None),
    ],
)
def test_a_span_names_the_leg_and_the_agent_that_its_activity_works_for(
    message: Any, leg_id: str | None, agent: str | None
) -> None:
    """As far as its input names them: a call, a step, an obligation; the mission's own does not."""
    named = leg_attributes([message])

    assert (named.get(conventions.LEG_ID), named.get(conventions.AGENT_NAME)) == (leg_id, agent)
