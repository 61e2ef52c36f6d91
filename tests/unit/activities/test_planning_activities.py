"""Planning activities: goals are split, tools selected and found, steps decided and counted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from temporalio.testing import ActivityEnvironment

from orchestrator.activities.authority import Authority
from orchestrator.activities.fair_slots import FairSlots
from orchestrator.activities.plan_activities import PlanActivities
from orchestrator.activities.planning_activities import HandOverActivities, PlanningActivities
from orchestrator.adapters.telemetry.instruments import Telemetry
from orchestrator.arazzo.written import WrittenStep, WrittenWorkflow
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import GoalUnread, ModelRefused, ModelUnavailable
from orchestrator.core.limits import Limits
from orchestrator.messages.leg import HandOverAsked, HandOverInput, HandOverPlan
from orchestrator.messages.mission import BegunPlan, MissionRequest
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.plan_preview import PlanInput, PlanPreview
from orchestrator.messages.step import DiscoverInput, PlanStepInput
from orchestrator.planning.models import (
    AgentProfile,
    CallTool,
    Finish,
    GiveUp,
    LegPlan,
    MissionPlan,
    OneCall,
    StepContext,
)
from orchestrator.planning.per_agent import PerAgentPlanner
from orchestrator.planning.planner import Planner
from orchestrator.routing.learning.trace import RouteRecord
from orchestrator.routing.router import Router
from orchestrator.routing.selection import Selection
from orchestrator.saga.orders import Order
from orchestrator.testing import fake_selection
from tests.fakes import MemoryCatalogs, MemoryTraces
from tests.unit.activities.environments import of_mission
from tests.unit.activities.made_calls import failure_of
from tests.unit.activities.planners import Careless, Metered, Scripted, mission_of, step_context

CALL = CallTool(tool="weather_get_forecast", arguments={"city": "Ouagadougou"})
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
run = ActivityEnvironment().run


class Thought:
    """Planning over the example documents."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.traces = MemoryTraces()

    def by(
        self, planner: Planner, routers: Callable[[Catalog], Router] = Router, **more: Any
    ) -> PlanningActivities:
        store = MemoryCatalogs()
        store.put(self.catalog)
        return PlanningActivities(store, routers, planner, (), self.traces, **more)

    @property
    def context(self) -> StepContext:
        """The first step of a leg with unusual words."""
        inputs, digest = {"nickname": "flibbertigibbet"}, self.catalog.digest
        goal = "what is the weather in Ouagadougou tomorrow"
        return step_context(goal, inputs=inputs, catalog_digest=digest)

    @property
    def step(self) -> PlanStepInput:
        selection = fake_selection("weather_get_forecast", catalog_size=93)
        return PlanStepInput(context=self.context, selection=selection)

    async def selected(self, planning: PlanningActivities) -> Selection:
        selection = await run(planning.selected, self.context, self.context)
        assert isinstance(selection, Selection)
        return selection


@pytest.fixture
def thought(shipped: Catalog) -> Thought:
    return Thought(shipped)


class SlowTraces(MemoryTraces):
    """Notes where it was called, as a store does that a database is behind."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[threading.Thread] = []

    def record(self, record: RouteRecord) -> None:
        self.threads.append(threading.current_thread())

    def called(self, *, mission_id: str, leg_id: str, step: int, tool: str) -> None:
        self.threads.append(threading.current_thread())


async def test_a_store_that_hangs_stops_no_heartbeat(thought: Thought) -> None:
    """Traces are written beside the event loop, like all else that is kept."""
    traces = thought.traces = SlowTraces()
    planning = thought.by(Careless(CALL))
    await thought.selected(planning)
    await run(planning.plan_step, thought.step)

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
    thought: Thought, model: str | None, local: bool, is_refused: bool
) -> None:
    """By provider; a mission waits for its own, as for a tool. Rules and a workflow's task do not.

    Half of the two slots is held by a request that hangs.
    """
    planning = thought.by(PerAgentPlanner(Scripted(), Scripted), slots=FairSlots(2))

    async def another() -> None:
        with planning.place(None, model, "another"):
            pass

    async def hanging() -> None:
        with planning.place(None, "acme:big", "m"):
            asked = of_mission("another", is_local=local, activity_id="2").run(another)
            if not is_refused:
                await asked
                return
            refused = await failure_of(asked)
            assert refused.type == "SlotsTaken"
            assert refused.details[0].provider == "the model provider acme"

    await of_mission("m").run(hanging)


@pytest.mark.parametrize(("planner", "usage"), [(Metered(), Metered.usage), (Scripted(), None)])
async def test_a_step_is_recorded_with_what_it_took(
    thought: Thought, planner: Planner, usage: Usage | None
) -> None:
    """Nothing where no model was asked."""
    assert (await run(thought.by(planner).plan_step, thought.step)).usage == usage


@pytest.mark.parametrize(
    ("planner", "plan", "step"),
    [
        (Careless(None), "a NoneType, which is no MissionPlan", "a NoneType, which is no decision"),
        (Careless("finish"), "a str, which is no MissionPlan", "a str, which is no decision"),
        (Careless(Finish(summary="x"), at_once=True), "write `async def`", "write `async def`"),
    ],
)
async def test_an_answer_that_is_none_ends_the_mission_at_once(
    thought: Thought, planner: Planner, plan: str, step: str
) -> None:
    """It would be the same the next time; the error says what a planner of one's own lacks."""
    planning = thought.by(planner)
    of_plan = await failure_of(run(planning.split_goal, mission_of(thought.catalog)))
    of_step = await failure_of(run(planning.plan_step, thought.step))

    assert plan in of_plan.message and step in of_step.message
    assert of_plan.non_retryable and of_step.non_retryable


