"""What becomes of all that was done, when a mission is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError

from orchestrator.adapters.storage.protocols import SentCall
from orchestrator.client.start import mission_start
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import (
    MissionInput,
    MissionRequest,
    MissionResult,
    MissionStatus,
    as_sent,
)
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.planning.models import CallTool, Finish, GiveUp
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import Obligation, ObligationState
from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome, ToolOutcome
from tests.fakes import fake_leg, fake_obligation, states_of
from tests.workflow import conftest
from tests.world import PLAN_STEP, FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage

SOLD_OUT = ToolOutcome(kind="rejected", status=409, reason="sold out")
TOO_LATE = CompensationOutcome(state="parked", note="too late to cancel")
BUSY = ApplicationError("HTTP 503", type=names.PROVIDER_BUSY)


def never_answer(world: FakeWorld) -> None:
    """One leg that books a flight, and a provider that gives no clear answer."""
    world.plan(fake_leg("flight"))
    world.decide("flight", CallTool(tool="book_flight"))
    world.answer("book_flight", BUSY)


async def test_a_lost_leg_stops_its_siblings(stage: Stage, world: FakeWorld) -> None:
    """A leg that waits for a person is cancelled, and what it was about to do is never done."""
    world.plan(fake_leg("ticket"), fake_leg("visa"))
    world.decide("ticket", CallTool(tool="buy_ticket", arguments={"seat": "12A"}))
    world.decide("visa", GiveUp(reason="no visa"))
    lost = world.hold(PLAN_STEP, "visa")

    mission = await stage.start()
    await mission.card("ticket")
    lost.release()
    result = await mission.end()

    assert {leg.leg_id: leg.status for leg in result.legs} == {
        "ticket": LegStatus.CANCELLED,
        "visa": LegStatus.FAILED,
    }
    assert world.sent("buy_ticket") == []


async def test_everything_is_cancelled_in_reverse_order_of_commitment_across_legs(
    stage: Stage, world: FakeWorld
) -> None:
    """The order is that of the answers, not that in which parallel legs wrote or sent."""
    world.plan(fake_leg("flight"), fake_leg("hotel"), fake_leg("visa", after=("flight", "hotel")))
    world.decide("flight", CallTool(tool="book_flight"))
    world.decide("hotel", CallTool(tool="book_hotel"), CallTool(tool="book_car"))
    world.decide("visa", GiveUp(reason="no visa"))
    flight = world.hold(names.INVOKE_TOOL, "book_flight")
    car = world.hold(names.INVOKE_TOOL, "book_car")

    mission = await stage.start()
    await flight.reached()
    await car.reached()  # the hotel is committed by now
    flight.release()

    async def flight_is_over() -> bool | None:
        return (await mission.leg("flight")).status is LegStatus.SUCCEEDED or None

    await mission.eventually(flight_is_over)
    car.release()
    result = await mission.end()

    assert world.subjects(names.COMPENSATE) == ["book_car", "book_flight", "book_hotel"]
    assert result.status is MissionStatus.ROLLED_BACK
    assert set(states_of(result.ledger).values()) == {"cancelled"}
    assert result.receipts == ()


async def test_the_failure_carries_the_result_that_history_gives(
    stage: Stage, world: FakeWorld
) -> None:
    """One document, whichever way it is read."""
    stage.lose_after("book_flight")

    mission = await stage.start()
    failure = await mission.failure()

    assert isinstance(failure, ApplicationError)
    assert failure.type == names.MISSION_FAILED
    assert failure.message == "no visa"
    carried = MissionResult.model_validate(failure.details[0])
    assert carried == await mission.state(mission.handle, lambda told: as_sent(told.result()))


async def test_nothing_committed_needs_no_rollback(stage: Stage, world: FakeWorld) -> None:
    """The mission failed, and no rollback workflow was started for it."""
    world.answer("book_flight", SOLD_OUT)

    mission = await stage.start_leg(
        "flight", CallTool(tool="book_flight"), GiveUp(reason="sold out everywhere")
    )
    result = await mission.end()

    assert result.status is MissionStatus.FAILED
    assert states_of(result.ledger) == {"book_flight": "void"}
    assert await mission.rollback_status() is None


async def test_a_call_without_a_key_is_never_sent_twice(stage: Stage, world: FakeWorld) -> None:
    """The second attempt could be a second parcel."""
    world.answer("send_parcel", BUSY)

    result = await stage.run_leg("parcel", CallTool(tool="send_parcel"))

    assert len(world.sent("send_parcel")) == 1
    assert result.legs[0].steps[0].outcome == "unknown"


async def test_an_unknown_outcome_is_cancelled_only_when_the_call_can_no_longer_arrive(
    stage: Stage, world: FakeWorld
) -> None:
    """By the server's clock, the first attempt to take it back comes after its deadline."""
    never_answer(world)

    result = await (await stage.start()).end()
    tried = world.attempts(names.COMPENSATE)
    obligation = world.compensated()[0]

    assert len(world.sent("book_flight")) == 3  # the policy's call_attempts
    assert result.legs[0].steps[0].outcome == "unknown"
    assert "whether book_flight took effect is unknown (HTTP 503)" in (result.error or "")
    assert [call.subject for call in tried] == ["book_flight"]
    assert obligation.state is ObligationState.INTENDED
    assert obligation.deadline == world.sent("book_flight")[0].deadline
    assert tried[0].at >= obligation.deadline > world.attempts(names.INVOKE_TOOL)[-1].at
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_what_is_not_found_is_looked_for_until_it_had_time_to_come_to_light(
    stage: Stage, world: FakeWorld
) -> None:
    """No look costs an attempt, each says for how long it was missing, and the last settles it."""
    never_answer(world)
    settles = timedelta(seconds=30)
    missing = CompensationFailure(
        reason="not found so far", counts=False, arrived=False, settles_after=settles
    )
    seen: list[timedelta] = []

    async def look(obligation: Obligation) -> CompensationOutcome:
        seen.append(obligation.missing_for)
        if obligation.missing_for < settles:
            raise ApplicationError("missing", missing, type=names.PROVIDER_BUSY, non_retryable=True)
        return CompensationOutcome(state="void", note="the provider does not hold it")

    world.compensate("book_flight", look)

    result = await (await stage.start()).end()
    tried = world.attempts(names.COMPENSATE)

    assert result.status is MissionStatus.FAILED
    assert states_of(result.ledger) == {"book_flight": "void"}
    assert seen == [timedelta(seconds=passed) for passed in (0, 1, 3, 7, 15, 30)]
    assert tried[-1].at - tried[0].at >= settles


