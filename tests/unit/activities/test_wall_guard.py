"""Every activity of a step holds the agent to its wall, each without the help of the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.trace import NoOpTracer
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

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
from orchestrator.messages.mission_policy import BeginInput
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
from tests.unit.activities.planners import Scripted

OFFICE = AgentProfile(name="office", domains=("messages",))
FORGED = AgentProfile(name="office")
OUTSIDE = "flight_cancel_booking"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
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
    return StepContext(
        mission_id="m",
        leg_id="l",
        step=1,
        mission_goal="cancel my flight and tell my team",
        leg_goal="cancel my flight and tell my team",
        agent=agent,
        now=NOW,
        catalog_digest=catalog.digest,
        **more,
    )


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
    profiles: tuple[AgentProfile, ...],
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
    shipped: Catalog,
    thought: Thought,
    agent: AgentProfile,
    profiles: tuple[AgentProfile, ...],
) -> None:
    """Not by its very name."""
    wanted = DiscoverInput(query=OUTSIDE, catalog_digest=shipped.digest, agent=agent.wall, limit=50)

    found = await of_mission().run(thought(*profiles).discover_tools, wanted)
    assert _domains(shipped, found.tools) <= {"messages"}


@FENCED
async def test_a_decision_outside_is_refused_and_told(
    shipped: Catalog,
    thought: Thought,
    agent: AgentProfile,
    profiles: tuple[AgentProfile, ...],
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
    brief = BeginInput(mission_id="m", goal="x", now=NOW, catalog_digest=shipped.digest)

    await of_mission().run(thought(planner=planner).split_goal, brief)
    with pytest.raises(ApplicationError, match="which its profile does not allow") as refused:
        await of_mission().run(thought(OFFICE, planner=planner).split_goal, brief)
    assert refused.value.non_retryable


# -- preparing and sending ------------------------------------------------------------------------

READER = Wall(agent="reader", tools=("find_order",))
ANYBODY = Wall(agent="reader")
HELD = pytest.mark.parametrize(
    ("agent", "walls"),
    [(READER, Walls()), (ANYBODY, Walls([AgentProfile(name="reader", tools=("find_*",))]))],
    ids=["travels", "worker's"],
)


@HELD
async def test_no_call_outside_is_prepared(
    store: CatalogStore, shop: Callable[..., Catalog], scripted: Any, agent: Wall, walls: Walls
) -> None:
    """It has no card that could be approved and no entry in a ledger; one inside is prepared."""
    catalog = shop()
    wanted = PrepareInput(
        call_id="m.l.1",
        mission_id="m",
        leg_id="l",
        tool="order_book",
        arguments={"book_id": "b7"},
        agent=agent,
        catalog_digest=catalog.digest,
        now=NOW,
    )
    inside = wanted.model_copy(
        update={"tool": "find_order", "arguments": {"client_reference": "r"}}
    )
    prepare = PrepareActivities(
        store,
        scripted({}).as_client,
        WallGuard(walls),
    ).prepare_call

    refused = await of_mission().run(prepare, wanted)
    allowed = await of_mission().run(prepare, inside)

    (problem,) = refused.problems
    assert problem.startswith("order_book is not for the agent reader")
    assert refused == PreparedCall(problems=refused.problems)
    assert allowed.call is not None
    assert allowed.call.agent == agent


@HELD
@pytest.mark.parametrize(("attempt", "kind"), [(1, "rejected"), (2, "unknown")])
async def test_no_call_outside_is_sent(
    store: CatalogStore,
    shop: Callable[..., Catalog],
    scripted: Any,
    agent: Wall,
    walls: Walls,
    attempt: int,
    kind: str,
) -> None:
    """Not with a grant for exactly this call, which stays unused.

    A later attempt cannot know what an earlier one did, when the profile was another.
    """
    catalog, grants = shop(), MemoryGrants()
    client = scripted({"order_book": [ToolOutcome(kind="succeeded", status=200)]})
    call = _granted(catalog, agent)
    environment = of_mission()
    environment.info = dataclasses.replace(environment.info, attempt=attempt)

    tools = ToolActivities(
        store,
        client.as_client,
        grants,
        WallGuard(walls),
    )
    outcome = await environment.run(tools.invoke_tool, call)

    assert outcome.kind == kind
    assert (outcome.reason or "").startswith("order_book is not for the agent reader")
    assert client.called == []
    assert call.grant is not None
    sent = SentCall(call.call_id, "m", "somebody", (call.grant.digest,), Ledger())
    assert grants.send(sent).used_by == (None,)


async def test_a_call_inside_is_sent(
    store: CatalogStore, shop: Callable[..., Catalog], scripted: Any
) -> None:
    """The same call, for an agent that may make it."""
    catalog = shop()
    client = scripted({"order_book": [ToolOutcome(kind="succeeded", status=200)]})
    call = _granted(catalog, Wall(agent="reader", domains=("shop",)))

    tools = ToolActivities(store, client.as_client, MemoryGrants())
    outcome = await of_mission().run(tools.invoke_tool, call)

    assert outcome.kind == "succeeded"


def _granted(catalog: Catalog, agent: Wall) -> ToolCall:
    """An order with the grant of a person who approved it."""
    call = ToolCall(
        call_id="m.l.1",
        mission_id="m",
        leg_id="l",
        tool="order_book",
        catalog_digest=catalog.digest,
        arguments={"book_id": "b7"},
        agent=agent,
        card_type="structured-order",
    )
    digest = call_digest(
        call, arguments=call.arguments, card_type="structured-order", confirmation_id="c"
    )
    grant = Grant(confirmation_id="c", digest=digest, approver="ann", granted_at=NOW)
    return call.model_copy(update={"grant": grant})


async def test_a_worker_holds_every_activity_to_its_profiles(
    store: CatalogStore, shop: Callable[..., Catalog], scripted: Any, tmp_path: Path
) -> None:
    """All that it registers, each of them: a leg may have been started anywhere."""
    catalog = shop()
    client = scripted({"order_book": [ToolOutcome(kind="succeeded", status=200)]})
    registered = all_activities(
        catalog=catalog,
        catalogs=store,
        routers=Router,
        planner=Scripted(call=CALL),
        agents=(AgentProfile(name="reader", tools=("find_order",)),),
        tools=client.as_client,
        grants=MemoryGrants(),
        traces=MemoryTraces(),
        client=cast(Client, None),
    )
    named = {one.__name__: one for one in registered}
    call = _granted(catalog, ANYBODY)
    wanted = PrepareInput(**call.ref, arguments=call.arguments, agent=ANYBODY, now=NOW)
    search = DiscoverInput(query="order_book", catalog_digest=catalog.digest, agent=ANYBODY)

    environment = of_mission()
    assert (await environment.run(named["prepare_call"], wanted)).call is None
    assert (await environment.run(named["invoke_tool"], call)).kind == "rejected"
    assert "order_book" not in (await environment.run(named["discover_tools"], search)).tools
    assert client.called == []


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
