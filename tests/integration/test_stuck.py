"""A mission whose workflow task fails each time: what is said of it is what holds it up."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator.adapters.temporal.mission_converter import mission_converter
from orchestrator.adapters.temporal.payload_keys import PayloadKeys, new_payload_key
from orchestrator.client.mission_client import MissionClient
from orchestrator.client.obstacles import stuck as why_stuck
from orchestrator.core.errors import ServiceUnavailable
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionStatus
from orchestrator.testing import eventually
from tests.refusals import raises_code

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
    shown = await stuck.get(_ID).snapshot()
    why = await stuck.get(_ID).obstacle()
    assert shown.status is MissionStatus.PLANNING
    assert isinstance(why, ServiceUnavailable)
    assert why.code == "WorkflowStuck"
    assert "payloads with size that exceeded" in str(why)
    assert "temporal workflow terminate" in str(why)
    assert "no worker" not in str(why)

    with raises_code("CancelUnheard"):
        await stuck.get(_ID).cancel()


def _keyed(client: MissionClient, *keys: str) -> Client:
    config = client.temporal.config()
    config["data_converter"] = mission_converter(PayloadKeys.of_text(",".join(keys)))
    return Client(**config)


async def test_a_mission_whose_workers_lack_a_key_is_told_to_get_it(client: MissionClient) -> None:
    """Nothing but the key helps: to stop it would be to give up what it has done."""
    old, new = f"old:{new_payload_key()}", f"new:{new_payload_key()}"
    mission = await _keyed(client, new, old).start_workflow(
        names.MISSION_WORKFLOW,
        MissionInput(request=MissionRequest(goal="book a flight", mission_id="locked")),
        id="locked",
        task_queue="locked",
    )
    worker = Worker(
        _keyed(client, old),
        task_queue="locked",
        workflows=[BrokenMission],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )

    async def stands_still() -> ServiceUnavailable | None:
        return await why_stuck(client.temporal, await mission.describe())

    async with worker:
        why = await eventually(stands_still)
        await mission.terminate()

    assert why is not None
    assert str(why).endswith("Give its workers that key, and it goes on by itself")
    assert "key 'new'" in str(why)
    assert "terminate" not in str(why)


async def test_a_mission_whose_failure_is_locked_is_told_to_be_read(client: MissionClient) -> None:
    """Nobody is told to stop it before it is known why it cannot go on."""
    key = f"new:{new_payload_key()}"
    keyed = _keyed(client, key)
    mission = await keyed.start_workflow(
        names.MISSION_WORKFLOW,
        MissionInput(request=MissionRequest(goal="book a flight", mission_id="unread")),
        id="unread",
        task_queue="unread",
    )
    worker = Worker(
        keyed,
        task_queue="unread",
        workflows=[BrokenMission],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )

    async def stands_still() -> ServiceUnavailable | None:
        return await why_stuck(client.temporal, await mission.describe())

    async with worker:
        unread = await eventually(stands_still)
        read = await why_stuck(keyed, await mission.describe())
        await mission.terminate()

    assert "key 'new'" in str(unread)
    assert "terminate" not in str(unread)
    assert "payloads with size that exceeded" in str(read)
    assert "temporal workflow terminate" in str(read)
