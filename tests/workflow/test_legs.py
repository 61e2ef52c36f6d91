"""How a mission runs its legs, and how a leg takes its steps."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import (
    CallTool,
    DiscoverTools,
    Finish,
    GiveUp,
    StepContext,
)
from orchestrator.saga.obligation import Obligation
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import fake_leg, states_of
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

SOLD_OUT = ToolOutcome(kind="rejected", status=409, reason="sold out")


async def test_a_mission_succeeds_with_all_that_its_legs_did(
    stage: Stage, world: FakeWorld
) -> None:
    """The result holds each leg's summary, and a receipt for each side effect."""
    mission = await stage.start_leg(
        "flight", CallTool(tool="book_flight"), Finish(summary="Booked.")
    )
    result = await mission.end()

    assert result.status is MissionStatus.SUCCEEDED
    assert result.summary == "Booked."
    assert result.error is None
    assert [r.tool for r in result.receipts] == ["book_flight"]
    assert result.receipts[0].reference == {"reference": f"{mission.mission_id}.flight.1"}
    assert states_of(result.ledger) == {"book_flight": "committed"}
    assert result.catalog_size == len(world.catalog)


async def test_legs_whose_dependencies_are_met_run_side_by_side(
    stage: Stage, world: FakeWorld
) -> None:
    """Two legs are both in the middle of a call, and the one that needs them has not begun."""
    world.plan(fake_leg("flight"), fake_leg("hotel"), fake_leg("car", after=("flight", "hotel")))
    world.decide("flight", CallTool(tool="book_flight"))
    world.decide("hotel", CallTool(tool="book_hotel"))
    flight = world.hold(names.INVOKE_TOOL, "book_flight")
    hotel = world.hold(names.INVOKE_TOOL, "book_hotel")

    mission = await stage.start()
    async with flight, hotel:
        meanwhile = await mission.snapshot()
    result = await mission.end()

    assert [leg.status for leg in meanwhile.legs] == [
        LegStatus.RUNNING,
        LegStatus.RUNNING,
        LegStatus.WAITING,
    ]
    assert [leg.status for leg in result.legs] == [LegStatus.SUCCEEDED] * 3


async def test_a_leg_gets_the_facts_of_those_it_depends_on(stage: Stage, world: FakeWorld) -> None:
    """Facts are what a needed leg did and was answered; those of other legs stay away."""
    world.plan(fake_leg("flight"), fake_leg("hotel"), fake_leg("car", after=("flight",)))
    world.decide("flight", CallTool(tool="book_flight", arguments={"to": "LIS"}))
    world.decide("hotel", CallTool(tool="book_hotel"))
    world.answer("book_flight", ToolOutcome(kind="succeeded", body={"lands": "14:05"}))

    await (await stage.start()).end()
    facts = world.contexts("car")[0].facts

    assert [(f.tool, f.arguments, f.body, f.side_effect) for f in facts] == [
        ("book_flight", {"to": "LIS"}, {"lands": "14:05"}, True)
    ]
    assert facts[0].source == "flight.1"
    assert facts[0].title == "Book flight"


async def test_a_call_that_was_rejected_rolls_back_nothing_by_itself(
    stage: Stage, world: FakeWorld
) -> None:
    """The planner reads the error and goes another way; what was booked before stays."""
    world.answer("book_flight", SOLD_OUT)

    result = await stage.run_leg(
        "trip",
        CallTool(tool="book_hotel"),
        CallTool(tool="book_flight"),
        CallTool(tool="book_car"),
    )

    assert result.status is MissionStatus.SUCCEEDED
    assert world.contexts("trip")[2].last_error == "sold out"
    assert states_of(result.ledger) == {
        "book_hotel": "committed",
        "book_flight": "void",
        "book_car": "committed",
    }
    assert world.compensated() == []


