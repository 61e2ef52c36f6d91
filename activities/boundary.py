"""Where our errors become Temporal's, and where long work tells the server that it is alive."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from orchestrator.core.errors import CatalogNotFound, OrchestratorError, StateLacking
from orchestrator.messages.lacking import MOST_WORKERS, LackingState

_BEAT_S = 1.0


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise an OrchestratorError as an ApplicationError of its type.

    What this worker lacks is looked for at another one at once; then its workflow waits in sight.
    """
    try:
        yield
    except StateLacking as error:
        raise lacking_error(error, is_last=activity.in_activity() and was_tried()) from error
    except OrchestratorError as error:
        raise ApplicationError(
            str(error), type=type(error).__name__, non_retryable=not error.retryable
        ) from error


def was_tried() -> bool:
    """Whether the work was tried at other workers as well; a local activity has this one alone."""
    info = activity.info()
    return info.is_local or info.attempt >= MOST_WORKERS


def lacking_error(
    error: StateLacking,
    *,
    is_last: bool = False,
    nothing_sent: bool = True,
) -> ApplicationError:
    """The failure that tells what is lacking.

    Args:
        error: what the worker came upon.
        is_last: whether the workflow is to be told now, and not another worker asked.
        nothing_sent: of a call, whether no attempt of it can have reached its provider.
    """
    told = LackingState(
        lacks=type(error).__name__,
        catalog=error.digest if isinstance(error, CatalogNotFound) else "",
        nothing_sent=nothing_sent,
    )
    return ApplicationError(
        str(error),
        told,
        type=type(error).__name__,
        non_retryable=is_last,
    )


@asynccontextmanager
async def heartbeats(
    details: Callable[[], Sequence[object]] = tuple,
) -> AsyncIterator[None]:
    """Heartbeat while the body runs, so that the server notices within seconds when we die.

    The next attempt is told the `details` of the last heartbeat that the server had.
    """
    if activity.info().is_local:  # its workflow task tells the server of it
        yield
        return

    async def beat() -> None:
        while True:
            activity.heartbeat(*details())
            await asyncio.sleep(_BEAT_S)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
