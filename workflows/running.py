"""Run activities, locally or on any worker, and wait for a worker with the state that they need.

A catalog that a worker is missing, or a store that is unavailable, is nobody's failure: nothing is
cancelled for it. The work is scheduled again once some worker has the state, however long that
takes. The limits that several activities share are here too.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypedDict, TypeVar, Unpack

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    TimeoutError,
    is_cancelled_exception,
)

with workflow.unsafe.imports_passed_through():
    from orchestrator.core import compensation_limits as deferral
    from orchestrator.core.errors import THOUGHT_CUT_OFF, NoWorker
    from orchestrator.core.record import Record
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import KeyProbe, MissingState
    from orchestrator.saga.outcome import ToolOutcome
    from orchestrator.workflows import ui
    from orchestrator.workflows.failures import failure_here, first_words, is_final, was_locked
    from orchestrator.workflows.scope import stall, task_queue

T = TypeVar("T")


class Limits(TypedDict, total=False):
    """Timeouts and retries of an activity, as the SDK takes them."""

    start_to_close_timeout: timedelta
    schedule_to_close_timeout: timedelta
    heartbeat_timeout: timedelta
    retry_policy: RetryPolicy


HEARTBEAT = timedelta(seconds=3.5)
"""Heartbeat timeout: after it, the worker is taken for dead and another worker takes over.

A worker sends a heartbeat each second.
"""
RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200),
    maximum_interval=timedelta(seconds=10),
    maximum_attempts=12,
)
LOCAL: Final[Limits] = {"start_to_close_timeout": timedelta(seconds=15), "retry_policy": RETRY}
"""For work inside a worker, without a provider.

