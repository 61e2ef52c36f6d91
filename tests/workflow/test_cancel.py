"""What a person, or the machine, can do to a mission in the middle of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from temporalio.client import WorkflowExecutionStatus
from temporalio.exceptions import CancelledError

from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.saga.ledger import ObligationState
from orchestrator.saga.outcome import CompensationOutcome
from orchestrator.testing import FakeWorld, fake_leg, states_of

if TYPE_CHECKING:
    from tests.workflow.conftest import CollectLegs, Mission, Stage


async def at_the_card(stage: Stage, world: FakeWorld) -> Mission:
    """A mission that has booked a flight and now waits for a person to confirm a ticket."""
    world.plan(fake_leg("flight"), fake_leg("ticket", after=("flight",)))
    world.decide("flight", CallTool(tool="book_flight"))
    world.decide("ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))
    mission = await stage.start()
    await mission.card("ticket")
    return mission


async def test_a_cancelled_mission_ends_canceled_with_everything_taken_back(
    stage: Stage, world: FakeWorld
) -> None:
    """Temporal shows Canceled, and the result document says what became of everything."""
    mission = await at_the_card(stage, world)

    await mission.handle.cancel()
    failure = await mission.failure()
    result = await mission.snapshot()

    assert isinstance(failure, CancelledError)
    assert await mission.status() is WorkflowExecutionStatus.CANCELED
    assert result.status is MissionStatus.CANCELLED
    assert result.error == "cancelled"
    assert result.finished_at is not None
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert world.sent("buy_ticket") == []


async def test_a_cancel_waits_for_the_call_that_is_on_its_way_and_takes_it_back(
    stage: Stage, world: FakeWorld
) -> None:
    """The call's answer is in the ledger before its leg stops, so it is taken back as committed."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight"), CallTool(tool="book_hotel"))
    call = world.hold(names.INVOKE_TOOL, "book_flight")

    mission = await stage.start()
    async with call:
        await mission.handle.cancel()
        await mission.is_cancelling("flight")
        meanwhile = await mission.leg("flight")
    result = await mission.end()

    assert states_of(meanwhile.ledger) == {"book_flight": "intended"}
    assert meanwhile.status is LegStatus.RUNNING
    assert [(o.tool, o.state) for o in world.compensated()] == [
        ("book_flight", ObligationState.COMMITTED)
    ]
    assert len(world.sent("book_flight")) == 1
    assert world.sent("book_hotel") == []
    assert result.status is MissionStatus.CANCELLED
    assert result.legs[0].status is LegStatus.CANCELLED


async def test_cancelling_twice_does_not_disturb_the_rollback(
    stage: Stage, world: FakeWorld
) -> None:
    """The second request finds the rollback under way and changes nothing."""
    mission = await at_the_card(stage, world)
    compensation = world.hold(names.COMPENSATE, "book_flight")

    await mission.handle.cancel()
    async with compensation:
        await mission.handle.cancel()
    result = await mission.end()

    assert await mission.status() is WorkflowExecutionStatus.CANCELED
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert len(world.compensated()) == 1


