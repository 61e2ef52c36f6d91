"""A planner that cancels what its mission booked: nobody is asked, nothing is cancelled twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.planning.models import CallTool, GiveUp, StepContext, StepDecision
from orchestrator.saga.ledger import ObligationState
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import FakeWorld, fake_leg, fake_tool, states_of

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

BUSY = ApplicationError("HTTP 503", type=names.PROVIDER_BUSY)
TOOLS = (
    fake_tool(
        "book_flight",
        cancel_tool="cancel_flight",
        cancel_arguments={"reference": "$response.body#/reference"},
    ),
    fake_tool("cancel_flight", cancels="book_flight"),
)


@pytest.fixture
def world(workflow_env: WorkflowEnvironment) -> FakeWorld:
    """Flights that can be booked, and cancelled by the reference in the answer."""
    return FakeWorld(workflow_env.client, TOOLS)


def cancel_what_was_seen(context: StepContext) -> CallTool:
    """Cancel the booking that this leg made, or else the one it was told of."""
    bodies = [o.body for o in context.observations] or [f.body for f in context.facts]
    assert isinstance(bodies[0], dict)
    return CallTool(tool="cancel_flight", arguments={"reference": bodies[0]["reference"]})


def book_and_cancel(world: FakeWorld, *then: StepDecision) -> None:
    """One leg that books a flight, cancels it, and then does what is said."""
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="book_flight"), cancel_what_was_seen, *then)


async def test_what_a_leg_cancelled_itself_is_cancelled_in_the_ledger(
    stage: Stage, world: FakeWorld
) -> None:
    """The mission succeeds without it, and a later rollback has nothing left to take back."""
    book_and_cancel(world)

    mission = await stage.start()
    result = await mission.end()
    report = await (await mission.start_rollback()).result()

    assert result.status is MissionStatus.SUCCEEDED
    assert result.receipts == ()
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert result.ledger.obligations[0].note == f"cancelled by {mission.mission_id}.trip.2"
    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert world.compensated() == []


async def test_a_cancel_asks_nobody_and_has_a_key_of_its_own(
    stage: Stage, world: FakeWorld
) -> None:
    """It goes out at once, as the step that it is."""
    book_and_cancel(world)

    mission = await stage.start()
    result = await mission.end()
    (booking,), (cancel,) = world.sent("book_flight"), world.sent("cancel_flight")

    assert result.legs[0].decisions == ()
    assert cancel.grant is None
    assert cancel.call_id != booking.call_id


async def test_another_leg_may_cancel_it(stage: Stage, world: FakeWorld) -> None:
    """What one leg booked and the next one cancelled is cancelled in the mission's ledger."""
    world.plan(fake_leg("trip"), fake_leg("regret", after=("trip",)))
    world.decide("trip", CallTool(tool="book_flight"))
    world.decide("regret", cancel_what_was_seen, GiveUp(reason="changed my mind"))

    mission = await stage.start()
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert await mission.rollback_status() is None


async def test_a_cancel_that_was_refused_leaves_it_to_the_rollback(
    stage: Stage, world: FakeWorld
) -> None:
    """The planner reads the refusal and gives up; the booking is taken back like any other."""
    book_and_cancel(world, GiveUp(reason="stuck with it"))
    world.answer("cancel_flight", ToolOutcome(kind="rejected", status=409, reason="not now"))

    result = await (await stage.start()).end()

    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert [o.cancel_call for o in world.compensated()] == [None]


async def test_a_cancel_whose_outcome_is_unknown_is_cleared_up_by_the_rollback(
    stage: Stage, world: FakeWorld
) -> None:
    """The mission cannot say whether it still has the booking: it is lost, and finds out."""
    book_and_cancel(world)
    world.answer("cancel_flight", BUSY)

    mission = await stage.start()
    result = await mission.end()
    (tried,) = world.compensated()

    assert result.error is not None
    assert "whether cancel_flight took effect is unknown" in result.error
    assert tried.state is ObligationState.COMMITTED
    assert tried.cancel_call is not None
    assert tried.cancel_call.idempotency_key == f"{mission.mission_id}.trip.2"
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_a_crash_while_a_cancel_is_on_its_way_loses_nothing(
    stage: Stage, world: FakeWorld
) -> None:
    """It was written ahead: the rollback repeats that very call, and not one with another key."""
    book_and_cancel(world)
    call = world.hold(names.INVOKE_TOOL, "cancel_flight")  # and never released: it is lost

    mission = await stage.start()
    await call.reached()
    await mission.leg_handle("trip").terminate()
    await mission.handle.terminate()
    await (await mission.start_rollback()).result()
    (tried,) = world.compensated()

    assert tried.cancel_call is not None
    assert tried.cancel_call.call_id == f"{mission.mission_id}.trip.2"
    assert tried.cancel_call.arguments == {"reference": f"{mission.mission_id}.trip.1"}
