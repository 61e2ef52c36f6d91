"""Planning activities: goals are split, tools selected and found, steps decided and counted."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from orchestrator.activities.fair_slots import FairSlots
from orchestrator.activities.planning_activities import HandOverActivities, PlanningActivities
from orchestrator.adapters.storage.protocols import CatalogStore, RouteTraces
from orchestrator.adapters.telemetry.instruments import Telemetry
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import ModelRefused, ModelUnavailable
from orchestrator.messages.leg import HandOverAsked, HandOverInput, HandOverPlan
from orchestrator.messages.mission import BegunPlan
from orchestrator.messages.mission_policy import BeginInput
from orchestrator.messages.step import DiscoverInput, PlanStepInput
from orchestrator.planning.models import AgentProfile, CallTool, Finish, LegPlan, StepContext
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.planner import Planner
from orchestrator.routing.learning.trace import RouteRecord
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.saga.orders import Order
from orchestrator.testing import fake_selection
from tests.fakes import MemoryCatalogs, MemoryTraces
from tests.unit.activities.environments import of_mission
from tests.unit.activities.planners import Careless, Metered, Scripted

if TYPE_CHECKING:
    from orchestrator.catalog.catalog import Catalog


@pytest.fixture
def store(shipped: Catalog, tmp_path: Path) -> CatalogStore:
    """The example documents, kept."""
    store = MemoryCatalogs()
    store.put(shipped)
    return store


def _step(catalog: Catalog) -> PlanStepInput:
    return PlanStepInput(
        context=StepContext(
            mission_id="m",
            leg_id="l",
            step=1,
            mission_goal="find me a hotel in Lisbon",
            leg_goal="find me a hotel in Lisbon",
            agent=AgentProfile(name="a"),
            now=datetime(2026, 11, 21, tzinfo=UTC),
            catalog_digest=catalog.digest,
        ),
        selection=fake_selection("hotel_search_rooms", catalog_size=93),
    )


class SlowTraces(MemoryTraces):
    """Notes where it was called, as a store does that a database is behind."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[threading.Thread] = []

    def record(self, record: RouteRecord) -> None:
        self.threads.append(threading.current_thread())

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        self.threads.append(threading.current_thread())


async def test_a_store_that_hangs_stops_no_heartbeat(shipped: Catalog, store: CatalogStore) -> None:
    """Traces are written beside the event loop, like all else that is kept."""
    traces, step = SlowTraces(), _step(shipped)
    planner = Careless(CallTool(tool="hotel_search_rooms", arguments={"city": "Lisbon"}))
    thought = PlanningActivities(store, Router, planner, (), traces)
    await ActivityEnvironment().run(thought.selected, step.context, step.context)
    await ActivityEnvironment().run(thought.plan_step, step)

    assert len(traces.threads) == 2
    assert threading.current_thread() not in traces.threads


@pytest.mark.parametrize(
    ("model", "local", "is_refused"),
    [
        ("acme:big", False, True),
        ("acme:small", False, True),
        ("other:big", False, False),
        ("acme:big", True, False),
        (None, False, False),
    ],
)
async def test_requests_to_models_have_a_share_of_the_slots(
    store: CatalogStore, model: str | None, local: bool, is_refused: bool
) -> None:
    """By provider; a mission waits for its own, as for a tool. Rules and a workflow's task do not.

    Half of the two slots is held by a request that hangs.
    """
    rules = PerAgentPlanner(Scripted(), Scripted)
    thought = PlanningActivities(store, Router, rules, (), MemoryTraces(), slots=FairSlots(2))

    def another() -> None:
        with thought.place(None, model, "another"):
            pass

    def hanging() -> None:
        with thought.place(None, "acme:big", "m"):
            environment = of_mission("another", is_local=local, activity_id="2")
            if not is_refused:
                environment.run(another)
                return
            with pytest.raises(ApplicationError) as refused:
                environment.run(another)
            assert refused.value.type == "SlotsTaken"
            assert refused.value.details[0].provider == "the model provider acme"

    of_mission("m").run(hanging)


def _thought(store: CatalogStore, planner: Planner, folder: Path) -> PlanningActivities:
    traces = MemoryTraces()
    return PlanningActivities(store, Router, planner, (), traces)


@pytest.mark.parametrize(("planner", "usage"), [(Metered(), Metered.usage), (Scripted(), None)])
async def test_a_step_is_recorded_with_what_it_took(
    shipped: Catalog, store: CatalogStore, tmp_path: Path, planner: Planner, usage: Usage | None
) -> None:
    """Nothing where no model was asked."""
    thought = _thought(store, planner, tmp_path)

    planned = await ActivityEnvironment().run(thought.plan_step, _step(shipped))
    assert planned.usage == usage


