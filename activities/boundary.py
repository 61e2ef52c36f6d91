"""Where our errors become Temporal's, and where long work tells the server that it is alive."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from orchestrator.core.errors import OrchestratorError

_BEAT_S = 1.5


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise an OrchestratorError as an ApplicationError of its type."""
    try:
        yield
    except OrchestratorError as error:
        raise ApplicationError(
            str(error), type=type(error).__name__, non_retryable=not error.retryable
        ) from error


@asynccontextmanager
async def heartbeats(
    details: Callable[[], Sequence[object]] = tuple,
) -> AsyncIterator[None]:
    """Heartbeat while the body runs, so that the server notices within seconds when we die.

    The next attempt is told the `details` of the last heartbeat that the server had.
    """

    async def beat() -> None:
        while True:
            activity.heartbeat(*details())
            await asyncio.sleep(_BEAT_S)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
