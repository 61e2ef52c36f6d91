"""A worker that is asked to stop: what it runs ends, for as long as the setting says."""

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from orchestrator.runtime.worker import drain, worker_limits
from orchestrator.runtime.worker_state import CountsActivities, Phase, WorkerState
from orchestrator.settings import Settings


@workflow.defn(sandboxed=False)
class CallsOnce:
    """Makes one call that may not be repeated."""

    @workflow.run
    async def run(self) -> None:
        """Until the call has ended."""
        await workflow.execute_activity(
            "call",
            start_to_close_timeout=timedelta(minutes=5),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )


class Provider:
    """Answers a call when it is told to."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.ended = ""

    @activity.defn
    async def call(self) -> None:
        """On the wire until the provider answers, or until it is cut."""
        self.asked.set()
        try:
            await self.may_answer.wait()
            self.ended = "answered"
        except asyncio.CancelledError:
            self.ended = "cut"
            raise


@pytest.mark.parametrize(("drain_s", "ended"), [(60.0, "answered"), (0.01, "cut")])
async def test_a_call_on_the_wire_ends_before_its_worker(
    workflow_env: WorkflowEnvironment, tmp_path: Path, drain_s: float, ended: str
) -> None:
    """Unless it takes longer than a worker may drain."""
    client, provider, state, queue = workflow_env.client, Provider(), WorkerState(), str(uuid4())
    settings = Settings(state_dir=tmp_path, drain=timedelta(seconds=drain_s))
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[CallsOnce],
        activities=[provider.call],
        interceptors=[CountsActivities(state)],
        **worker_limits(settings),
    )
    async with asyncio.timeout(60):
        async with worker:
            state.polls(client, [worker])
            started = await client.start_workflow(CallsOnce.run, id=queue, task_queue=queue)
            await provider.asked.wait()
            running = state.running
            draining = asyncio.create_task(drain([worker], state, settings.drain))
            await asyncio.wait([draining], timeout=0.3)
            phase = state.phase
            provider.may_answer.set()
            await draining
        await started.terminate()

    assert (running, phase, state.running) == (1, Phase.DRAINING, 0)
    assert provider.ended == ended
