"""A run of a schedule: the mission that it starts, and what becomes of it without the run."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError

from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionResult, MissionStatus
from orchestrator.messages.schedules import ScheduledEnd
from orchestrator.planning.models import AskUser
from orchestrator.testing import FakeWorld, fake_leg
from tests.workflow.conftest import Mission

if TYPE_CHECKING:
    from tests.workflow.conftest import Stage

DUE = "2026-11-23T09:00:00Z"


async def due(stage: Stage, run_id: str) -> WorkflowHandle[object, ScheduledEnd]:
    """A run as the server starts it for a schedule."""
    return await stage.env.client.start_workflow(
        names.SCHEDULED_MISSION_WORKFLOW,
        MissionInput(request=MissionRequest(goal="go to *Lisbon*", requester="ann")),
        id=run_id,
        task_queue=stage.task_queue,
        result_type=ScheduledEnd,
    )


@pytest.fixture
def schedule_id() -> str:
    return f"rooms-{uuid4().hex[:6]}"


@pytest.fixture
def run_id(schedule_id: str) -> str:
    return f"{names.schedule_workflow_id(schedule_id)}-{DUE}"


async def test_a_mission_starts_under_the_time_it_was_due(
    stage: Stage, world: FakeWorld, schedule_id: str, run_id: str
) -> None:
    """With all that a start by a client gives it, and its end is that of the run."""
    world.plan(fake_leg("trip"))
    run = await due(stage, run_id)

    end = await run.result()
    mission = await stage.env.client.get_workflow_handle(end.mission_id).describe()

    assert end == ScheduledEnd(
        mission_id=f"{schedule_id}-20261123T090000Z", status=MissionStatus.SUCCEEDED
    )
    assert (await mission.memo())["goal"] == "go to *Lisbon*"
    assert len((await mission.memo())["request"]) == 64
    assert await mission.static_summary() == r"go to \*Lisbon\*"


async def test_a_loss_is_told_by_its_end(stage: Stage, schedule_id: str, run_id: str) -> None:
    """The run completes: a schedule goes on after a mission that was rolled back."""
    stage.lose_after("book_flight")

    end = await (await due(stage, run_id)).result()

    assert end.status == MissionStatus.ROLLED_BACK
    assert end.error


async def test_a_mission_outlives_its_run(
    stage: Stage, world: FakeWorld, schedule_id: str, run_id: str
) -> None:
    """A cancel of the run does not reach it, and due again it is the same."""
    world.plan(fake_leg("trip"))
    world.decide("trip", AskUser(question="which?", fields={"seat": {"type": "string"}}))
    run = await due(stage, run_id)
    handle = stage.env.client.get_workflow_handle(
        f"{schedule_id}-20261123T090000Z", result_type=MissionResult
    )
    mission = Mission(stage.env.client, handle, stage.task_queue)

    async def runs() -> bool | None:
        return bool(await mission.question("trip")) or None

    with stage.env.auto_time_skipping_disabled():
        await mission.eventually(runs)
        await run.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        again = await (await due(stage, run_id)).result()

    assert await mission.status() is WorkflowExecutionStatus.RUNNING
    assert again == ScheduledEnd(mission_id=mission.mission_id, status="taken")


async def test_a_run_of_no_schedule_is_refused(stage: Stage) -> None:
    """Whoever may start workflows cannot have it start a mission under any id."""
    run = await due(stage, f"stranger-{uuid4().hex[:6]}")

    with pytest.raises(WorkflowFailureError) as refused:
        await run.result()

    assert isinstance(refused.value.cause, ApplicationError)
    assert refused.value.cause.type == "MissionMisnamed"