async def test_a_cancel_during_the_rollback_of_a_lost_mission_leaves_it_failed(
    stage: Stage, world: FakeWorld
) -> None:
    """It was lost before anybody cancelled: the first error stays, and so does the rollback."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight"), GiveUp(reason="no visa"))
    compensation = world.hold(names.COMPENSATE, "book_flight")

    mission = await stage.start()
    async with compensation:
        await mission.handle.cancel()
    result = await mission.end()

    assert await mission.status() is WorkflowExecutionStatus.FAILED
    assert result.error == "no visa"
    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_a_cancelled_mission_with_something_parked_says_so(
    stage: Stage, world: FakeWorld
) -> None:
    """Canceled for Temporal, parked for the operator: what is left is not hidden by the cancel."""
    mission = await at_the_card(stage, world)
    world.compensate("book_flight", CompensationOutcome(state="parked", note="too late"))

    await mission.handle.cancel()
    result = await mission.end()

    assert await mission.status() is WorkflowExecutionStatus.CANCELED
    assert result.status is MissionStatus.PARKED


async def test_a_leg_that_somebody_cancels_loses_the_mission(
    stage: Stage, world: FakeWorld
) -> None:
    """Only a cancel of the mission itself cancels it; this one failed, and is rolled back."""
    mission = await at_the_card(stage, world)

    await mission.leg_handle("ticket").cancel()
    result = await mission.end()

    assert await mission.status() is WorkflowExecutionStatus.FAILED
    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_a_terminated_leg_has_its_ledger_all_the_same(booked: Mission) -> None:
    """What it had booked is taken back, though it had no time to hand anything in."""
    # The mission too: the time-skipping server does not tell it that its leg was terminated.
    await booked.leg_handle("trip").terminate()
    await booked.handle.terminate()
    report = await (await booked.start_rollback()).result()

    assert states_of(report.ledger) == {"book_flight": "cancelled"}


async def test_a_terminated_leg_is_collected_as_failed(
    stage: Stage, world: FakeWorld, collect_legs: CollectLegs
) -> None:
    """Asked after its end it would still say that it waits for a person."""
    mission = await at_the_card(stage, world)
    await mission.leg_handle("ticket").terminate()

    flight, ticket = await collect_legs(mission)

    assert (flight.status, flight.error) == (LegStatus.SUCCEEDED, None)
    assert (ticket.status, ticket.error) == (LegStatus.FAILED, "the leg was terminated")
    await mission.handle.terminate()


async def test_a_terminated_mission_can_be_rolled_back_by_itself(
    stage: Stage, world: FakeWorld
) -> None:
    """Its legs are read by query: that of a workflow nobody runs any more answers too."""
    mission = await at_the_card(stage, world)

    await mission.handle.terminate()
    report = await (await mission.start_rollback()).result()

    assert await mission.status() is WorkflowExecutionStatus.TERMINATED
    assert report.settled
    assert states_of(report.ledger) == {"book_flight": "cancelled"}


async def test_a_leg_that_outlived_its_mission_is_stopped_before_it_is_cancelled(
    stage: Stage, world: FakeWorld
) -> None:
    """Its call is waited for and recorded; it books nothing behind the rollback."""
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="book_flight"), CallTool(tool="book_hotel"))
    call = world.hold(names.INVOKE_TOOL, "book_flight")

    mission = await stage.start()
    async with call:
        await mission.handle.terminate()
        rollback = await mission.start_rollback()
        await mission.is_cancelling("trip")
        too_soon = list(world.compensated())
    report = await rollback.result()

    assert too_soon == []
    assert [(o.tool, o.state) for o in world.compensated()] == [
        ("book_flight", ObligationState.COMMITTED)
    ]
    assert (await mission.leg("trip")).status is LegStatus.CANCELLED
    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert world.sent("book_hotel") == []


async def test_a_mission_terminated_during_its_rollback_does_not_stop_it(
    stage: Stage, world: FakeWorld
) -> None:
    """The rollback was abandoned to itself; that nobody reads its report is no error."""
    mission = await at_the_card(stage, world)
    compensation = world.hold(names.COMPENSATE, "book_flight")

    await mission.handle.cancel()
    async with compensation:
        await mission.handle.terminate()
    report = await mission.rollback_handle.result()

    assert states_of(report.ledger) == {"book_flight": "cancelled"}


async def test_a_succeeded_mission_can_be_rolled_back_later(stage: Stage, world: FakeWorld) -> None:
    """Its result stays as it was; the rollback has its own report."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight"))
    mission = await stage.start()
    await mission.end()

    report = await (await mission.start_rollback()).result()

    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert (await mission.snapshot()).status is MissionStatus.SUCCEEDED
