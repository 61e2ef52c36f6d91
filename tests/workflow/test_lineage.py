"""Ownership of calls and rollbacks, and missions that are cancelled or terminated."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionStatus
from orchestrator.messages.rollback import RollbackInput
from orchestrator.planning.models import CallTool, GiveUp
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.outcome import CompensationOutcome
from orchestrator.workflows import ALL_WORKFLOWS
from tests.fakes import fake_leg, states_of
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


@workflow.defn(name="Stranger")
class Stranger:
    """Sends a call with consequences under the id of a mission."""

    @workflow.run
    async def run(self, call: dict[str, Any]) -> dict[str, Any]:
        outcome: dict[str, Any] = await workflow.execute_activity(
            names.INVOKE_TOOL,
            call,
            start_to_close_timeout=timedelta(seconds=10),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )
        return outcome


@pytest.fixture
async def bare(workflow_env: WorkflowEnvironment, world: FakeWorld) -> AsyncIterator[Stage]:
    """A stage whose worker also runs what strangers bring, all of it outside of the sandbox."""
    from tests.workflow.conftest import Stage

    stage = Stage(workflow_env, world, "lineage")
    async with Worker(
        workflow_env.client,
        task_queue=stage.task_queue,
        workflows=[*ALL_WORKFLOWS, Stranger],
        activities=world.activities(),
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        yield stage


async def test_a_call_of_another_workflow_is_not_sent(bare: Stage, world: FakeWorld) -> None:
    """Whatever it says of itself: the server says whose it is, a workflow of another type."""
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="book_flight"))
    mission = await bare.start()
    await mission.end()
    (call,) = world.sent("book_flight")

    with pytest.raises(WorkflowFailureError) as failed:
        await bare.env.client.execute_workflow(
            "Stranger",
            call.model_dump(mode="json"),
            id="stranger",
            task_queue=bare.task_queue,
        )

    assert isinstance(failed.value.cause, ActivityError)
    refused = failed.value.cause.cause
    assert isinstance(refused, ApplicationError)
    assert (refused.type, refused.non_retryable) == ("CallUnowned", True)
    assert world.sent("book_flight") == [call]


async def test_a_mission_that_goes_on_in_a_new_run_rolls_back_both(
    stage: Stage, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What both runs have booked is read and cancelled."""
    monkeypatch.setattr(
        workflow.Info,
        "is_continue_as_new_suggested",
        lambda info: info.continued_run_id is None and info.get_current_history_length() > 20,
    )

    mission = await stage.start_leg(
        "trip", CallTool(tool="book_flight"), CallTool(tool="book_hotel"), GiveUp(reason="no visa")
    )
    result = await mission.end()
    newest = await mission.handle.describe()
    first = stage.env.client.get_workflow_handle(
        mission.mission_id, run_id=mission.handle.first_execution_run_id
    )

    assert (await first.describe()).status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert newest.run_id != mission.handle.first_execution_run_id
    assert result.status is MissionStatus.ROLLED_BACK
    assert result.legs[0].status is LegStatus.FAILED
    assert states_of(result.ledger) == {"book_flight": "cancelled", "book_hotel": "cancelled"}


async def test_a_rollback_beside_a_mission_under_way_touches_nothing(
    stage: Stage, world: FakeWorld
) -> None:
    """It ends with the reason; the mission books, is lost, and has a rollback of its own."""
    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start_leg("trip", CallTool(tool="book_flight"), GiveUp(reason="no visa"))
    async with booking:
        beside = await mission.start_rollback()
        with pytest.raises(WorkflowFailureError):
            await beside.result()
        untouched = world.compensated(), await mission.leg("trip")
    result = await mission.end()

    assert untouched[0] == []
    assert untouched[1].status is LegStatus.RUNNING
    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_a_rollback_takes_over_from_no_run_but_its_own(
    stage: Stage, world: FakeWorld
) -> None:
    """A run id that is none of this rollback's brings nothing, and does not hold it up."""
    mission = await stage.start_leg("trip", CallTool(tool="book_flight"))
    await mission.end()
    other = await stage.start()
    await other.end()
    foreign = (await other.handle.describe()).run_id
    rollback = await stage.env.client.start_workflow(
        names.ROLLBACK_WORKFLOW,
        RollbackInput(mission_id=mission.mission_id, take_over=foreign),
        id=names.rollback_workflow_id(mission.mission_id),
        task_queue=stage.task_queue,
    )
    await rollback.result()
    report = await mission.report()

    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert {o.mission_id for o in report.ledger.obligations} == {mission.mission_id}


