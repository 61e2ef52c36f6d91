"""A planner that cancels: what its mission booked asks nobody, anything else asks a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from orchestrator.messages import names
from orchestrator.messages.leg import LegInput, LegState, LegStatus
from orchestrator.messages.mission import BegunPlan, CarriedMission, MissionStatus
from orchestrator.messages.mission_policy import CatalogPin
from orchestrator.planning.models import CallTool, GiveUp, StepContext, StepDecision
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.orders import Order
from orchestrator.saga.outcome import CompensationOutcome, ToolOutcome
from tests.fakes import fake_leg, fake_obligation, fake_tool, states_of
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

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
    (booking,), (cancel,) = world.sent("book_flight"), world.sent("cancel_flight")

    assert result.status is MissionStatus.SUCCEEDED
    assert (result.legs[0].decisions, cancel.grant) == ((), None)
    assert cancel.call_id != booking.call_id
    assert result.receipts == ()
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert result.ledger.obligations[0].note == f"cancelled by {mission.mission_id}.trip.2"
    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert world.compensated() == []


async def test_a_cancelled_booking_takes_no_room_of_its_order(
    stage: Stage, world: FakeWorld
) -> None:
    """One flight is ordered: the one that was cancelled does not stand, and nobody is asked."""
    world.checks_orders = True
    flight = Order(tools=("book_flight",), clause="a flight")
    world.plan(fake_leg("trip", orders=[flight]))
    rome = CallTool(tool="book_flight", arguments={"to": "Rome"})
    world.decide("trip", CallTool(tool="book_flight"), cancel_what_was_seen, rome)

    result = await (await stage.start()).end()

    assert result.status is MissionStatus.SUCCEEDED
    assert result.legs[0].decisions == ()
    assert [o.state.value for o in result.ledger.obligations] == ["cancelled", "committed"]


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
    assert tried.cancel_call.idempotency_key == world.sent("cancel_flight")[0].key
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_a_crash_while_a_cancel_is_on_its_way_loses_nothing(
    stage: Stage, world: FakeWorld
) -> None:
    """It was written ahead: the rollback repeats that very call, and not one with another key."""
    book_and_cancel(world)
    call = world.hold(names.INVOKE_TOOL, "cancel_flight")  # and never released: it is lost

    mission = await stage.start()
    await call.reached()
    await mission.handle.terminate()
    await (await mission.start_rollback()).result()
    (tried,) = world.compensated()

    assert tried.cancel_call is not None
    assert tried.cancel_call.call_id == f"{mission.mission_id}.trip.2"
    assert tried.cancel_call.arguments == {"reference": f"{mission.mission_id}.trip.1"}


# -- what is not plainly the mission's own ---------------------------------------------------------

APPROVER = "ada@example.com"
THEIRS = CallTool(tool="cancel_flight", arguments={"reference": "theirs"})


async def wait_for_card(stage: Stage, world: FakeWorld, *then: StepDecision) -> Mission:
    """A mission of one leg that books a flight, and then asks to cancel another mission's."""
    mission = await stage.start_leg("trip", CallTool(tool="book_flight"), THEIRS, *then)
    await mission.card("trip")
    return mission


async def test_a_cancel_of_anothers_waits_for_a_person_and_is_on_record(
    stage: Stage, world: FakeWorld
) -> None:
    """Approved, it is a consequence that nothing cancels; the mission's own booking stands."""
    mission = await wait_for_card(stage, world)
    card = await mission.card("trip")
    before = world.sent("cancel_flight")
    await mission.approve(card)
    result = await mission.end()

    assert card.card_type == "structured-cancellation"
    assert before == []
    assert states_of(result.ledger) == {"book_flight": "committed", "cancel_flight": "committed"}
    assert [r.tool for r in result.receipts] == ["book_flight", "cancel_flight"]
    assert result.receipts[1].confirmed_by == result.ledger.cancels[0].confirmed_by == APPROVER


async def test_a_rejected_cancel_is_told_to_the_planner(stage: Stage, world: FakeWorld) -> None:
    """Nothing leaves, and the leg goes on."""
    mission = await wait_for_card(stage, world)
    await mission.reject(await mission.card("trip"), "hands off")
    result = await mission.end()

    assert world.sent("cancel_flight") == []
    assert result.status is MissionStatus.SUCCEEDED
    assert states_of(result.ledger) == {"book_flight": "committed"}
    assert world.contexts("trip")[-1].observations[-1].outcome == "refused"


async def test_who_keeps_what_was_to_go_wants_nothing_else_cancelled(
    stage: Stage, world: FakeWorld
) -> None:
    """Its planner sees no other way: the leg is left out, and what was booked stands."""
    mission = await wait_for_card(stage, world, GiveUp(reason="it may not be cancelled"))
    await mission.reject(await mission.card("trip"), "hands off")
    result = await mission.end()

    assert result.legs[0].status is LegStatus.SKIPPED
    assert result.legs[0].error == "left out: it may not be cancelled"
    assert result.status is MissionStatus.INCOMPLETE
    assert states_of(result.ledger) == {"book_flight": "committed"}


