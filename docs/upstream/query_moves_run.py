"""A query moves a run that is not in the worker's cache: a report for Temporal's Core SDK.

Seen with `temporalio` 1.35.0 (Python 3.11, Linux); the sandboxed and the unsandboxed runner both
show it.

1. A worker with a run in its cache dies. Its sticky queue still holds the run's next workflow
   task, which a timer made.
2. A query comes. Another worker answers it from the whole history, which already holds
   `TimerFired`. Core activates the workflow with that event although no workflow task has
   delivered it, at the time of the task before.
3. The command that the workflow gives for the timer is kept, and goes out with the next workflow
   task. That task also brings a signal, whose command comes second.
4. A later replay finds `TimerFired` and the signal in one task, applies the signal first, and so
   has the two commands in the other order: `[TMPRL1100] Nondeterminism error`. The run is stuck
   at its next cache miss.

Expected: a query is answered from the state of the last completed workflow task, or from a copy
that is thrown away.

This program needs half a minute and prints the error of the replay. On a busy machine the timer
may be late; run it again.
"""

import asyncio
import sys
import uuid
from datetime import timedelta

from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, Worker


@workflow.defn
class TimerThenSignal:
    """Its timer and its signal each lead to a command."""

    def __init__(self) -> None:
        self._signalled = False

    @workflow.run
    async def run(self) -> None:
        await workflow.sleep(3)
        workflow.upsert_memo({"fired": True})
        await workflow.wait_condition(lambda: self._signalled)

    @workflow.signal
    async def signal(self) -> None:
        await workflow.sleep(0.01)
        self._signalled = True

    @workflow.query
    def signalled(self) -> bool:
        return self._signalled


def worker_on(client: Client, queue: str) -> Worker:
    return Worker(
        client,
        task_queue=queue,
        workflows=[TimerThenSignal],
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=5),
    )


async def serve(address: str, queue: str) -> None:
    """The worker that is killed, in a process of its own."""
    async with worker_on(await Client.connect(address), queue):
        await asyncio.Event().wait()


async def main() -> None:
    async with await WorkflowEnvironment.start_local() as environment:
        client = environment.client
        queue = f"queries-{uuid.uuid4()}"
        address = client.service_client.config.target_host
        killed = await asyncio.create_subprocess_exec(sys.executable, __file__, address, queue)
        handle = await client.start_workflow(TimerThenSignal.run, id=queue, task_queue=queue)
        await handle.query(TimerThenSignal.signalled)
        killed.kill()
        await killed.wait()
        asked = handle.query(TimerThenSignal.signalled, rpc_timeout=timedelta(seconds=40))
        waiting = asyncio.create_task(asked)
        async for event in handle.fetch_history_events(wait_new_event=True):
            if event.event_type == EventType.EVENT_TYPE_TIMER_FIRED:
                break
        async with worker_on(client, queue):
            await waiting
            await handle.signal(TimerThenSignal.signal)
            await handle.result()
        history = await handle.fetch_history()
    await Replayer(workflows=[TimerThenSignal]).replay_workflow(history)
    print("the history replays: the query left no trace")


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]) if sys.argv[1:] else main())
