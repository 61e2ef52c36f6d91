"""Asking a server that is being killed and restarted, and ending tasks that do so."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from temporalio.service import RPCError, RPCStatusCode

from orchestrator.core.errors import NoWorker, ServerUnreachable

T = TypeVar("T")

_PAUSE_S = 0.2
_TRANSIENT = frozenset(
    {
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.ABORTED,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.FAILED_PRECONDITION,
    }
)
"""What a server says while it stops or starts, or while no worker is there."""


def is_transient(error: Exception) -> bool:
    """Whether the same question may well be answered a moment later."""
    if isinstance(error, RPCError):
        return error.status in _TRANSIENT
    return isinstance(error, NoWorker | ServerUnreachable)


async def end_tasks(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks, and raise what the first of them had failed with."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    for ended in await asyncio.gather(*ending, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended


async def retry_transient(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer, however often the server dies meanwhile; the caller sets the time limit."""
    while True:
        try:
            return await ask()
        except (RPCError, NoWorker, ServerUnreachable) as error:
            if not is_transient(error):
                raise
        await asyncio.sleep(_PAUSE_S)
