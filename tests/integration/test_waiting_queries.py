"""A query that waits for a worker, as after a kill: what it finds must not stay in the run."""

import asyncio
import sys
import uuid
from datetime import timedelta

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker, WorkflowRunner
from temporalio.workflow import NondeterminismError

with workflow.unsafe.imports_passed_through():  # which runs workflows, and is not run by them
    from orchestrator.adapters.temporal.workflow_runner import TaskOrderedRunner


@workflow.defn
class TimerThenSignal:
    """Its timer and its signal each lead to a command."""

    def __init__(self) -> None:
        self._signalled = False

    @workflow.run
    async def run(self) -> None:
        """A command when the timer has fired, then wait for the signal's."""
        await workflow.sleep(3)
        workflow.upsert_memo({"fired": True})
        await workflow.wait_condition(lambda: self._signalled)

    @workflow.signal
    async def signal(self) -> None:
        """Another command."""
        await workflow.sleep(0.01)
        self._signalled = True

    @workflow.query
    def signalled(self) -> bool:
        """Any state."""
        return self._signalled


def worker_on(client: Client, queue: str, runner: WorkflowRunner) -> Worker:
    """A worker whose death holds its tasks up for five seconds."""
    return Worker(
        client,
        task_queue=queue,
        workflows=[TimerThenSignal],
        workflow_runner=runner,
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=5),
    )


async def serve(address: str, queue: str) -> None:
    """The worker that is killed, in a process of its own."""
    async with worker_on(await Client.connect(address), queue, UnsandboxedWorkflowRunner()):
        await asyncio.Event().wait()


async def timer_fired(handle: WorkflowHandle[TimerThenSignal, None]) -> None:
    """Return when the run's history holds the firing of its timer."""
    async for event in handle.fetch_history_events(wait_new_event=True):
        if event.event_type == EventType.EVENT_TYPE_TIMER_FIRED:
            return


async def run_with_a_waiting_query(client: Client, runner: WorkflowRunner) -> WorkflowHistory:
    """The history of a run whose timer fired while a query waited for the next worker.

    The killed worker's queue holds the timer's task, which comes some seconds after the query, for
    as long as it holds the query: the signal, sent when the query is answered, arrives meanwhile.
    """
    queue = f"queries-{uuid.uuid4()}"
    address = client.service_client.config.target_host
    killed = await asyncio.create_subprocess_exec(sys.executable, __file__, address, queue)
    handle = await client.start_workflow(TimerThenSignal.run, id=queue, task_queue=queue)
    await handle.query(TimerThenSignal.signalled)
    killed.kill()
    await killed.wait()
    waiting = asyncio.create_task(handle.query(TimerThenSignal.signalled))
    await timer_fired(handle)
    async with worker_on(client, queue, runner):
        assert await waiting is False
        await handle.signal(TimerThenSignal.signal)
        await handle.result()
    return await handle.fetch_history()


async def test_a_query_that_waited_for_a_worker_moves_nothing(
    workflow_env: WorkflowEnvironment,
) -> None:
    """With our runner the run can be replayed; without it, it cannot.

    When only the second half fails, the SDK has mended it and the runner can go.
    """
    unguarded = UnsandboxedWorkflowRunner()
    guarded, stuck = await asyncio.gather(
        run_with_a_waiting_query(workflow_env.client, TaskOrderedRunner(unguarded)),
        run_with_a_waiting_query(workflow_env.client, unguarded),
    )
    await Replayer(workflows=[TimerThenSignal]).replay_workflow(guarded)
    with pytest.raises(NondeterminismError):
        await Replayer(workflows=[TimerThenSignal]).replay_workflow(stuck)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