@pytest.mark.parametrize(
    ("planner", "plan", "step"),
    [
        (Careless(None), "gives a NoneType, which is no Mis", "gives a NoneType, which is no dec"),
        (Careless("finish"), "gives a str, which is no MissionPlan", "gives a str, which is no de"),
        (Careless(Finish(summary="x"), at_once=True), "write `async def`", "write `async def`"),
    ],
)
async def test_an_answer_that_is_none_ends_the_mission_at_once(
    shipped: Catalog, store: CatalogStore, tmp_path: Path, planner: Planner, plan: str, step: str
) -> None:
    """It would be the same the next time; the error says what a planner of one's own lacks."""
    thought = _thought(store, planner, tmp_path)
    brief = BeginInput(
        mission_id="m",
        goal="x",
        now=datetime(2026, 11, 21, tzinfo=UTC),
        catalog_digest=shipped.digest,
    )

    with pytest.raises(ApplicationError, match=plan) as of_plan:
        await ActivityEnvironment().run(thought.split_goal, brief)
    with pytest.raises(ApplicationError, match=step) as of_step:
        await ActivityEnvironment().run(thought.plan_step, _step(shipped))
    assert of_plan.value.non_retryable
    assert of_step.value.non_retryable


async def test_discovery_hears_what_was_meant(
    shipped: Catalog, store: CatalogStore, tmp_path: Path
) -> None:
    """Over the whole catalog, best first."""
    thought = _thought(store, Scripted(), tmp_path)
    wanted = DiscoverInput(query="send a massage to the team", catalog_digest=shipped.digest)

    found = await ActivityEnvironment().run(thought.discover_tools, wanted)
    assert found.tools[0] == "message_send"


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

    selection = await environment.run(thought.selected, *[context(shipped)] * 2)
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

    selection = await ActivityEnvironment().run(
        thought.selected, context(shipped), context(shipped)
    )

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
    steps = [environment.run(thought.selected, *[context(shipped)] * 2) for _ in range(8)]
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
        selection = await ActivityEnvironment().run(
            thought.selected, context(shipped), context(shipped)
        )

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


GOAL = "Find flights from Berlin to Lisbon on 3 December 2026"


class Away:
    """A splitter whose model raises one error, again and again."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked = 0

    async def split(self, *_: Any) -> Any:
        self.asked += 1
        raise self.error

    def holds(self, *_: Any) -> bool:
        return False


async def split(catalog: Catalog, away: Away, *, attempt: int = 1) -> BegunPlan:
    """The plan that the activity makes, on one attempt of Temporal's."""
    store = MemoryCatalogs()
    store.put(catalog)
    planner = PerAgentPlanner(
        Scripted(),
        lambda: pytest.fail("no step is planned here"),
        default_model="a:model",
        splitter=lambda: away,
    )
    thought = PlanningActivities(store, Router, planner, (), MemoryTraces())
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(environment.info, attempt=attempt)
    mission = BeginInput(
        mission_id="m",
        goal=GOAL,
        now=datetime(2026, 11, 23, tzinfo=UTC),
        catalog_digest=catalog.digest,
    )
    plan: BegunPlan = await environment.run(thought.split_goal, mission)
    return plan


async def test_a_model_that_may_come_back_is_asked_again(shipped: Catalog) -> None:
    """By Temporal, which tries the activity again."""
    with pytest.raises(ApplicationError) as failed:
        await split(shipped, Away(ModelUnavailable("a:model", "it is away")))

    assert not failed.value.non_retryable


@pytest.mark.parametrize(
    ("error", "attempt"),
    [(ModelUnavailable("a:model", "it is away"), 3), (ModelRefused("a:model", "401"), 1)],
    ids=["stays-away", "refuses"],
)
async def test_a_model_that_splits_nothing_does_not_lose_the_mission(
    shipped: Catalog, error: Exception, attempt: int
) -> None:
    """One leg without orders has the whole goal, and the plan says why; a refusal is final."""
    away = Away(error)

    plan = await split(shipped, away, attempt=attempt)

    assert [(leg.goal, leg.orders) for leg in plan.legs] == [(GOAL, ())]
    assert plan.is_unproven
    assert plan.made_by.fallback
    assert away.asked == 1


FLYER = AgentProfile(name="flyer", domains=("flights",), hands_over_to=("hotelier",))
HOTELIER = AgentProfile(name="hotelier", domains=("hotels",))
FLIGHT = Order(tools=("flight_book_offer",))
ROOM = Order(tools=("hotel_book_room",))
ASKED = HandOverAsked(
    hand_over_id="m.1-flight.1",
    leg_id="1-flight",
    agent="hotelier",
    goal="Book a hotel in Oslo",
    orders=(FLIGHT, ROOM, ROOM.model_copy(update={"count": 2})),
)


async def test_a_hand_over_takes_along_the_orders_that_its_agent_can_serve(
    shipped: Catalog,
) -> None:
    """Of the orders of the leg that asks, and no more of them than it has itself."""
    catalogs = MemoryCatalogs()
    catalogs.put(shipped)
    wanted = HandOverInput(
        mission_id="m",
        asked=ASKED,
        asking=LegPlan(leg_id="1-flight", goal="Fly and stay", agent=FLYER, orders=(FLIGHT, ROOM)),
        new_leg_id="h1-1-flight",
        catalog_digest=shipped.digest,
    )

    activities = HandOverActivities(catalogs, (FLYER, HOTELIER))
    plan: HandOverPlan = await ActivityEnvironment().run(activities.plan_hand_over, wanted)

    assert plan.leg is not None, plan.refusal
    assert plan.leg.orders == (ROOM,)
