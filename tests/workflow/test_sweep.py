"""The sweep: who is recovered, who is left alone, and how a long one goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, TimeoutError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionStatus
from orchestrator.messages.rollback import (
    MissionRef,
    Recovery,
    RollbackInput,
    SweepInput,
    SweepReport,
)
from orchestrator.planning.models import AskUser, CallTool, GiveUp
from orchestrator.saga.outcome import CompensationOutcome
from orchestrator.workflows import ALL_WORKFLOWS
from tests.fakes import fake_leg, states_of
from tests.world import FakeWorld

if TYPE_CHECKING:
    from tests.workflow.conftest import Mission, Stage


async def sweep(stage: Stage, *, task_queue: str | None = None) -> SweepReport:
    """One sweep, to its end; no time is skipped meanwhile, in which open cards would expire."""
    with stage.env.auto_time_skipping_disabled():
        report: SweepReport = await stage.env.client.execute_workflow(
            names.SWEEP_WORKFLOW,
            SweepInput(),
            id=f"sweep-{stage.task_queue}",
            task_queue=task_queue or stage.task_queue,
            result_type=SweepReport,
        )
    return report


async def test_a_terminated_mission_is_rolled_back(
    stage: Stage, world: FakeWorld, booked: Mission
) -> None:
    """On its own task queue, and once: the next sweep finds that all is done."""
    await booked.handle.terminate()
    world.strand((booked.mission_id,))

    first = await sweep(stage)
    report = await booked.rollback_handle.result()
    second = await sweep(stage)

    assert first.started == (booked.mission_id,)
    assert second.started == ()
    assert second.looked_at == 1
    assert states_of(report.ledger) == {"book_flight": "cancelled"}


async def test_a_rollback_that_was_terminated_is_taken_up(stage: Stage, world: FakeWorld) -> None:
    """Though its mission has ended in good order: what was parked is on the list again."""
    world.compensate("book_flight", CompensationOutcome(state="parked", note="too late"))
    mission = await stage.start_leg("trip", CallTool(tool="book_flight"), GiveUp(reason="no visa"))
    await mission.parked()
    await mission.rollback_handle.terminate()
    world.strand((mission.mission_id,))

    report = await sweep(stage)

    assert report.started == (mission.mission_id,)
    assert [o.note for o in await mission.parked()] == ["too late"]
    assert len(world.compensated()) == 1
    await mission.rollback_handle.terminate()


async def test_a_long_sweep_goes_on_in_a_new_run(
    stage: Stage, world: FakeWorld, booked: Mission
) -> None:
    """It forgets neither its place nor what it has found."""
    world.strand(*[(booked.mission_id,) for _ in range(23)])

    report = await sweep(stage)
    runs = len({call.at for call in world.attempts(names.FIND_STRANDED)})

    assert report.looked_at == 23
    assert len(world.attempts(names.FIND_STRANDED)) == 23
    assert runs > 1
    history = await stage.env.client.get_workflow_handle(
        f"sweep-{stage.task_queue}"
    ).fetch_history()
    assert len(history.events) < 200
    await booked.handle.terminate()


async def test_a_mission_that_cannot_be_examined_is_looked_up_again(
    stage: Stage, world: FakeWorld
) -> None:
    """The others are recovered, and the next sweep begins no later than this one did."""

    @activity.defn(name=names.RECOVER_MISSION)
    async def recover(wanted: MissionRef) -> Recovery:
        if wanted.mission_id == "broken":
            raise ApplicationError("no worker knows it")
        return Recovery(mission_id=wanted.mission_id, done="started")

    world.strand(("broken", "fine"))
    others = [a for a in world.activities() if a.__name__ != "recover_mission"]
    async with Worker(
        stage.env.client,
        task_queue=f"{stage.task_queue}-broken",
        workflows=ALL_WORKFLOWS,
        activities=[*others, recover],
    ):
        report = await sweep(stage, task_queue=f"{stage.task_queue}-broken")

    assert report.started == ("fine",)
    assert [(r.mission_id, r.why) for r in report.unreadable] == [("broken", "no worker knows it")]
    assert report.swept_until is None


async def test_a_mission_that_timed_out_is_rolled_back(stage: Stage, world: FakeWorld) -> None:
    """Temporal ends it where it stands, by a limit that whoever started it has set."""
    world.plan(fake_leg("trip"))
    world.decide("trip", CallTool(tool="book_flight"), AskUser(question="and now?", fields={}))
    mission_id = f"{stage.task_queue}-late"[-60:].lstrip("-_")
    handle = await stage.env.client.start_workflow(
        names.MISSION_WORKFLOW,
        MissionInput(request=MissionRequest(goal="go", mission_id=mission_id)),
        id=mission_id,
        task_queue=stage.task_queue,
        execution_timeout=timedelta(minutes=5),
    )
    with pytest.raises(WorkflowFailureError) as late:
        await handle.result()
    world.strand((mission_id,))

    report = await sweep(stage)
    rollback = stage.env.client.get_workflow_handle(names.rollback_workflow_id(mission_id))
    await rollback.result()

    assert isinstance(late.value.cause, TimeoutError)
    assert report.started == (mission_id,)
    assert [o.tool for o in world.compensated()] == ["book_flight"]


@workflow.defn(name=names.ROLLBACK_WORKFLOW)
class TurnedAway:
    """A rollback that was started beside a mission under way, and is told so too late."""

    def __init__(self) -> None:
        self._told = False

    @workflow.run
    async def run(self, rollback: RollbackInput) -> None:
        await workflow.wait_condition(lambda: self._told)
        raise ApplicationError("it runs", type="MissionStillRuns", non_retryable=True)

    @workflow.signal
    def tell(self) -> None:
        self._told = True


async def test_a_mission_whose_rollback_was_turned_away_gets_another(
    stage: Stage, world: FakeWorld
) -> None:
    """It was lost while a stranger's rollback held its place, and waits; the sweep sees that."""
    giving_up = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start_leg("trip", CallTool(tool="book_flight"), GiveUp(reason="no visa"))
    queue = f"{stage.task_queue}-strange"
    async with Worker(
        stage.env.client,
        task_queue=queue,
        workflows=[TurnedAway],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        async with giving_up:
            stranger = await stage.env.client.start_workflow(
                names.ROLLBACK_WORKFLOW,
                RollbackInput(mission_id=mission.mission_id),
                id=names.rollback_workflow_id(mission.mission_id),
                task_queue=queue,
            )

        async def waits() -> bool | None:
            history = await mission.handle.fetch_history()
            taken = EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED
            return any(event.event_type == taken for event in history.events) or None

        await mission.eventually(waits)
        await stranger.signal("tell")
        # Skipped time would end the mission, which waits for nothing that has a time.
        with stage.env.auto_time_skipping_disabled(), pytest.raises(WorkflowFailureError):
            await stranger.result()
    world.strand((mission.mission_id,))
    report = await sweep(stage)
    assert report.started == (mission.mission_id,)
    result = await mission.over()

    assert result.status is MissionStatus.ROLLED_BACK
    assert states_of(result.ledger) == {"book_flight": "cancelled"}


async def test_what_a_refused_rollback_did_not_begin_is_not_gone_on_with(
    stage: Stage, world: FakeWorld
) -> None:
    """It was started beside a mission that has succeeded since: what that did stands."""
    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    mission = await stage.start_leg("trip", CallTool(tool="book_flight"))
    async with booking:
        beside = await mission.start_rollback()
        with pytest.raises(WorkflowFailureError):
            await beside.result()
    result = await mission.end()
    world.strand((mission.mission_id,))

    report = await sweep(stage)

    assert result.status is MissionStatus.SUCCEEDED
    assert report.started == ()
    assert world.compensated() == []


async def test_what_was_no_rollback_of_the_mission_holds_nothing_up(
    stage: Stage, world: FakeWorld, booked: Mission
) -> None:
    """It had the id of one, and was another mission's: nobody goes on with it."""
    strange = await stage.env.client.start_workflow(
        names.ROLLBACK_WORKFLOW,
        RollbackInput(mission_id="another", approver="eve"),
        id=names.rollback_workflow_id(booked.mission_id),
        task_queue=stage.task_queue,
    )
    with pytest.raises(WorkflowFailureError):
        await strange.result()
    await booked.handle.terminate()
    world.strand((booked.mission_id,))

    swept = await sweep(stage)
    report = await booked.rollback_handle.result()
    begun = await booked.rollback_handle.describe()

    assert (swept.looked_at, swept.unreadable) == (1, ())
    # The reason that a sweep gives, in a run of its own: an attempt of the sweep that is repeated
    # finds the rollback there, and reports no start.
    assert begun.run_id != strange.first_execution_run_id
    assert report.order.reason == "the mission was terminated"
    assert (report.mission_id, report.order.approver) == (booked.mission_id, None)
    assert states_of(report.ledger) == {"book_flight": "cancelled"}
