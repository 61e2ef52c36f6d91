"""Asking many workflows at once: side by side, for a while, and naming those that are silent."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from temporalio.client import WorkflowExecution

from orchestrator.adapters.temporal.pinned_builds import Version, pinned_version
from orchestrator.client.connection import Connection
from orchestrator.core import errors

T = TypeVar("T")
Place = tuple[str, Version | None]
"""A task queue, and the build that what waits there stays with."""

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
    silent = await unpolled(connection, map(waiting_at, asked))
    places = {one.task_queue: asyncio.Semaphore(_AT_ONCE) for one in asked}
    until = asyncio.get_running_loop().time() + WAIT_S

    async def one(execution: WorkflowExecution) -> Asked[T]:
        if (missing := silent.get(waiting_at(execution))) is not None:
            return Asked(execution, silence=str(missing))
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


async def unpolled(connection: Connection, places: Iterable[Place]) -> dict[Place, errors.NoWorker]:
    """Those of these task queues, or builds in them, that nobody polls; and why."""
    distinct = sorted(set(places), key=str)
    missing = await asyncio.gather(*(connection.absence(*place) for place in distinct))
    return {place: why for place, why in zip(distinct, missing, strict=True) if why is not None}


def waiting_at(execution: WorkflowExecution) -> Place:
    """Who has to be there for a workflow to go on."""
    return execution.task_queue, pinned_version(execution.raw_info.versioning_info)
