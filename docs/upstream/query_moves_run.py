"""A query that meets a timer and a signal on a worker without the run in its cache."""

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