SEND = WrittenStep(step_id="send", tool="flight_book_offer", arguments={"traveler_id": "Ada"})


@pytest.mark.parametrize(
    "fixed",
    [
        {"call": OneCall(tool="weather_get_forecast", arguments={"city": "Oslo", "dayz": 2})},
        {"written": WrittenWorkflow(workflow_id="w", steps=(SEND,))},
    ],
    ids=["call", "workflow"],
)
async def test_a_fault_of_what_is_written_ends_its_leg(
    thought: Thought, fixed: dict[str, Any]
) -> None:
    """It is no trouble of a model: asked again, it would be the same."""
    context = thought.context.model_copy(update=fixed)
    planning = thought.by(Scripted())
    selection = await run(planning.selected, context, context)
    planned = await run(planning.plan_step, PlanStepInput(context=context, selection=selection))

    assert isinstance(planned.decision, GiveUp)
    assert not planned.unusable


async def test_discovery_hears_what_was_meant(thought: Thought) -> None:
    """Over the whole catalog, best first."""
    digest = thought.catalog.digest
    wanted = DiscoverInput(query="send a massage to the team", catalog_digest=digest)

    found = await run(thought.by(Scripted()).discover_tools, wanted)
    assert found.tools[0] == "message_send"


async def test_a_step_is_recorded_with_what_it_calls(thought: Thought) -> None:
    """The selection when it is made, the tool when the planner has chosen it, and no word said."""
    planning = thought.by(Scripted(call=CALL))
    selection = await thought.selected(planning)
    step = PlanStepInput(context=thought.context, selection=selection)
    assert (await run(planning.plan_step, step)).decision == CALL

    (kept,) = thought.traces.records()
    assert kept.tools == selection.tools
    assert kept.called == ((CALL.tool,),)
    assert kept.covered_by(kept.tools)
    stored = kept.model_dump_json().lower()
    assert "ouagadougou" not in stored
    assert "flibbertigibbet" not in stored


async def test_a_catalog_that_cannot_be_indexed_is_forwarded_whole(thought: Thought) -> None:
    """The mission goes on; the trace says why, without the error's words."""

    def broken(_: Catalog) -> Router:
        raise RecursionError("flibbertigibbet")

    selection = await thought.selected(thought.by(Scripted(), broken))

    assert selection.band == "fail_open"
    assert selection.tools == tuple(thought.catalog.tools)
    (kept,) = thought.traces.records()
    assert kept.band == "fail_open"
    assert kept.reason == "RecursionError while indexing the catalog"


async def test_steps_are_routed_one_at_a_time(thought: Thought) -> None:
    """Several at once would share one interpreter, and each take the time of all."""
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

    router = Watched(thought.catalog)
    planning = thought.by(Scripted(), lambda _: router)
    await asyncio.gather(*[thought.selected(planning) for _ in range(8)])

    assert at_once == [1] * 8


