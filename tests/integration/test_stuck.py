"""A mission whose workflow task fails each time: what is said of it is what holds it up."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from temporalio import workflow
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator.client.mission_client import MissionClient
from orchestrator.core.errors import CancelUnheard, WorkflowStuck
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput, MissionRequest
from orchestrator.testing import eventually

_QUEUE = "broken"
_ID = "a-mission-that-is-stuck"


@workflow.defn(name=names.MISSION_WORKFLOW)
class BrokenMission:
    """Its code cannot take what it is given."""

    @workflow.run
    async def run(self, mission: MissionInput) -> None:
        """Fail the task, and not the workflow."""
        raise ValueError("[TMPRL1103] Attempted to upload payloads with size that exceeded")


@pytest.fixture
async def stuck(client: MissionClient) -> AsyncIterator[MissionClient]:
    """A mission that is stuck, with its worker."""
    worker = Worker(
        client.temporal,
        task_queue=_QUEUE,
        workflows=[BrokenMission],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    async with worker:
        mission = await client.temporal.start_workflow(
            names.MISSION_WORKFLOW,
            MissionInput(request=MissionRequest(goal="book a flight", mission_id=_ID)),
            id=_ID,
            task_queue=_QUEUE,
        )

        async def fails() -> bool:
            found = await mission.describe()
            return found.raw_description.pending_workflow_task.attempt > 2

        await eventually(fails)
        yield client
        await mission.terminate()


async def test_a_stuck_mission_is_told_as_stuck(stuck: MissionClient) -> None:
    """To show it says why it cannot go on, and no missing worker is blamed; to cancel it fails."""
    with pytest.raises(WorkflowStuck) as shown:
        await stuck.get(_ID).snapshot()
    assert "payloads with size that exceeded" in str(shown.value)
    assert "temporal workflow terminate" in str(shown.value)
    assert "no worker" not in str(shown.value)

    with pytest.raises(CancelUnheard, match="nothing has stopped"):
        await stuck.get(_ID).cancel()