async def test_a_deferred_call_is_waited_for_without_an_attempt(
    stage: Stage, world: FakeWorld
) -> None:
    """Also one that takes no key and is sent once: its provider did not begin."""
    limited = ToolOutcome(kind="rejected", status=403, deferred=True, retry_after_s=90)
    world.answer("send_parcel", limited, limited, ToolOutcome(kind="succeeded", status=201))

    result = await stage.run_leg("parcel", CallTool(tool="send_parcel"), Finish(summary="sent"))
    sent = world.attempts(names.INVOKE_TOOL, "send_parcel")

    assert result.legs[0].steps[0].outcome == "succeeded"
    assert len(sent) == 3
    assert sent[1].at - sent[0].at >= timedelta(seconds=90)
    assert len({call.deadline for call in world.sent("send_parcel")}) == 3


async def test_a_call_that_is_deferred_for_too_long_is_void(stage: Stage, world: FakeWorld) -> None:
    """The planner reads why; nothing was done."""
    world.answer(
        "send_parcel",
        ToolOutcome(kind="rejected", status=429, reason="later", deferred=True, retry_after_s=1e12),
    )

    result = await stage.run_leg("parcel", CallTool(tool="send_parcel"), GiveUp(reason="limited"))

    assert len(world.sent("send_parcel")) == 1
    assert states_of(result.ledger) == {"send_parcel": "void"}


