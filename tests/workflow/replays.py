"""Histories replayed as every worker that could have taken a workflow over would have got them."""

from collections.abc import AsyncIterator
from typing import Any

from temporalio.client import WorkflowHandle, WorkflowHistory

from tests.replay.replaying import replayer


async def replays_at_every_task(*handles: WorkflowHandle[Any, Any]) -> int:
    """Replay each history up to each of its workflow tasks, and whole: how often that was."""
    cuts = [cut for handle in handles for cut in _cuts(await handle.fetch_history())]

    await replay(*cuts)
    return len(cuts)


async def replay(*histories: WorkflowHistory) -> None:
    """Replay each; raise what today's code does otherwise."""

    async def each() -> AsyncIterator[WorkflowHistory]:
        for history in histories:
            yield history

    await replayer().replay_workflows(each())


def _cuts(history: WorkflowHistory) -> list[WorkflowHistory]:
    """What a worker had that got the last task of its predecessor anew, for each of them."""
    ends = [
        index + 1
        for index, event in enumerate(history.events)
        if event.HasField("workflow_task_completed_event_attributes")
    ]
    whole = len(history.events)
    return [
        WorkflowHistory(history.workflow_id, history.events[:end]) for end in [*ends[:-1], whole]
    ]