async def test_a_mission_is_none_under_the_id_of_a_leg_or_a_rollback(
    stage: Stage, world: FakeWorld
) -> None:
    """It would stand in the way of the one that has that id; it ends before it is planned."""
    for taken in ("trip.rollback", "trip.1-flights"):
        with pytest.raises(WorkflowFailureError) as failed:
            await stage.env.client.execute_workflow(
                names.MISSION_WORKFLOW,
                MissionInput(request=MissionRequest(goal="go")),
                id=taken,
                task_queue=stage.task_queue,
            )
        assert isinstance(failed.value.cause, ApplicationError)
        assert failed.value.cause.type == "MissionMisnamed"

    assert world.calls == []


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
    call = world.hold(names.INVOKE_TOOL, "book_flight")

    mission = await stage.start_leg(
        "flight", CallTool(tool="book_flight"), CallTool(tool="book_hotel")
    )
    async with call:
        await mission.handle.cancel()
        await mission.is_cancelling()
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
    compensation = world.hold(names.COMPENSATE, "book_flight")

    mission = await stage.start_leg(
        "flight", CallTool(tool="book_flight"), GiveUp(reason="no visa")
    )
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


async def test_a_terminated_leg_has_its_ledger_all_the_same(booked: Mission) -> None:
    """What a leg under way had booked is taken back, though it had no time to hand anything in."""
    await booked.handle.terminate()
    report = await (await booked.start_rollback()).result()

    assert states_of(report.ledger) == {"book_flight": "cancelled"}


async def test_a_terminated_mission_can_be_rolled_back_by_itself(
    stage: Stage, world: FakeWorld
) -> None:
    """Its ledger is read from its history, which nobody has to run any more."""
    mission = await at_the_card(stage, world)

    await mission.handle.terminate()
    report = await (await mission.start_rollback()).result()

    assert await mission.status() is WorkflowExecutionStatus.TERMINATED
    assert report.settled
    assert states_of(report.ledger) == {"book_flight": "cancelled"}


async def test_a_call_that_outlived_its_mission_is_waited_for_before_it_is_cancelled(
    stage: Stage, world: FakeWorld
) -> None:
    """Until it can no longer arrive; nothing is booked behind the rollback."""
    call = world.hold(names.INVOKE_TOOL, "book_flight")

    mission = await stage.start_leg(
        "trip", CallTool(tool="book_flight"), CallTool(tool="book_hotel")
    )
    async with call:
        await mission.handle.terminate()
        rollback = await mission.start_rollback()
        await mission.eventually(lambda: _waits_for_late_calls(mission))
        too_soon = list(world.compensated())
    report = await rollback.result()
    (compensated,) = world.attempts(names.COMPENSATE)
    (obligation,) = report.ledger.obligations

    assert too_soon == []
    assert obligation.deadline <= compensated.at
    assert [(o.tool, o.state) for o in world.compensated()] == [
        ("book_flight", ObligationState.INTENDED)
    ]
    assert states_of(report.ledger) == {"book_flight": "cancelled"}
    assert len(world.sent("book_flight")) == 1
    assert world.sent("book_hotel") == []


async def _waits_for_late_calls(mission: Mission) -> bool | None:
    """Whether the rollback waits until a call can no longer arrive."""
    history = await mission.rollback_handle.fetch_history()
    started = EventType.EVENT_TYPE_TIMER_STARTED
    return any(event.event_type == started for event in history.events) or None


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