async def test_what_cannot_be_taken_back_is_parked_and_the_rest_is_cancelled(
    stage: Stage, world: FakeWorld
) -> None:
    """The mission ends as parked; its rollback stays open, with the reason for the operator."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_hotel", TOO_LATE)

    mission = await stage.start()
    result = await mission.over()
    parked = await mission.parked()

    assert result.status is MissionStatus.PARKED
    assert states_of(result.ledger) == {"book_flight": "cancelled", "book_hotel": "parked"}
    assert [(o.tool, o.note) for o in parked] == [("book_hotel", "too late to cancel")]
    assert await mission.rollback_status() is WorkflowExecutionStatus.RUNNING


async def test_a_compensation_that_keeps_failing_is_parked_after_its_attempts(
    stage: Stage, world: FakeWorld
) -> None:
    """The contract says how often; the note says why it stopped."""
    stage.lose_after("book_flight")
    world.compensate("book_flight", BUSY)

    result = await (await stage.start()).end()
    (parked,) = result.ledger.obligations

    assert result.status is MissionStatus.PARKED
    assert len(world.compensated()) == parked.cancel_max_attempts == 3
    assert "all 3 attempts are spent" in parked.note
    assert "HTTP 503" in parked.note


async def test_resolving_what_is_not_parked_is_refused(stage: Stage, world: FakeWorld) -> None:
    """An unknown id, or one that is already cancelled; the parked one stays parked."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_hotel", TOO_LATE)
    mission = await stage.start()
    result = await mission.over()
    flight, hotel = (o.obligation_id for o in result.ledger.obligations)
    await mission.parked()

    unknown = await mission.refusal(mission.resolve(f"{mission.mission_id}.trip.99", "accept"))
    settled = await mission.refusal(mission.resolve(flight, "accept"))

    assert [unknown.type, settled.type] == ["ObligationNotParked"] * 2
    assert [o.obligation_id for o in await mission.parked()] == [hotel]


async def test_a_contract_that_says_continue_does_not_park(stage: Stage, world: FakeWorld) -> None:
    """What it lets go is accepted with the reason, and the rollback closes by itself."""
    stage.lose_after("book_tour")
    world.compensate("book_tour", TOO_LATE)

    mission = await stage.start()
    result = await mission.end()

    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_tour": "accepted"}
    assert result.ledger.obligations[0].note == (
        "too late to cancel; its contract says to continue"
    )
    assert (await mission.rollback_handle.result()).parked == ()


async def test_the_first_error_is_never_hidden_by_a_later_one(
    stage: Stage, world: FakeWorld
) -> None:
    """A sibling that fails while it is stopped, and a refused compensation, change nothing."""
    world.plan(fake_leg("flight"), fake_leg("visa"))
    world.decide("flight", CallTool(tool="book_flight"))
    world.decide("visa", GiveUp(reason="no visa"))
    world.answer("book_flight", BUSY)
    world.compensate("book_flight", TOO_LATE)
    call = world.hold(names.INVOKE_TOOL, "book_flight")
    lost = world.hold(PLAN_STEP, "visa")

    mission = await stage.start()
    await call.reached()
    lost.release()

    async def is_lost() -> bool | None:
        return (await mission.leg("visa")).status is LegStatus.FAILED or None

    await mission.eventually(is_lost)
    call.release()
    result = await mission.end()

    assert result.error == "no visa"
    assert result.status is MissionStatus.PARKED


async def test_what_no_tool_takes_back_is_tried_too(stage: Stage, world: FakeWorld) -> None:
    """A write without a cancel tool is in the ledger: rollback has it parked, not forgotten."""
    stage.lose_after("post_note")
    world.compensate(
        "post_note", CompensationOutcome(state="parked", note="no tool is declared that cancels it")
    )

    mission = await stage.start()
    result = await mission.end()

    assert states_of(result.ledger) == {"post_note": "parked"}
    assert world.compensated()[0].cancel_tool is None


async def test_cancelling_a_rollback_does_not_stop_it(stage: Stage, world: FakeWorld) -> None:
    """A stray click must not leave bookings behind: what is parked stays with its operator."""
    stage.lose_after("book_flight", "book_hotel")
    world.compensate("book_flight", TOO_LATE)
    compensation = world.hold(names.COMPENSATE, "book_hotel")

    mission = await stage.start()
    async with compensation:
        await mission.rollback_handle.cancel()
    result = await mission.over()

    assert states_of(result.ledger) == {"book_flight": "parked", "book_hotel": "cancelled"}
    assert [o.tool for o in await mission.parked()] == ["book_flight"]
    assert await mission.rollback_status() is WorkflowExecutionStatus.RUNNING


