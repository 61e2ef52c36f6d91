"""How workflows run activities: in their own task, or by any worker, which is waited for."""

from datetime import timedelta
from typing import Final, TypedDict, TypeVar, Unpack

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.record import Record
    from orchestrator.messages import names
    from orchestrator.messages.key_probe import KeyProbe
    from orchestrator.messages.thought_here import ThoughtHere
    from workflows import ui
    from workflows.failures import failure_here, is_final, was_locked
    from workflows.held_up import READ_LATER, here_first, once_there, pause_between

T = TypeVar("T")


class _Here(TypedDict, total=False):
    start_to_close_timeout: timedelta
    schedule_to_close_timeout: timedelta
    retry_policy: RetryPolicy


class Limits(TypedDict, total=False):
    """Times and retries of an activity, as the SDK takes them."""

    start_to_close_timeout: timedelta
    schedule_to_close_timeout: timedelta
    heartbeat_timeout: timedelta
    retry_policy: RetryPolicy


_HERE: Final[_Here] = {
    "schedule_to_close_timeout": timedelta(seconds=5),
    "retry_policy": RetryPolicy(
        initial_interval=timedelta(milliseconds=200),
        maximum_interval=timedelta(seconds=1),
        maximum_attempts=3,
        non_retryable_error_types=[names.TASK_LOST],
    ),
}
"""For work in a workflow task, which lasts as long and hears nothing: few attempts; what is slow on
a busy machine is done by an ordinary activity, so that the leg can be asked meanwhile."""
_UNHEARD_S: Final = 0.5
"""How long a workflow task may think before it ends to hear what has come: about as long as the
task that an ordinary activity's answer makes may take on a busy machine."""


async def run(
    activity: str, *message: Record, gives: type[T], summary: str, **limits: Unpack[Limits]
) -> T:
    """The answer of an activity, waited for in sight while no worker has what it needs for it."""
    return await once_there(
        lambda: once(activity, *message, gives=gives, summary=summary, **limits)
    )


async def once(
    activity: str, *message: Record, gives: type[T], summary: str, **limits: Unpack[Limits]
) -> T:
    """The answer of an activity, or its failure, once some worker has the key of its input."""
    rounds = 0
    while True:
        try:
            answer: T = await workflow.execute_activity(
                activity, args=message, result_type=gives, summary=summary, **limits
            )
            return answer
        except ActivityError as error:
            is_call = activity == names.INVOKE_TOOL
            if not was_locked(error) or (is_call and not is_final(error)):
                raise
            if is_call and workflow.patched(READ_LATER):
                raise  # who makes the call holds it back, where that is seen
        await _await_key(rounds)
        rounds += 1


async def _await_key(rounds: int) -> None:
    """Wait until some worker can read what this one writes: however long, history waits.

    A probe is small, and no proof of a payload store that is away: rounds that came to nothing are
    spread, and history grows by few.
    """
    if rounds and workflow.patched(READ_LATER):
        await pause_between(rounds)
    await workflow.execute_activity(
        names.AWAIT_KEY,
        KeyProbe(),
        result_type=type(None),
        summary=ui.AWAIT_KEY,
        start_to_close_timeout=timedelta(seconds=15),
        retry_policy=RetryPolicy(
            initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=30)
        ),
    )


async def run_here(
    activity: str, *message: Record, gives: type[T], summary: str, **limits: Unpack[Limits]
) -> T:
    """The answer of an activity that needs no other machine: its worker runs it in the same task.

    History gets its result alone, when the task is done. A worker that dies before leaves nothing
    of it, and another one runs it again: so it must send nothing. What fails here, or takes too
    long for a task, is any worker's within these limits.
    """

    async def here() -> T:
        return await in_task(activity, *message, gives=gives, summary=summary)

    async def elsewhere() -> T:
        return await once(activity, *message, gives=gives, summary=summary, **limits)

    return await once_there(here_first(here, elsewhere))


async def in_task(activity: str, *message: Record, gives: type[T], summary: str) -> T:
    """The answer of an activity in the worker that has the task, or its failure.

    The SDK raises that bare, where it wraps the failure of any other activity. One that took too
    long it wraps, and raises bare when the history is replayed.
    """
    try:
        answer: T = await workflow.execute_local_activity(
            activity, args=message, result_type=gives, summary=summary, **_HERE
        )
    except (ApplicationError, TimeoutError) as failed:
        raise failure_here(activity, failed) from failed
    if isinstance(answer, ThoughtHere) and (answer.took_s or 0) > _UNHEARD_S:
        # A task hears of nothing while it lasts. Nobody is asked, and nothing is sent, before what
        # came meanwhile was heard: a cancel request, whose mission may be undoing by now.
        await workflow.sleep(timedelta(milliseconds=1), summary=ui.LISTEN)
    return answer
