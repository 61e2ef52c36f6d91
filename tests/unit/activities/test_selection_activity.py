"""Selecting tools as missions do: recorded, counted, and never failing for the router's sake."""

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.testing import ActivityEnvironment

from activities.planning_activities import PlanningActivities
from orchestrator.adapters.storage.route_traces import RouteTraces
from orchestrator.adapters.telemetry.instruments import Telemetry
from orchestrator.catalog.catalog import Catalog
from orchestrator.messages.step import PlanStepInput
from orchestrator.planning.models import AgentProfile, CallTool, StepContext
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.testing.memory import MemoryCatalogs, MemoryTraces
from tests.unit.activities.planners import Scripted

CALL = CallTool(tool="weather_get_forecast", arguments={"city": "Ouagadougou"})


def context(catalog: Catalog) -> StepContext:
    """The first step of a leg with unusual words."""
    goal = "what is the weather in Ouagadougou tomorrow"
    return StepContext(
        mission_id="trip",
        leg_id="1-weather",
        step=1,
        mission_goal=goal,
        leg_goal=goal,
        agent=AgentProfile(name="any"),
        inputs={"nickname": "flibbertigibbet"},
        now=datetime(2026, 11, 20, 9, tzinfo=UTC),
        catalog_digest=catalog.digest,
    )


def activities(
    catalog: Catalog, folder: Path, traces: RouteTraces, *, broken: bool = False
) -> PlanningActivities:
    """The activities over a store of one catalog; broken: its router cannot be made."""
    store = MemoryCatalogs()
    store.put(catalog)

    def routers(catalog: Catalog) -> Router:
        if broken:
            raise RecursionError("flibbertigibbet")
        return Router(catalog)

    return PlanningActivities(store, routers, Scripted(call=CALL), (), traces)


async def test_a_step_is_recorded_with_what_it_calls(shipped: Catalog, tmp_path: Path) -> None:
    """The selection when it is made, the tool when the planner has chosen it, and no word said."""
    traces = MemoryTraces()
    thought = activities(shipped, tmp_path, traces)
    environment = ActivityEnvironment()

    selection = await environment.run(thought.select_tools, context(shipped))
    step = PlanStepInput(context=context(shipped), selection=selection)
    answer = await environment.run(thought.plan_step, step)

    assert isinstance(answer.decision, CallTool)
    (kept,) = traces.records()
    assert kept.tools == selection.tools
    assert kept.called == ((answer.decision.tool,),)
    assert kept.covered_by(kept.tools)
    stored = kept.model_dump_json().lower()
    assert "ouagadougou" not in stored
    assert "flibbertigibbet" not in stored


async def test_a_catalog_that_cannot_be_indexed_is_forwarded_whole(
    shipped: Catalog, tmp_path: Path
) -> None:
    """The mission goes on; the trace says why, without the error's words."""
    traces = MemoryTraces()
    thought = activities(shipped, tmp_path, traces, broken=True)

    selection = await ActivityEnvironment().run(thought.select_tools, context(shipped))

    assert selection.band == "fail_open"
    assert selection.tools == tuple(shipped.tools)
    (kept,) = traces.records()
    assert kept.band == "fail_open"
    assert kept.reason == "RecursionError while indexing the catalog"


async def test_steps_are_routed_one_at_a_time(shipped: Catalog, tmp_path: Path) -> None:
    """Several at once would share one interpreter, and each take the time of all."""
    traces = MemoryTraces()
    thought = activities(shipped, tmp_path, traces)
    at_once: list[int] = []
    inside = 0

    class Watched(Router):
        def route(self, *args: Any, **also: Any) -> Selection:
            nonlocal inside
            inside += 1
            at_once.append(inside)
            time.sleep(0.01)
            inside -= 1
            return super().route(*args, **also)

    router = Watched(shipped)
    thought._routers = lambda _: router
    environment = ActivityEnvironment()
    steps = [environment.run(thought.select_tools, context(shipped)) for _ in range(8)]
    await asyncio.gather(*steps)

    assert at_once == [1] * 8


async def test_a_router_that_fails_open_says_so_everywhere(
    shipped: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the step's selection, its headers, the record on disk, the counter and the span."""

    def broken(*_: object, **__: object) -> None:
        raise RecursionError("ouagadougou")

    monkeypatch.setattr("orchestrator.routing.router.adaptive_k", broken)
    reader, spans = InMemoryMetricReader(), InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    traces = MemoryTraces()
    thought = activities(shipped, tmp_path, traces)
    meter = MeterProvider([reader]).get_meter("test")
    thought._telemetry = Telemetry.on(provider.get_tracer("test"), meter)

    with provider.get_tracer("test").start_as_current_span("step"):
        selection = await ActivityEnvironment().run(thought.select_tools, context(shipped))

    reason = "RecursionError in the router"
    assert (selection.band, selection.reason) == ("fail_open", reason)
    assert selection.tools == tuple(shipped.tools)
    (kept,) = traces.records()
    assert (kept.band, kept.reason, kept.shadows) == ("fail_open", reason, {})
    (span,) = spans.get_finished_spans()
    attributes = dict(span.attributes or {})
    assert attributes["x-orqen-routing"] == "fail_open"
    assert attributes["x-orqen-tools-output"] == str(len(shipped))
    assert attributes["orchestrator.route.reason"] == reason
    assert '"band": "fail_open"' in str(reader.get_metrics_data().to_json())  # type: ignore[union-attr]  # it was collected