async def test_a_rollback_that_somebody_else_started_reports_to_the_mission(
    stage: Stage, world: FakeWorld
) -> None:
    """The mission that meets it goes on to its end, whether the server took it or refused it."""
    stage.lose_after("book_flight")
    lost = world.hold(PLAN_STEP, "visa")

    mission = await stage.start()
    async with lost:
        await mission.start_rollback()  # too early, unless the leg is lost before it looks
    result = await mission.end()

    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert len(world.compensated()) == 1


async def test_what_takes_the_id_of_a_rollback_only_delays_it(
    stage: Stage, world: FakeWorld
) -> None:
    """The mission starts its rollback as soon as the id is free."""
    stage.lose_after("book_flight")
    lost = world.hold(PLAN_STEP, "visa")

    mission = await stage.start()
    async with lost:
        stranger = await stage.env.client.start_workflow(
            "Stranger", id=mission.rollback_handle.id, task_queue="of-nobody"
        )

    async def is_met() -> bool:
        return (await mission.snapshot()).status is MissionStatus.ROLLING_BACK

    await mission.eventually(is_met)
    await stranger.terminate()
    result = await mission.end()

    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def _forgotten(mission: Mission, world: FakeWorld, *, concluded: bool) -> None:
    """Note a call of a branch that a reset abandoned, before or after that had ended well."""
    first_run = mission.handle.first_execution_run_id or ""
    made = fake_obligation(f"{mission.mission_id}.old.1", tool="book_hotel")
    forgotten = made.model_copy(update={"origin": first_run})
    ledger = Ledger(obligations=(forgotten,))
    user = "the branch before the reset"
    world.grants.send(SentCall(forgotten.key, mission.mission_id, user, (), ledger))
    if concluded:
        world.grants.conclude(mission.mission_id)


@pytest.mark.parametrize("concluded", [False, True])
@pytest.mark.parametrize(
    ("then", "status", "cancelled"),
    [
        ("goes on", MissionStatus.SUCCEEDED, ["book_hotel"]),
        ("fails", MissionStatus.ROLLED_BACK, ["book_flight", "book_hotel"]),
        ("does nothing", MissionStatus.ROLLED_BACK, ["book_hotel"]),
    ],
)
async def test_what_a_reset_had_a_mission_forget_is_rolled_back_when_it_ends(
    stage: Stage,
    world: FakeWorld,
    concluded: bool,
    then: str,
    status: MissionStatus,
    cancelled: list[str],
) -> None:
    """However it ends, and also where the branch before the reset had ended well."""
    world.plan(fake_leg("trip"))
    does = CallTool(tool="find_flights" if then == "does nothing" else "book_flight")
    ends = [] if then == "goes on" else [GiveUp(reason="no hotel")]
    world.decide("trip", does, *ends)
    held = world.hold(names.INVOKE_TOOL, does.tool)

    mission = await stage.start()
    async with held:
        await _forgotten(mission, world, concluded=concluded)
    result = await mission.end()

    assert result.status is status
    assert sorted(o.tool for o in world.compensated()) == cancelled


async def test_a_rollback_of_an_earlier_mission_of_its_id_is_not_its_own(
    stage: Stage, world: FakeWorld
) -> None:
    """Its report is not about what this mission made: another one follows when it is over."""
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="book_flight"), GiveUp(reason="no"))
    world.compensate("book_flight", CompensationOutcome(state="parked", note="too late"))
    first = await stage.start()
    await first.over()
    (parked,) = await first.parked()
    world.decide("trip", CallTool(tool="book_hotel"), GiveUp(reason="no"))
    quick = MissionPolicy(call_timeout=timedelta(seconds=4), call_attempts=3)
    request = MissionRequest(goal="go", mission_id=first.mission_id, policy=quick)
    again = mission_start(request) | {"id_reuse_policy": WorkflowIDReusePolicy.ALLOW_DUPLICATE}

    handle = await stage.env.client.start_workflow(
        names.MISSION_WORKFLOW,
        MissionInput(request=request),
        task_queue=stage.task_queue,
        result_type=MissionResult,
        **again,
    )
    second = conftest.Mission(stage.env.client, handle, stage.task_queue)
    await second.resolve(parked.obligation_id, "accept")
    result = await second.over()

    assert states_of(result.ledger) == {"book_hotel": "cancelled"}
    assert [one.tool for one in world.compensated()] == ["book_flight", "book_hotel"]
