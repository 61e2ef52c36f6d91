"""Run activities, locally or on any worker, and wait for a worker with the state that they need.

It has the limits that several activities share.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypedDict, TypeVar, Unpack

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import THOUGHT_CUT_OFF
    from orchestrator.core.record import Record
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import KeyProbe
    from orchestrator.workflows.failures import failure_here, was_locked
    from orchestrator.workflows.missing_state import (
        local_then_remote,
        pause_between,
        retry_until_available,
    )
    from orchestrator.workflows.scope import task_queue

T = TypeVar("T")


class _Here(TypedDict, total=False):
    start_to_close_timeout: timedelta
    schedule_to_close_timeout: timedelta
    retry_policy: RetryPolicy


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


_HERE: Final[_Here] = {
    "schedule_to_close_timeout": timedelta(seconds=5),
    "retry_policy": RetryPolicy(
        initial_interval=timedelta(milliseconds=200),
        maximum_interval=timedelta(seconds=1),
        maximum_attempts=3,
        non_retryable_error_types=[THOUGHT_CUT_OFF],
    ),
}
"""Limits of work in a workflow task, which stays open meanwhile and receives nothing.

There are few attempts. Work that is slow on a busy machine moves to an ordinary activity, so that
the leg can be queried meanwhile.
"""


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
        await _await_key(rounds, queue)
        rounds += 1


async def _await_key(rounds: int, queue: str | None) -> None:
    """Wait until some worker can read this worker's payloads, without growing the history.

    The probe does not prove that a worker reads the payload itself: repeated waits in vain are
    spaced out, and add few events to the history.
    """
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
        return await in_task(activity, *message, result_type=result_type, summary=summary)

    async def elsewhere() -> T:
        return await once(activity, *message, result_type=result_type, summary=summary, **limits)

    own = task_queue() in (None, workflow.info().task_queue)
    attempt = local_then_remote(here, elsewhere) if own else elsewhere
    return await retry_until_available(attempt, except_for=except_for)


async def in_task(activity: str, *message: Record, result_type: type[T], summary: str) -> T:
    """Run an activity in the worker that has the workflow task; raise its failure.

    The SDK raises a local activity's failure bare, but wraps the failure of any other activity. It
    wraps a timeout of a local activity, and raises it bare when the history is replayed.
    """
    try:
        answer: T = await workflow.execute_local_activity(
            activity, args=message, result_type=result_type, summary=summary, **_HERE
        )
    except (ApplicationError, TimeoutError) as failed:
        raise failure_here(activity, failed) from failed
    return answer