async def test_a_router_that_fails_open_says_so_everywhere(
    thought: Thought, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the step's selection, its headers, the record on disk, the counter and the span."""

    def broken(*_: object, **__: object) -> None:
        raise RecursionError("ouagadougou")

    monkeypatch.setattr("orchestrator.routing.router.adaptive_k", broken)
    reader, spans = InMemoryMetricReader(), InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    tracer, meter = provider.get_tracer("test"), MeterProvider([reader]).get_meter("test")
    planning = thought.by(Scripted(), telemetry=Telemetry.on(tracer, meter))
    with tracer.start_as_current_span("step"):
        selection = await thought.selected(planning)

    reason = "RecursionError in the router"
    assert (selection.band, selection.reason) == ("fail_open", reason)
    assert selection.tools == tuple(thought.catalog.tools)
    (kept,) = thought.traces.records()
    assert (kept.band, kept.reason, kept.shadows) == ("fail_open", reason, {})
    (span,) = spans.get_finished_spans()
    attributes = dict(span.attributes or {})
    assert attributes["x-orqen-routing"] == "fail_open"
    assert attributes["x-orqen-tools-output"] == str(len(thought.catalog))
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


async def split(thought: Thought, away: Away, *, attempt: int = 1) -> BegunPlan:
    """The plan that the activity makes, on one attempt of Temporal's."""
    planner = PerAgentPlanner(
        Scripted(),
        lambda: pytest.fail("no step is planned here"),
        default_model="a:model",
        splitter=lambda: away,
    )
    planning = thought.by(planner)
    plan = await of_mission(attempt=attempt).run(
        planning.split_goal, mission_of(thought.catalog, GOAL)
    )
    assert isinstance(plan, BegunPlan)
    return plan


async def test_a_model_that_may_come_back_is_asked_again(thought: Thought) -> None:
    """By Temporal, which tries the activity again."""
    away = Away(ModelUnavailable("a:model", "it is away"))

    assert not (await failure_of(split(thought, away))).non_retryable


@pytest.mark.parametrize(
    ("error", "attempt"),
    [(ModelUnavailable("a:model", "it is away"), 3), (ModelRefused("a:model", "401"), 1)],
    ids=["stays-away", "refuses"],
)
async def test_a_model_that_splits_nothing_does_not_lose_the_mission(
    thought: Thought, error: Exception, attempt: int
) -> None:
    """One leg without orders has the whole goal, and the plan says why; a refusal is final."""
    away = Away(error)
    plan = await split(thought, away, attempt=attempt)

    assert [(leg.goal, leg.orders) for leg in plan.legs] == [(GOAL, ())]
    assert plan.is_unproven
    assert plan.made_by.fallback
    assert away.asked == 1


async def test_a_hand_over_takes_along_the_orders_that_its_agent_can_serve(
    shipped: Catalog,
) -> None:
    """Of the orders of the leg that asks, and no more of them than it has itself."""
    flyer = AgentProfile(name="flyer", domains=("flights",), hands_over_to=("hotelier",))
    hotelier = AgentProfile(name="hotelier", domains=("hotels",))
    flight, room = Order(tools=("flight_book_offer",)), Order(tools=("hotel_book_room",))
    asked = HandOverAsked(
        hand_over_id="m.1-flight.1",
        leg_id="1-flight",
        agent="hotelier",
        goal="Book a hotel in Oslo",
        orders=(flight, room, room.model_copy(update={"count": 2})),
    )
    wanted = HandOverInput(
        mission_id="m",
        asked=asked,
        asking=LegPlan(leg_id="1-flight", goal="Fly and stay", agent=flyer, orders=(flight, room)),
        new_leg_id="h1-1-flight",
        catalog_digest=shipped.digest,
    )
    catalogs = MemoryCatalogs()
    catalogs.put(shipped)
    planning = HandOverActivities(catalogs, (flyer, hotelier))
    plan: HandOverPlan = await run(planning.plan_hand_over, wanted)

    assert plan.leg is not None, plan.refusal
    assert plan.leg.orders == (room,)


@pytest.mark.parametrize(
    ("profiles", "tool", "is_planned"),
    [
        ((), "flight_search_offers", True),
        ((), "hotel_book_room", False),
        ((AgentProfile(name="reader", domains=("hotels",)),), "flight_search_offers", False),
    ],
    ids=["inside", "outside", "outside the worker's"],
)
async def test_a_goal_of_a_workflow_stays_inside_the_wall_of_its_agent(
    shipped: Catalog, profiles: tuple[AgentProfile, ...], tool: str, is_planned: bool
) -> None:
    """Also on a worker without its profile; with the limits of a planner, not of a workflow."""
    limits = Limits(steps=1_000, tool_calls=9)
    reader = AgentProfile(name="reader", tools=("flight_search_offers",), limits=limits)
    asked = HandOverAsked(
        hand_over_id="m.1-trip.1",
        leg_id="1-trip",
        agent="",
        goal="Look around",
        orders=(Order(tools=(tool,)),),
    )
    flow = WrittenWorkflow(workflow_id="trip", steps=(SEND,))
    wanted = HandOverInput(
        mission_id="m",
        asked=asked,
        asking=LegPlan(leg_id="1-trip", goal="Travel", agent=reader, written=flow),
        new_leg_id="h1-1-trip",
        catalog_digest=shipped.digest,
    )
    catalogs = MemoryCatalogs()
    catalogs.put(shipped)
    plan: HandOverPlan = await run(HandOverActivities(catalogs, profiles).plan_hand_over, wanted)

    assert (plan.leg is not None) is is_planned
    if plan.leg is not None:
        assert plan.leg.agent.wall == reader.wall
        assert plan.leg.agent.limits == Limits(steps=40, tool_calls=9)


ANY = AgentProfile(name="any")
FLIGHT = LegPlan(
    leg_id="1-flights",
    goal="book a flight to Lisbon",
    agent=ANY,
    orders=(Order(tools=("flight_book_offer",), clause="book a flight", when="if it is dry"),),
    serves=("a flight to Lisbon",),
)
WEATHER = LegPlan(leg_id="2-weather", goal="the weather in Lisbon tomorrow", agent=ANY)
EXPENSE = LegPlan(
    leg_id="3-expenses",
    goal="file the expenses",
    agent=ANY,
    depends_on=("1-flights",),
    orders=(Order(tools=("expense_file_report",), each="the receipts"),),
)
TRIP = MissionPlan(legs=(FLIGHT, WEATHER, EXPENSE), uncovered=("and be nice",))


async def shown(
    catalog: Catalog, planner: Scripted, *, goal: str = "x", workers: MissionPolicy | None = None
) -> PlanPreview:
    """What a worker with this policy shows for a goal."""
    catalogs, authority = MemoryCatalogs(), Authority(workers or MissionPolicy())
    planning = PlanningActivities(
        catalogs, Router, planner, (), MemoryTraces(), authority=authority
    )
    activities = PlanActivities(catalog, catalogs, planning, authority)
    preview: PlanPreview = await ActivityEnvironment().run(
        activities.preview_plan, PlanInput(request=MissionRequest(goal=goal), now=NOW)
    )
    return preview


async def test_a_plan_is_shown_with_its_orders_tools_and_cards(shipped: Catalog) -> None:
    """A leg that only reads shows the tool that it would be offered first."""
    preview = await shown(shipped, Scripted(plan=TRIP))

    assert [(leg.leg_id, leg.stage, [tool.name for tool in leg.tools]) for leg in preview.legs] == [
        ("1-flights", 1, ["flight_book_offer"]),
        ("2-weather", 1, ["weather_get_forecast"]),
        ("3-expenses", 2, ["expense_file_report"]),
    ]
    assert [leg.orders for leg in preview.legs] == [leg.orders for leg in TRIP.legs]
    flight = preview.legs[0]
    assert flight.cards == ("structured-itinerary",)
    assert flight.tools[0].cancellation == "cancelled by flight_cancel_booking within 1 day"
    assert flight.serves == ("a flight to Lisbon",)
    assert (preview.uncovered, preview.doubts) == (("and be nice",), ())


async def test_the_same_is_planned_the_same(shipped: Catalog) -> None:
    """Another plan has another digest."""
    first = await shown(shipped, Scripted(plan=TRIP))
    again = await shown(shipped, Scripted(plan=TRIP))

    assert first == again
    assert first.digest != (await shown(shipped, Scripted(FLIGHT))).digest


async def test_whether_plans_are_approved_is_the_workers_policy(shipped: Catalog) -> None:
    """A mission's own policy need not say so."""
    preview = await shown(shipped, Scripted(plan=TRIP), workers=MissionPolicy(plan_first=True))

    assert preview.needs_approval
    assert not preview.asks_first


async def test_a_goal_that_nothing_fits_is_refused_in_a_sentence(shipped: Catalog) -> None:
    """As a mission would be."""

    class Refusing(Careless):
        async def split_goal(self, *_: Any) -> Any:
            raise GoalUnread("sing me a song", code="NothingFits")

    refused = await failure_of(shown(shipped, Refusing(None), goal="sing me a song"))

    assert "sing me a song" in refused.message
    assert (refused.type, refused.non_retryable) == ("NothingFits", True)
