"""The boundary of activities: read catalogs, translate errors, heartbeat, and count usage."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, ParamSpec, TypeVar

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from orchestrator.adapters.storage.protocols import CatalogStore
from orchestrator.adapters.telemetry.instruments import Telemetry, model_span
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.budget import Usage
from orchestrator.core.errors import (
    NOT_IN_TIME,
    CatalogNotFound,
    ModelError,
    OrchestratorError,
    SlotsTaken,
    StateMissing,
    StoreUnavailable,
)
from orchestrator.messages import names
from orchestrator.messages.failure_details import (
    MOST_WORKERS,
    MissingState,
    ModelTrouble,
    UsageSoFar,
)
from orchestrator.messages.step import PlanStepOutput
from orchestrator.planning.metering import Meter, open_meter, opened
from orchestrator.planning.models import GiveUp
from orchestrator.planning.trimming import cut_text

P = ParamSpec("P")
T = TypeVar("T")
_BEAT_S = 1.0
_SPREAD = 0.2
"""Share of a wait by which callers that were asked to wait equally long differ."""
_BENIGN = ApplicationErrorCategory.BENIGN


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise an OrchestratorError as an ApplicationError of its type.

    If state is missing here, other workers are tried at once; after that the workflow waits
    visibly.
    """
    try:
        yield
    except StateMissing as error:
        raise missing_state_error(error, is_last=activity.in_activity() and was_tried()) from error
    except OrchestratorError as error:
        raise ApplicationError(
            str(error), type=error.code, non_retryable=not error.retryable
        ) from error


async def catalog_of(catalogs: CatalogStore, digest: str, until: float | None = None) -> Catalog:
    """Return the catalog of a digest; reading it uses a thread only if that takes I/O.

    `until` is the deadline for the store, by the event loop's clock; None: no limit.
    """
    if (known := catalogs.in_memory(digest)) is not None:
        return known
    if until is None:
        return await asyncio.to_thread(catalogs.get, digest)
    return await from_store(until, catalogs.get, digest)


def spread_wait(asked_s: float | None) -> float | None:
    """Return the provider's wait plus a random share, so that callers do not return together."""
    return None if asked_s is None else asked_s * (1 + random.uniform(0, _SPREAD))


def was_tried() -> bool:
    """Return True if other workers have tried as well, or if the activity is local."""
    info = activity.info()
    return info.is_local or info.attempt >= MOST_WORKERS


def missing_state_error(
    error: StateMissing, *, is_last: bool = False, nothing_sent: bool = True
) -> ApplicationError:
    """Return the failure for missing state; after the last one, the workflow waits visibly.

    `nothing_sent` is false if an attempt of the call may have reached its provider.
    """
    taken = error if isinstance(error, SlotsTaken) else None
    missing = MissingState(
        error_type=error.code,
        catalog=error.digest if isinstance(error, CatalogNotFound) else "",
        provider=taken.provider if taken else "",
        mission_id=taken.mission_id if taken else "",
        nothing_sent=nothing_sent,
    )
    return ApplicationError(
        str(error),
        missing,
        type=error.code,
        # Attempts are for the provider: waiting for a slot must not use one up.
        non_retryable=is_last or taken is not None,
        category=_BENIGN if taken else ApplicationErrorCategory.UNSPECIFIED,
    )


LARGEST_SKEW: Final = timedelta(seconds=30)
"""Largest lead of a worker's clock over the server's; a worker further ahead sends nothing."""
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
"""The start of an attempt in the SDK's test environment, which has no server."""


class ServerTime:
    """The server's time during an attempt of an activity, independent of this machine's clock."""

    def __init__(self) -> None:
        """Begin with the time at which the server started the attempt."""
        self._local, self._ticks = datetime.now(UTC), time.monotonic()
        started = activity.info().started_time
        self._started = started if started > _EPOCH else self._local

    @property
    def skew(self) -> timedelta:
        """Lead of this machine's clock over the server's, including the delivery of the task."""
        return self._local - self._started

    def check(self) -> None:
        """Refuse to send if the clock is ahead, or if the attempt was started long ago.

        A clock that is behind misreads no deadline, and a test server skips time ahead of the
        clock.

        Raises:
            StateMissing: the difference exceeds `LARGEST_SKEW`.
        """
        if self.skew > LARGEST_SKEW and (fault := skew_fault(self.skew)) is not None:
            raise StateMissing(fault, code=NOT_IN_TIME)

    def now(self) -> datetime:
        """Return the server's time, which stays right if this process or its machine was paused."""
        ticks = timedelta(seconds=time.monotonic() - self._ticks)
        return self._started + max(ticks, datetime.now(UTC) - self._local)