async def test_arguments_that_break_the_contract_go_back_to_the_planner(
    stage: Stage, world: FakeWorld
) -> None:
    """Nothing is sent, nothing is written, and the next step reads what was wrong."""
    result = await stage.run_leg("ticket", CallTool(tool="buy_ticket", arguments={"seat": 12}))
    seen = world.contexts("ticket")[1].observations[0]

    assert seen.outcome == "invalid"
    assert "seat" in (seen.error or "")
    assert world.sent("buy_ticket") == []
    assert result.ledger.obligations == ()


async def test_discovery_adds_tools_to_every_later_step(stage: Stage, world: FakeWorld) -> None:
    """A found tool joins the forwarded ones and can be called; the search is a step on record."""
    world.plan(fake_leg("car"))
    world.forward("find_flights")
    world.find("rent a car", "book_car")
    world.decide("car", DiscoverTools(query="rent a car"), CallTool(tool="book_car"))

    result = await (await stage.start()).end()
    steps = result.legs[0].steps

    assert [s.tools_forwarded for s in steps] == [
        ("find_flights",),
        ("find_flights", "book_car"),
        ("find_flights", "book_car"),
    ]
    assert (steps[0].did, steps[0].outcome) == ("discover 'rent a car'", "1 found")
    assert world.contexts("car")[1].observations[0].body == ["book_car"]
    assert states_of(result.ledger) == {"book_car": "committed"}


async def test_a_mission_past_its_deadline_is_lost_and_rolled_back(
    stage: Stage, world: FakeWorld
) -> None:
    """A leg that still waits for a person when the deadline comes is stopped."""
    world.plan(fake_leg("flight"), fake_leg("ticket"))
    world.decide("flight", CallTool(tool="book_flight"))
    world.decide("ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))

    mission = await stage.start(policy=MissionPolicy(deadline=timedelta(hours=1)))
    result = await mission.end()

    assert result.error == "the mission's deadline has passed"
    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert world.sent("buy_ticket") == []
    assert result.started_at is not None
    assert world.attempts(names.COMPENSATE)[0].at - result.started_at >= timedelta(hours=1)


async def test_a_side_effect_is_in_the_ledger_before_it_is_sent(
    stage: Stage, world: FakeWorld
) -> None:
    """Asked while the call is on its way, the leg already shows the obligation, all it needs."""
    seen: list[Obligation] = []
    call = world.hold(names.INVOKE_TOOL, "book_flight")

    mission = await stage.start_leg("flight", CallTool(tool="book_flight", arguments={"to": "LIS"}))
    async with call:
        seen += (await mission.leg("flight")).ledger.obligations
    result = await mission.end()

    assert [(o.tool, o.state.value, o.arguments) for o in seen] == [
        ("book_flight", "intended", {"to": "LIS"})
    ]
    assert seen[0].idempotency_key == world.sent("book_flight")[0].key
    assert seen[0].deadline == world.sent("book_flight")[0].deadline
    assert states_of(result.ledger) == {"book_flight": "committed"}


async def test_a_planner_that_fails_loses_its_leg(stage: Stage, world: FakeWorld) -> None:
    """An error that no retry mends ends the leg as failed, in the planner's words."""

    def broken(context: StepContext) -> GiveUp:
        raise ApplicationError("no tool fits 'teleport'", type="NothingFits", non_retryable=True)

    mission = await stage.start_leg("flight", broken)
    result = await mission.end()

    assert result.error == "no tool fits 'teleport'"
    assert result.status is MissionStatus.FAILED
    assert result.legs[0].status is LegStatus.FAILED
    assert result.legs[0].error == "no tool fits 'teleport'"


async def test_a_goal_that_cannot_be_split_fails_the_mission(
    stage: Stage, world: FakeWorld
) -> None:
    """No leg was started, so nothing is collected and nothing is taken back."""
    split = world.hold(names.SPLIT_GOAL)
    world.plan(fake_leg("flight"))

    mission = await stage.start()
    await split.reached()
    await mission.handle.cancel()
    result = await mission.end()

    assert result.status is MissionStatus.CANCELLED
    assert await mission.status() is WorkflowExecutionStatus.CANCELED
    assert result.legs == ()
    assert world.compensated() == []
