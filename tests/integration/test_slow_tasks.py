"""A workflow's task on a machine that is far too busy: slow, and not stuck."""

import time

from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from orchestrator.client.mission_client import MissionClient
from orchestrator.runtime.worker import let_tasks_last

_QUEUE = "slow"
_LASTS_S = 3.0
"""Longer than the SDK waits for a thread that does not yield."""


@workflow.defn
class SlowWorkflow:
    """Its first task waits for its turn."""

    @workflow.run
    async def run(self) -> str:
        """Hold the thread."""
        until = time.perf_counter() + _LASTS_S
        while time.perf_counter() < until:
            pass
        return "done"


async def test_a_slow_task_is_not_interrupted(client: MissionClient) -> None:
    """It ends, and no attempt of it failed."""
    worker = Worker(
        client.temporal,
        task_queue=_QUEUE,
        workflows=[SlowWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    assert worker._workflow_worker is not None
    assert worker._workflow_worker._deadlock_timeout_seconds == 2, "the SDK's own, by its own name"
    let_tasks_last(worker)
    async with worker:
        slow = await client.temporal.start_workflow(SlowWorkflow.run, id="slow", task_queue=_QUEUE)

        assert await slow.result() == "done"

    history = await slow.fetch_history()
    failed = EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED
    assert failed not in [event.event_type for event in history.events]
