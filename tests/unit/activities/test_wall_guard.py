"""Every activity of a step holds the agent to its wall, each without the help of the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.trace import NoOpTracer
from temporalio.client import Client

from orchestrator.activities import all_activities
from orchestrator.activities.authority import WallGuard
from orchestrator.activities.planning_activities import PlanningActivities
from orchestrator.activities.prepare_activities import PrepareActivities
from orchestrator.activities.tool_activities import ToolActivities
from orchestrator.adapters.storage.protocols import CatalogStore, SentCall
from orchestrator.adapters.telemetry.instruments import Telemetry
from orchestrator.catalog.catalog import Catalog
from orchestrator.confirmation.models import Grant, call_digest
from orchestrator.core.wall import Wall
from orchestrator.messages.step import DiscoverInput, PlanStepInput, PlanStepOutput
from orchestrator.messages.tool_call import PreparedCall, PrepareInput, ToolCall
from orchestrator.planning.models import AgentProfile, CallTool, StepContext
from orchestrator.planning.walls import Walls
from orchestrator.routing.router import Router
from orchestrator.routing.selection import RouteContext, Selection
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import fake_selection
from tests.fakes import MemoryGrants, MemoryTraces, fake_leg
from tests.unit.activities.environments import of_mission
from tests.unit.activities.made_calls import NOW, call_of, failure_of, made_call, wanted_call
from tests.unit.activities.planners import Scripted, mission_of, step_context

OFFICE = AgentProfile(name="office", domains=("messages",))
FORGED = AgentProfile(name="office")
OUTSIDE = "flight_cancel_booking"

FENCED = pytest.mark.parametrize(
    ("agent", "profiles"), [(OFFICE, ()), (FORGED, (OFFICE,))], ids=["travels", "worker's"]
)
"""The wall that holds came with the step, or is this worker's and the step's says nothing."""


CALL = CallTool(tool=OUTSIDE, arguments={"booking_id": "FLB-1", "card": "4111"})
"""A stubborn planner calls it whatever it is shown."""


class Careless(Router):
    """Forwards what it likes."""

    def route(self, text: str, context: RouteContext | None = None, **_: Any) -> Selection:
        return fake_selection("message_send", OUTSIDE, catalog_size=93)


def _context(catalog: Catalog, agent: AgentProfile, **more: Any) -> StepContext:
    goal = "cancel my flight and tell my team"
    return step_context(goal, agent=agent, catalog_digest=catalog.digest, **more)


Profiles = tuple[AgentProfile, ...]


Thought = Callable[..., PlanningActivities]


@pytest.fixture
def traces() -> MemoryTraces:
    """What was selected."""
    return MemoryTraces()


@pytest.fixture
def thought(store: CatalogStore, shipped: Catalog, traces: MemoryTraces) -> Thought:
    """Makes the activities over the example documents."""
    store.put(shipped)

    def make(
        *profiles: AgentProfile, planner: Any = None, routers: Callable[[Catalog], Router] = Router
    ) -> PlanningActivities:
        return PlanningActivities(store, routers, planner or Scripted(call=CALL), profiles, traces)

    return make


def _broken(_: Catalog) -> Router:
    raise RecursionError


def _domains(catalog: Catalog, names: tuple[str, ...]) -> set[str]:
    return {catalog.tool(name).domain for name in names}


@FENCED
@pytest.mark.parametrize("routers", [Router, Careless, _broken])
async def test_nothing_outside_is_selected(
    shipped: Catalog,
    thought: Thought,
    traces: MemoryTraces,
    agent: AgentProfile,
    profiles: Profiles,
    routers: Callable[[Catalog], Router],
) -> None:
    """Whatever the router forwards, or if there is none; nor what the leg claims to have found."""
    context = _context(shipped, agent, discovered=(OUTSIDE, "message_unsend"))
    planning = thought(*profiles, routers=routers)
    selection = await of_mission().run(planning.selected, context, context)

    assert _domains(shipped, selection.tools) == {"messages"}
    assert "message_unsend" in selection.tools
    (kept,) = traces.records()
    assert OUTSIDE not in kept.model_dump_json()


@FENCED
async def test_nothing_outside_is_discovered(
    shipped: Catalog, thought: Thought, agent: AgentProfile, profiles: Profiles
) -> None:
    """Not by its very name."""
    wanted = DiscoverInput(query=OUTSIDE, catalog_digest=shipped.digest, agent=agent.wall, limit=50)

    found = await of_mission().run(thought(*profiles).discover_tools, wanted)
    assert _domains(shipped, found.tools) <= {"messages"}


@FENCED
async def test_a_decision_outside_is_refused_and_told(
    shipped: Catalog, thought: Thought, agent: AgentProfile, profiles: Profiles
) -> None:
    """The leg goes on: no error. What was to be sent is kept nowhere, for nobody checked it."""
    planner = Scripted(call=CALL)
    step = PlanStepInput(
        context=_context(shipped, agent, discovered=(OUTSIDE,)),
        selection=fake_selection("message_send", OUTSIDE, catalog_size=93),
    )
    planned = await of_mission().run(thought(*profiles, planner=planner).plan_step, step)

    assert isinstance(planned, PlanStepOutput)
    assert planned.refusal is not None
    assert planned.refusal.startswith(f"{OUTSIDE} is not for the agent office")
    assert planned.decision == CallTool(tool=OUTSIDE)
    assert planner.shown == [("message_send",)]


async def test_a_plan_that_widens_a_profile_ends_the_mission_before_it_began(
    shipped: Catalog, thought: Thought
) -> None:
    """Whoever planned it."""
    planner = Scripted(fake_leg("l", agent=FORGED))
    brief = mission_of(shipped)

    await of_mission().run(thought(planner=planner).split_goal, brief)
    widened = thought(OFFICE, planner=planner).split_goal
    refused = await failure_of(of_mission().run(widened, brief))
    assert "which its profile does not allow" in refused.message
    assert refused.non_retryable


# -- preparing and sending ------------------------------------------------------------------------

READER = Wall(agent="reader", tools=("find_order",))
ANYBODY = Wall(agent="reader")
HELD = pytest.mark.parametrize(
    ("agent", "walls"),
    [(READER, Walls()), (ANYBODY, Walls([AgentProfile(name="reader", tools=("find_*",))]))],
    ids=["travels", "worker's"],
)


@dataclasses.dataclass
class Bookshop:
    """A worker that prepares and sends orders, and may call its provider."""

    store: CatalogStore
    catalog: Catalog
    client: Any
    grants: MemoryGrants = dataclasses.field(default_factory=MemoryGrants)

    def prepare(self, walls: Walls) -> Any:
        return PrepareActivities(self.store, self.client.as_client, WallGuard(walls)).prepare_call

    def send(self, walls: Walls) -> Any:
        guard = WallGuard(walls)
        return ToolActivities(self.store, self.client.as_client, self.grants, guard).invoke_tool

    def granted(self, agent: Wall) -> ToolCall:
        """An order with the grant of a person who approved it."""
        kind = "structured-order"
        call = made_call(
            "m.l.1",
            tool="order_book",
            catalog_digest=self.catalog.digest,
            arguments={"book_id": "b7"},
            agent=agent,
            card_type=kind,
        )
        digest = call_digest(call, arguments=call.arguments, card_type=kind, confirmation_id="c")
        grant = Grant(confirmation_id="c", digest=digest, approver="ann", granted_at=NOW)
        return call.model_copy(update={"grant": grant})


@pytest.fixture
def bookshop(store: CatalogStore, shop: Callable[..., Catalog], scripted: Any) -> Bookshop:
    ordered = ToolOutcome(kind="succeeded", status=200)
    return Bookshop(store, shop(), scripted({"order_book": [ordered]}))


@HELD
async def test_no_call_outside_is_prepared(bookshop: Bookshop, agent: Wall, walls: Walls) -> None:
    """It has no card that could be approved and no entry in a ledger; one inside is prepared."""
    told = {"catalog_digest": bookshop.catalog.digest, "agent": agent}
    wanted = wanted_call("m.l.1", tool="order_book", arguments={"book_id": "b7"}, **told)
    inside = wanted_call("m.l.1", tool="find_order", arguments={"client_reference": "r"}, **told)
    refused = await of_mission().run(bookshop.prepare(walls), wanted)
    allowed = await of_mission().run(bookshop.prepare(walls), inside)

    (problem,) = refused.problems
    assert problem.startswith("order_book is not for the agent reader")
    assert refused == PreparedCall(problems=refused.problems)
    assert call_of(allowed).agent == agent


@HELD
@pytest.mark.parametrize(("attempt", "kind"), [(1, "rejected"), (2, "unknown")])
async def test_no_call_outside_is_sent(
    bookshop: Bookshop, agent: Wall, walls: Walls, attempt: int, kind: str
) -> None:
    """Not with a grant for exactly this call, which stays unused.

    A later attempt cannot know what an earlier one did, when the profile was another.
    """
    call = bookshop.granted(agent)
    outcome = await of_mission(attempt=attempt).run(bookshop.send(walls), call)

    assert outcome.kind == kind
    assert (outcome.reason or "").startswith("order_book is not for the agent reader")
    assert bookshop.client.called == []
    assert call.grant is not None
    sent = SentCall(call.call_id, "m", "somebody", (call.grant.digest,), Ledger())
    assert bookshop.grants.send(sent).used_by == (None,)


async def test_a_call_inside_is_sent(bookshop: Bookshop) -> None:
    """The same call, for an agent that may make it."""
    call = bookshop.granted(Wall(agent="reader", domains=("shop",)))

    assert (await of_mission().run(bookshop.send(Walls()), call)).kind == "succeeded"


async def test_a_worker_holds_every_activity_to_its_profiles(bookshop: Bookshop) -> None:
    """All that it registers, each of them: a leg may have been started anywhere."""
    registered = all_activities(
        catalog=bookshop.catalog,
        catalogs=bookshop.store,
        routers=Router,
        planner=Scripted(call=CALL),
        agents=(AgentProfile(name="reader", tools=("find_order",)),),
        tools=bookshop.client.as_client,
        grants=bookshop.grants,
        traces=MemoryTraces(),
        client=cast(Client, None),
    )
    named = {one.__name__: one for one in registered}
    call, digest = bookshop.granted(ANYBODY), bookshop.catalog.digest
    wanted = PrepareInput(**call.ref, arguments=call.arguments, agent=ANYBODY, now=NOW)
    search = DiscoverInput(query="order_book", catalog_digest=digest, agent=ANYBODY)

    run = of_mission().run
    assert (await run(named["prepare_call"], wanted)).call is None
    assert (await run(named["invoke_tool"], call)).kind == "rejected"
    assert "order_book" not in (await run(named["discover_tools"], search)).tools
    assert bookshop.client.called == []


def test_refusals_are_counted_by_where_they_were_made(shipped: Catalog) -> None:
    """Without the name of anybody or anything."""
    reader = InMemoryMetricReader()
    telemetry = Telemetry.on(NoOpTracer(), MeterProvider([reader]).get_meter("test"))
    guard = WallGuard(Walls(), telemetry)

    assert guard.refusal(OFFICE.wall, shipped.tool("message_send"), at="sending") is None
    assert guard.refusal(OFFICE.wall, shipped.tool(OUTSIDE), at="sending") is not None

    collected = str(reader.get_metrics_data().to_json())  # type: ignore[union-attr]  # it was
    assert '"orchestrator.agent.refusals"' in collected
    assert '"attributes": {"at": "sending"}' in collected.replace("\n", "").replace("  ", "")
    assert "office" not in collected