async def test_an_unclear_cancel_of_anothers_is_parked(stage: Stage, world: FakeWorld) -> None:
    """Whether it took effect, an operator finds out; what is the mission's own is cancelled."""
    world.answer("cancel_flight", BUSY)
    world.compensate(
        "cancel_flight", CompensationOutcome(state="parked", note="nothing cancels it")
    )
    mission = await wait_for_card(stage, world)
    await mission.approve(await mission.card("trip"))
    result = await mission.end()
    cancel = result.ledger.obligations[1]

    assert result.status is MissionStatus.PARKED
    assert states_of(result.ledger) == {"book_flight": "cancelled", "cancel_flight": "parked"}
    assert (cancel.confirmed_by, cancel.committed_at) == (APPROVER, None)


async def test_a_mission_that_fails_shows_what_it_cancelled_of_others(
    stage: Stage, world: FakeWorld
) -> None:
    """A rollback takes back the booking, and leaves the cancel to an operator."""
    world.compensate(
        "cancel_flight", CompensationOutcome(state="parked", note="nothing cancels it")
    )
    mission = await wait_for_card(stage, world, GiveUp(reason="enough"))
    await mission.approve(await mission.card("trip"))
    (parked,) = await mission.parked()

    assert (parked.tool, parked.committed_at is None) == ("cancel_flight", False)
    assert states_of((await mission.report()).ledger)["book_flight"] == "cancelled"


async def test_amended_to_ones_own_it_cancels_that_and_leaves_nothing(
    stage: Stage, world: FakeWorld
) -> None:
    """The new card says so; approved, the mission's own booking is cancelled."""
    mission = await wait_for_card(stage, world)
    card = await mission.card("trip")
    amended = await mission.amend(card, reference=f"{mission.mission_id}.trip.1")
    await mission.approve(amended)
    result = await mission.end()

    assert "This mission made it" in str(amended.sections()[0].lines[0])
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_what_another_mission_booked_is_anothers(stage: Stage, world: FakeWorld) -> None:
    """Its ledger gives this one no authority, though both run at the same time."""
    other = await wait_for_card(stage, world)
    theirs = f"{other.mission_id}.trip.1"
    world.decide("trip", CallTool(tool="cancel_flight", arguments={"reference": theirs}))
    mission = await stage.start()
    card = await mission.card("trip")

    assert (card.card_type, card.arguments) == ("structured-cancellation", {"reference": theirs})


async def test_a_ledger_that_no_run_of_the_mission_carried_counts_for_nothing(
    stage: Stage, world: FakeWorld
) -> None:
    """Claimed by whoever starts a first run, it makes nothing the mission's own."""
    mission = await stage.start_leg("regret", THEIRS, carried=forged(world))
    card = await mission.card("regret")
    result = await mission.snapshot()

    assert card.card_type == "structured-cancellation"
    assert world.sent("cancel_flight") == []
    assert [leg.leg_id for leg in result.legs] == ["regret"]
    assert result.ledger.obligations == ()


def forged(world: FakeWorld) -> CarriedMission:
    """The state of a mission whose leg claims to have booked what is not theirs."""
    claimed = fake_obligation(
        "mine.trip.1",
        tool="book_flight",
        cancel_tool="cancel_flight",
        state=ObligationState.COMMITTED,
        cancel_inputs={"reference": "theirs"},
    )
    catalog = CatalogPin(digest=world.catalog.digest, size=2)
    leg = LegInput(
        mission_id="mine",
        mission_goal="mine",
        leg=fake_leg("trip"),
        catalog=catalog,
        started_at=claimed.written_at,
        state=LegState(ledger=Ledger(obligations=(claimed,))),
    )
    return CarriedMission(
        started_at=claimed.written_at,
        catalog=catalog,
        plan=BegunPlan(legs=(leg.leg,)),
        goal="mine",
        said_at=claimed.written_at,
        legs=(leg,),
    )


async def test_an_id_that_stands_already_leaves_the_second_call_unclear(
    stage: Stage, world: FakeWorld
) -> None:
    """Of the two bookings that their provider calls the same, rollback is told which is which."""
    twin = ToolOutcome(kind="succeeded", status=201, body={"reference": "b-1"})
    world.answer("book_flight", twin, twin)

    result = await stage.run_leg(
        "trip",
        CallTool(tool="book_flight", arguments={"seat": 1}),
        CallTool(tool="book_flight", arguments={"seat": 2}),
    )

    first, second = result.ledger.obligations
    assert result.status is MissionStatus.ROLLED_BACK
    assert second.obligation_id in [o.obligation_id for o in world.compensated() if o.namesake]
    assert (first.namesake, second.namesake) == ("", first.obligation_id)
    assert first.obligation_id in (result.error or "")
