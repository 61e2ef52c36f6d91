"""What models take in an activity is kept whatever comes of it: over attempts, and in its failure.

Each attempt tells the server what was taken so far by its heartbeats, and the next one goes on from
there. What a worker that dies was just being answered is known to nobody.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.boundary import heartbeats
from orchestrator.adapters.telemetry.instruments import Telemetry, model_span
from orchestrator.core.budget import Usage
from orchestrator.messages.usage_so_far import UsageSoFar
from orchestrator.planning.metering import Meter, open_meter


@asynccontextmanager
async def metered(telemetry: Telemetry | None = None) -> AsyncIterator[Meter]:
    """Heartbeat while the body runs, and count what it asks models; a failure says how much."""
    earlier = _of_earlier_attempts()
    watch = None if telemetry is None else partial(model_span, telemetry)
    with open_meter(earlier, _tell, watch) as meter:
        async with heartbeats(lambda: () if meter.usage == Usage() else (_told(meter.usage),)):
            try:
                yield meter
            except Exception as error:
                if meter.usage == Usage():
                    raise
                raise _with_usage(error, meter.usage) from error


def _tell(usage: Usage) -> None:
    if not activity.info().is_local:
        activity.heartbeat(_told(usage))


def _of_earlier_attempts() -> Usage:
    details = activity.info().heartbeat_details
    return UsageSoFar.found_in(details) or Usage()


def _told(usage: Usage) -> UsageSoFar:
    return UsageSoFar(usage_so_far=usage)


def _with_usage(error: Exception, usage: Usage) -> ApplicationError:
    """The same failure, to be tried again as it was, with the usage as its last detail."""
    if not isinstance(error, ApplicationError):
        return ApplicationError(str(error), _told(usage), type=type(error).__name__)
    return ApplicationError(
        error.message,
        *error.details,
        _told(usage),
        type=error.type,
        non_retryable=error.non_retryable,
        next_retry_delay=error.next_retry_delay,
        category=error.category,
    )
