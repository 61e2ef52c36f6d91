"""Asking many workflows at once: side by side, for a while, and naming those that are silent."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from temporalio.client import WorkflowExecution

from orchestrator.client.connection import Connection
from orchestrator.core import errors

T = TypeVar("T")

WAIT_S: Final = 12.0
"""How long all of them together may take. A worker whose neighbour has just died answers after ten
seconds: so long the server waits for the one that knew the workflow."""
_AT_ONCE: Final = 16
"""Of one task queue, so that a queue which does not answer holds up no other."""


@dataclass(frozen=True)
class Asked(Generic[T]):
    """A workflow, and what it answered; or why it did not."""

    execution: WorkflowExecution
    answer: T | None = None
    silence: str = ""


async def ask_all(
    connection: Connection,
    executions: Iterable[WorkflowExecution],
    ask: Callable[[WorkflowExecution], Awaitable[T | None]],
) -> list[Asked[T]]:
    """What each of them answers, in their order, whatever becomes of the others."""
    asked = list(executions)
    silent = await unpolled(connection, (one.task_queue for one in asked))
    places = {one.task_queue: asyncio.Semaphore(_AT_ONCE) for one in asked}
    until = asyncio.get_running_loop().time() + WAIT_S

    async def one(execution: WorkflowExecution) -> Asked[T]:
        if execution.task_queue in silent:
            return Asked(execution, silence=str(errors.NoWorker(execution.task_queue)))
        try:
            async with asyncio.timeout_at(until), places[execution.task_queue]:
                return Asked(execution, await ask(execution))
        except errors.MissionNotFound:
            return Asked(execution)  # it was deleted since it was found
        except TimeoutError:
            return Asked(execution, silence=str(errors.NoAnswer(execution.task_queue, WAIT_S)))
        except (errors.NoWorker, errors.QueryFailed) as silence:
            return Asked(execution, silence=str(silence))

    return await asyncio.gather(*map(one, asked))


async def unpolled(connection: Connection, task_queues: Iterable[str]) -> frozenset[str]:
    """Those of these task queues that nobody polls."""
    queues = sorted(set(task_queues))
    polled = await asyncio.gather(*map(connection.has_poller, queues))
    return frozenset(q for q, is_polled in zip(queues, polled, strict=True) if not is_polled)