def skew_fault(skew: timedelta) -> str | None:
    """Return the description of a clock fault; None if the clock is within `LARGEST_SKEW`."""
    if abs(skew) <= LARGEST_SKEW:
        return None
    is_ahead = skew > timedelta(0)
    where, so = ("ahead of", ", so it sends nothing") if is_ahead else ("behind", "")
    return (
        f"the clock of this worker is {abs(skew).total_seconds():.0f} s {where} the Temporal "
        f"server's{so}; set it right"
    )


STORE_S: Final = 2.0
"""Longest wait of a call for the store before it is sent: the call's time is the provider's."""


async def from_store(until: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return an answer of the store, which must arrive before `until` on the event loop's clock.

    Raises:
        StoreUnavailable: the store has not answered in time. A write may still happen later.
    """
    try:
        async with asyncio.timeout_at(until):
            return await asyncio.to_thread(work, *args, **kwargs)
    except TimeoutError as late:
        raise StoreUnavailable("of this worker", "it has not answered in time") from late


def store_deadline(within_s: float | None = None) -> float:
    """Return the deadline for an answer of the store, by the event loop's clock."""
    return asyncio.get_running_loop().time() + (STORE_S if within_s is None else within_s)


@asynccontextmanager
async def heartbeats(details: Callable[[], Sequence[object]] = tuple) -> AsyncIterator[None]:
    """Heartbeat while the body runs, so that the server soon notices if the worker dies.

    The next attempt gets the `details` of the last heartbeat that the server received.
    """
    if activity.info().is_local:  # its workflow task reports to the server
        yield
        return

    async def beat() -> None:
        while True:  # the server knows of the start, and most calls end before the first beat
            await asyncio.sleep(_BEAT_S)
            activity.heartbeat(*details())

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()


@asynccontextmanager
async def metered(telemetry: Telemetry | None = None) -> AsyncIterator[Meter]:
    """Heartbeat while the body runs, and meter its model usage; a failure carries the usage.

    Heartbeats also have the text that a model is sending, which `client.call_progress` shows. A
    body within another has the same meter: a heartbeat replaces the details of the one before.
    """
    if (outer := opened()) is not None:
        yield outer
        return
    found = UsageSoFar.found_in(activity.info().heartbeat_details)
    earlier = Usage() if found is None else found.usage_so_far
    watch = None if telemetry is None else partial(model_span, telemetry)

    def record(usage: Usage) -> None:
        if not activity.info().is_local:
            activity.heartbeat(UsageSoFar(usage_so_far=usage))

    def details() -> tuple[UsageSoFar, ...]:
        if not meter.text and meter.usage == Usage():
            return ()
        attempt = activity.info().attempt
        return (UsageSoFar(usage_so_far=meter.usage, text=meter.text, attempt=attempt),)

    with open_meter(earlier, record, watch) as meter:
        async with heartbeats(details):
            try:
                yield meter
            except Exception as error:
                if meter.usage == Usage():
                    raise
                raise _with_usage(error, meter.usage) from error


def _with_usage(error: Exception, usage: Usage) -> ApplicationError:
    so_far = UsageSoFar(usage_so_far=usage)
    if not isinstance(error, ApplicationError):
        return ApplicationError(str(error), so_far, type=type(error).__name__)
    return ApplicationError(
        error.message,
        *error.details,
        so_far,
        type=error.type,
        non_retryable=error.non_retryable,
        next_retry_delay=error.next_retry_delay,
        category=error.category,
    )


LONGEST_QUIET_WAIT: Final = timedelta(seconds=30)
"""The longest wait that Temporal's own retry handles; a longer wait is shown."""
_LONGEST_REASON: Final = 400
_YEAR_S: Final = 365 * 86_400


@contextmanager
def translated_troubles() -> Iterator[None]:
    """Raise a model's trouble as an ApplicationError with the details that a leg needs.

    A trouble that may pass soon is retried, but not before the time that the provider asks for.
    """
    try:
        yield
    except ModelError as error:
        seconds, wait = error.retry_after_s, None
        if seconds is not None and seconds >= 0:
            wait = timedelta(seconds=min(seconds, _YEAR_S))
        is_short = wait is None or wait <= LONGEST_QUIET_WAIT
        raise ApplicationError(
            str(error),
            ModelTrouble(
                model=error.model, reason=error.reason, remedy=error.remedy, retry_after=wait
            ),
            type=names.MODEL_TROUBLE,
            non_retryable=not (error.retryable and is_short),
            next_retry_delay=wait if is_short and wait else None,
        ) from error


def spent_on(error: OrchestratorError, usage: Usage | None) -> PlanStepOutput:
    """Return a step without a decision, because no answer of the planner was usable.

    A workflow of an earlier release reads this step as the end of its leg, as it read the error.
    """
    reason = cut_text(str(error), _LONGEST_REASON) or "no reason is given"
    return PlanStepOutput(decision=GiveUp(reason=reason), unusable=reason, usage=usage)