The limits are generous, and short enough that a dead worker is noticed soon.
"""
PLANNER: Final[Limits] = {
    "start_to_close_timeout": timedelta(seconds=120),
    "heartbeat_timeout": HEARTBEAT,
    "retry_policy": RETRY,
}
"""For planners: a model may need minutes."""
SPLITTING: Final[Limits] = {**PLANNER, "start_to_close_timeout": timedelta(minutes=15)}
"""For splitting a goal: a model is asked up to three times."""
AS_OFTEN_AS_IT_TAKES: Final = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
)


async def run(
    activity: str,
    *message: Record,
    result_type: type[T],
    summary: str,
    except_for: Callable[[ActivityError], bool] = lambda error: False,
    **limits: Unpack[Limits],
) -> T:
    """Run an activity; wait visibly while no worker has the state that it needs.

    `except_for` selects failures for missing state that the caller waits for.
    """
    return await retry_until_available(
        lambda: once(activity, *message, result_type=result_type, summary=summary, **limits),
        except_for=except_for,
    )


async def once(
    activity: str,
    *message: Record,
    result_type: type[T],
    summary: str,
    queue: str | None = None,
    **limits: Unpack[Limits],
) -> T:
    """Run an activity once some worker has the key of its input; raise its failure.

    `queue` is its task queue; None: the queue that the current task works for.
    """
    rounds = 0
    while True:
        try:
            answer: T = await workflow.execute_activity(
                activity,
                args=message,
                result_type=result_type,
                summary=summary,
                task_queue=queue or task_queue(),
                # A call that was sent is waited for; any other activity leaves nothing behind and
                # ends by itself, so that a request to cancel it would come too late.
                cancellation_type=workflow.ActivityCancellationType.ABANDON,
                **limits,
            )
            return answer
        except ActivityError as error:
            # The sender of a call postpones it visibly.
            if not was_locked(error) or activity == names.INVOKE_TOOL:
                raise
        # Until some worker can read this worker's payloads, without growing the history. The probe
        # does not prove that a worker reads the payload itself: repeated waits in vain are spaced
        # out, and add few events to the history.
        if rounds:
            await pause_between(rounds)
        await workflow.execute_activity(
            names.AWAIT_KEY,
            KeyProbe(),
            result_type=type(None),
            summary="wait for a worker that has the key of its messages",
            task_queue=queue or task_queue(),
            start_to_close_timeout=timedelta(seconds=15),
            retry_policy=RetryPolicy(
                initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=30)
            ),
        )
        rounds += 1


async def run_locally(
    activity: str,
    *message: Record,
    result_type: type[T],
    summary: str,
    except_for: Callable[[ActivityError], bool] = lambda error: False,
    **limits: Unpack[Limits],
) -> T:
    """Run an activity that needs no other machine in the worker of the workflow task.

    The history gets only the result, when the task is done. A worker that dies before leaves
    nothing, and another worker runs the activity again: so it must send nothing. If it fails here,
    or takes too long for a task, any worker runs it within these limits.
    """

    async def here() -> T:
        # The SDK raises a local activity's failure bare, but wraps that of any other activity. It
        # wraps a timeout of a local activity, and raises it bare when the history is replayed.
        try:
            answer: T = await workflow.execute_local_activity(
                activity,
                args=message,
                result_type=result_type,
                summary=summary,
                # A workflow task stays open meanwhile and receives nothing. Work that is slow on a
                # busy machine moves to an ordinary activity, so that the leg can be queried.
                schedule_to_close_timeout=timedelta(seconds=5),
                retry_policy=RetryPolicy(
                    initial_interval=timedelta(milliseconds=200),
                    maximum_interval=timedelta(seconds=1),
                    maximum_attempts=3,
                    non_retryable_error_types=[THOUGHT_CUT_OFF],
                ),
            )
        except (ApplicationError, TimeoutError) as failed:
            raise failure_here(activity, failed) from failed
        return answer

    async def elsewhere() -> T:
        return await once(activity, *message, result_type=result_type, summary=summary, **limits)

    own = task_queue() in (None, workflow.info().task_queue)
    attempt = local_then_remote(here, elsewhere) if own else elsewhere
    return await retry_until_available(attempt, except_for=except_for)


@dataclass(frozen=True)
class Postponed:
    """A call that no worker could send, and that is sent later."""

    missing: MissingState
    why: str
    may_have_arrived: bool
    """True if an earlier attempt may have reached the provider."""

    @property
    def not_sent(self) -> ToolOutcome:
        """The outcome if it is never sent again."""
        if self.may_have_arrived:
            return ToolOutcome(kind="unknown", reason=f"not asked about again: {self.why}")
        return ToolOutcome(kind="rejected", reason=f"not sent: {self.why}")


def missing_state_in(error: ActivityError) -> MissingState | None:
    """Return the state that no worker could get, if that is why an activity failed."""
    cause = error.cause
    return MissingState.found_in(cause.details) if isinstance(cause, ApplicationError) else None


def missing_state_for_call(error: ActivityError) -> MissingState | None:
    """Return the missing state for which a call is deferred; None: the call is settled.

    An attempt that is under way when the total time is over has a start in history. Without a
    start, the previous attempt reports if anything was sent; without any attempt, no worker took
    the call.
    """
    cause = error.cause
    if isinstance(cause, TimeoutError) and not error.started_event_id:
        last = cause.cause
        if last is None:
            return MissingState(error_type=NoWorker.__name__)
        return MissingState.found_in(last.details) if isinstance(last, ApplicationError) else None
    if isinstance(cause, ApplicationError) and was_locked(error):
        # A final failure means that no attempt ever received a readable input.
        return MissingState(error_type=cause.type or "", nothing_sent=is_final(error))
    return missing_state_in(error)


async def retry_until_available(
    attempt: Callable[[], Awaitable[T]],
    *,
    except_for: Callable[[ActivityError], bool] = lambda error: False,
) -> T:
    """Retry an attempt for as long as some of the mission's state is missing.

    Raises:
        ActivityError: the attempt failed for any other reason.
    """
    rounds = 0
    while True:
        try:
            answer = await attempt()
        except ActivityError as error:
            missing = missing_state_in(error)
            if missing is None or except_for(error):
                raise
            await wait_for(missing, why_of(error), rounds=rounds)
            rounds += 1
        else:
            return answer


def local_then_remote(
    here: Callable[[], Awaitable[T]], elsewhere: Callable[[], Awaitable[T]]
) -> Callable[[], Awaitable[T]]:
    """Return an attempt that runs in this worker first, and after a failure in any worker.

    Missing state is raised to the caller, which waits for it first; a failure that forbids further
    attempts is not retried.
    """
    was_here = False

    async def attempt() -> T:
        nonlocal was_here
        if was_here:
            return await elsewhere()
        was_here = True
        try:
            return await here()
        except ActivityError as error:
            if (
                is_cancelled_exception(error)
                or is_final(error)
                or missing_state_in(error) is not None
            ):
                raise
        return await elsewhere()

    return attempt


async def wait_for(missing: MissingState, why: str, *, rounds: int) -> None:
    """Wait visibly until a worker has the missing state."""
    stall(why)
    await until_there(missing, rounds=rounds)
    stall("")


def pause_of(answer: ToolOutcome, waited: timedelta) -> timedelta | None:
    """Return how long to wait before a deferred call is sent again; None: the call is settled.

    Args:
        answer: its outcome; only a call that the provider did not begin is deferred.
        waited: the time so far, for this call.
    """
    if not answer.deferred or answer.kind != "rejected":
        return None
    asked = min(answer.retry_after_s or 0.0, deferral.LONGEST_DEFERRAL.total_seconds() + 1)
    pause = max(
        timedelta(seconds=asked), min(waited, deferral.LONGEST_DEFERRAL_PAUSE), deferral.FIRST_PAUSE
    )
    return pause if waited + pause <= deferral.LONGEST_DEFERRAL else None


async def wait_in_sight(pause: timedelta, why: str) -> None:
    """Wait as long as a provider asked for, and show the reason."""
    stall(why)
    await workflow.sleep(pause, summary=ui.UNTIL_TAKEN)
    stall("")


async def until_there(
    missing: MissingState,
    *,
    rounds: int,
    longest: timedelta = timedelta(minutes=1),
    queue: str | None = None,
) -> None:
    """Wait until some worker has the state; the wait's length does not grow the history."""
    if rounds:
        await pause_between(rounds, longest)
    await workflow.execute_activity(
        names.AWAIT_STATE,
        missing,
        result_type=type(None),
        summary="wait for a worker that has what the mission needs",
        task_queue=queue or task_queue(),
        start_to_close_timeout=timedelta(seconds=60),
        # Its attempts do not grow the history.
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=10)
        ),
    )


async def pause_between(rounds: int, longest: timedelta = timedelta(minutes=1)) -> None:
    """Sleep for longer after each unsuccessful round of waiting."""
    pause = min(timedelta(seconds=2 ** min(rounds, 12)), longest)
    await workflow.sleep(pause, summary="until it is looked for again")


def why_of(error: ActivityError) -> str:
    """Return why an activity failed for missing state, in the words of the worker that noticed."""
    no_worker = isinstance(error.cause, TimeoutError) and error.cause.cause is None
    return "no worker took it in time" if no_worker else first_words(error)
