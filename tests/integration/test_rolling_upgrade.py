"""Two builds of the workers on a real server: each mission stays with the one that it began on."""

from __future__ import annotations

import asyncio
import shlex
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from temporalio import workflow
from temporalio.plugin import SimplePlugin
from temporalio.worker import WorkerConfig

from orchestrator.client.connection import connect_temporal
from orchestrator.client.mission_client import MissionClient
from orchestrator.core.command_lines import set_current
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput, MissionRequest, MissionResult, MissionStatus
from orchestrator.runtime.defaults import default_tools
from orchestrator.runtime.demo import day_in
from orchestrator.runtime.devserver import temporal_binary
from orchestrator.runtime.worker import build
from orchestrator.testing import approve, eventually, run_to_end
from orchestrator.workflows.mission_workflow import MissionWorkflow
from tests.fakes import states_of

if TYPE_CHECKING:
    from orchestrator.client.mission_handle import MissionHandle
    from orchestrator.runtime.devserver import Stack
    from tests.integration.conftest import Witness

QUEUE = "upgraded"
GO_ON_WITH_CURRENT = (
    "temporal workflow update-options --versioning-override-behavior auto_upgrade --yes "
    "--reason 'its build is gone' --query "
    f"\"{names.MISSION_ID_ATTRIBUTE} = '{{mission_id}}' AND ExecutionStatus = 'Running'\""
)
"""As docs/operations.md tells it."""
GOAL = f"Reserve a hotel in Lisbon from {day_in(90)} to {day_in(93)}"


@workflow.defn(name=names.MISSION_WORKFLOW, sandboxed=False)
class RewrittenMission(MissionWorkflow):
    """Takes one step more than before, as a release may: where a mission began with it."""

    @workflow.init
    def __init__(self, mission: MissionInput) -> None:
        super().__init__(mission)

    @workflow.run
    async def run(self, mission: MissionInput) -> MissionResult:
        if workflow.patched("begins-with-a-timer"):
            await workflow.sleep(0.01)
        return await super().run(mission)


class Rewritten(SimplePlugin):
    """The release that has it. Nothing of a module of tests runs in the SDK's sandbox."""

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        configured = super().configure_worker(config)
        ours = configured["workflows"]
        configured["workflows"] = [RewrittenMission if w is MissionWorkflow else w for w in ours]
        return configured


@asynccontextmanager
async def worker_of(
    stack: Stack, build_id: str, *plugins: Any, queue: str = QUEUE
) -> AsyncIterator[MissionClient]:
    """Serve a queue as one build, and speak to it."""
    changes = {"task_queue": queue, "build_id": build_id, "routing_timeout_ms": 5000}
    settings = stack.settings.model_copy(update=changes)
    temporal = await connect_temporal(stack.address)
    async with AsyncExitStack() as running:
        tools = await running.enter_async_context(default_tools(settings))
        for worker in build(temporal, settings, tools=tools, plugins=plugins):
            await running.enter_async_context(worker)
        yield MissionClient(temporal, settings)


async def temporal(stack: Stack, command: str) -> None:
    """Run a command as our own sentences give it, until the server has seen what it names."""
    told = [temporal_binary(), *shlex.split(command)[1:], f"--address={stack.address}"]

    async def ran() -> bool:
        process = await asyncio.create_subprocess_exec(*told, stdout=DEVNULL, stderr=DEVNULL)
        return await process.wait() == 0

    await eventually(ran)


async def asks(mission: MissionHandle) -> None:
    """Until it has a card open."""

    async def has_card() -> bool:
        return bool(await mission.confirmations())

    await eventually(has_card)


async def build_of(mission: MissionHandle, client: MissionClient) -> str:
    """Return the build that took the last step of a mission."""
    found = await client.temporal.get_workflow_handle(mission.mission_id).describe()
    info = found.raw_description.workflow_execution_info.versioning_info
    return info.deployment_version.build_id


async def test_a_mission_ends_on_the_build_that_it_began_on(stack: Stack, sandbox: Witness) -> None:
    """The new build takes new missions, and those of the old one where an operator says so.

    It reads what the old one did, and takes it back, when the old one is long gone.
    """
    async with worker_of(stack, "two", Rewritten("rewritten")) as newer:
        async with worker_of(stack, "one") as client:
            waits = await client.start(MissionRequest(goal=GOAL))
            assert "is not current of the deployment 'upgraded'" in waits.queued
            await waits.cancel()
            await temporal(stack, set_current(QUEUE, "one"))
            before = await client.start(MissionRequest(goal=GOAL))
            left = await client.start(MissionRequest(goal=GOAL))
            await asks(before)
            await asks(left)
            await temporal(stack, set_current(QUEUE, "two"))
            after = await newer.start(MissionRequest(goal=GOAL))
            assert (await run_to_end(before, approve)).status is MissionStatus.SUCCEEDED
        await temporal(stack, GO_ON_WITH_CURRENT.format(mission_id=left.mission_id))
        assert (await run_to_end(left, approve)).status is MissionStatus.SUCCEEDED
        assert (await run_to_end(after, approve)).status is MissionStatus.SUCCEEDED
        assert await build_of(before, newer) == "one"
        assert await build_of(after, newer) == "two"
        report = await newer.rollback(before.mission_id, reason="the wrong week", approver="ops")

    assert states_of(report.ledger) == {"hotel_book_room": "cancelled"}
    assert await sandbox.live(before.mission_id) == []


@pytest.mark.long
async def test_the_current_build_rolls_back_what_a_build_that_is_gone_left(
    stack: Stack, sandbox: Witness
) -> None:
    """The ledger is read from raw history, which needs no worker of the build that wrote it."""
    queue, rewritten = "left-behind", Rewritten("rewritten")
    async with worker_of(stack, "two", rewritten, queue=queue) as newer:
        async with worker_of(stack, "one", queue=queue) as client:
            await temporal(stack, set_current(queue, "one"))
            mission = await client.start(MissionRequest(goal=f"{GOAL} and file the expense"))
            await asks(mission)
            (card,) = await mission.confirmations()
            await approve(mission, card)

            async def is_booked() -> bool:
                return bool(await sandbox.live(mission.mission_id))

            await eventually(is_booked)
            await client.temporal.get_workflow_handle(mission.mission_id).terminate("by hand")
            await temporal(stack, set_current(queue, "two"))
        report = await newer.rollback(mission.mission_id, reason="terminated")

    assert states_of(report.ledger) == {"hotel_book_room": "cancelled"}
    assert await sandbox.live(mission.mission_id) == []
