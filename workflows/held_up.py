"""Waiting for what a mission keeps outside its history, where it can be seen, and going on.

A catalog that a worker lacks, or a store that is away, is nobody's failure: nothing is undone for
it. The work is scheduled again once some worker has what it needs, however long that takes.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol, TypeVar, runtime_checkable

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.compensation_limits import (
        FIRST_PAUSE,
        LONGEST_DEFERRAL,
        LONGEST_DEFERRAL_PAUSE,
    )
    from orchestrator.messages import names
    from orchestrator.messages.lacking import LackingState
    from orchestrator.saga.outcome import ToolOutcome
    from workflows import ui
    from workflows.failures import is_final, was_locked

T = TypeVar("T")

PATCH: Final = "held-up"
"""Runs that failed for want of a catalog before there was a wait are replayed as they failed."""
ASKED_LATER: Final = "asked-later"
"""Runs that gave up a call which may have been made, for want of a store, replay as they did."""
READ_LATER: Final = "read-later"
"""Runs that gave up a call which may have been made, for want of a payload key, replay as well."""
_UNTIL_THERE: Final = RetryPolicy(
    initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=10)
)
"""Of a look that takes as long as it takes: no history grows by its attempts."""


@runtime_checkable
class ShowsWaits(Protocol):
    """A workflow that shows what it is held up by."""

    def hold_up(self, why: str) -> None:
        """Show why it waits for what is kept outside its history; empty: it no longer does."""
        ...


@dataclass(frozen=True)
class HeldBack:
    """A call that no worker could send, and that is sent later."""

    lacking: LackingState
    why: str
    may_have_arrived: bool
    """Whether an attempt before that one may have reached its provider."""


def lacking_in(error: ActivityError) -> LackingState | None:
    """What no worker could have, if that is why an activity failed."""
    cause = error.cause
    return LackingState.found_in(cause.details) if isinstance(cause, ApplicationError) else None


def lacking_for_call(error: ActivityError) -> LackingState | None:
    """What no worker could read of a call, or have for it: it is held back; None: it is settled.

    Runs that settled such a call before it was held back replay as they did.
    """
    cause = error.cause
    if isinstance(cause, ApplicationError) and was_locked(error):
        # Where that is final, no attempt was ever given what it could read.
        unread = LackingState(lacks=cause.type or "", nothing_sent=is_final(error))
        return unread if workflow.patched(READ_LATER) else None
    lacking = lacking_in(error)
    if lacking is None:
        return None
    return lacking if workflow.patched(PATCH if lacking.nothing_sent else ASKED_LATER) else None


async def once_there(
    attempt: Callable[[], Awaitable[T]],
    *,
    except_for: Callable[[ActivityError], bool] = lambda error: False,
) -> T:
    """What an attempt gives, made again for as long as some of the mission's state is lacking.

    Args:
        attempt: schedules the work.
        except_for: which failures are waited for elsewhere.

    Raises:
        ActivityError: it failed for any other reason.
    """
    rounds = 0
    while True:
        try:
            answer = await attempt()
        except ActivityError as error:
            lacking = lacking_in(error)
            if lacking is None or except_for(error) or not workflow.patched(PATCH):
                raise
            await wait_for(lacking, why_of(error), rounds=rounds)
            rounds += 1
        else:
            return answer


def here_first(
    here: Callable[[], Awaitable[T]], elsewhere: Callable[[], Awaitable[T]]
) -> Callable[[], Awaitable[T]]:
    """An attempt in this worker; whatever fails there is any worker's from then on.

    What is lacking is waited for first, and what no worker may try again is not tried.
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
            if is_cancelled_exception(error) or is_final(error) or lacking_in(error) is not None:
                raise
        return await elsewhere()

    return attempt


async def wait_for(lacking: LackingState, why: str, *, rounds: int) -> None:
    """Wait in sight until a worker has it.

    Args:
        lacking: what it is.
        why: it waits, in a sentence.
        rounds: of waiting for it that came to nothing, right before this one.
    """
    _show(why)
    await until_there(lacking, rounds=rounds)
    _show("")


def pause_of(answer: ToolOutcome, waited: timedelta) -> timedelta | None:
    """How long to wait before a deferred call is sent again; None: it is settled.

    Args:
        answer: what it came to; only what its provider did not begin is deferred.
        waited: so far, for this call.
    """
    if not answer.deferred or answer.kind != "rejected":
        return None
    asked = min(answer.retry_after_s or 0.0, LONGEST_DEFERRAL.total_seconds() + 1)
    pause = max(timedelta(seconds=asked), min(waited, LONGEST_DEFERRAL_PAUSE), FIRST_PAUSE)
    return pause if waited + pause <= LONGEST_DEFERRAL else None


async def wait_in_sight(pause: timedelta, why: str) -> None:
    """Wait for as long as a provider asked for, and show why."""
    _show(why)
    await workflow.sleep(pause, summary=ui.UNTIL_TAKEN)
    _show("")


async def until_there(
    lacking: LackingState, *, rounds: int, longest: timedelta = timedelta(minutes=1)
) -> None:
    """Wait until some worker has it; no history grows by how long that takes.

    Args:
        lacking: what it is.
        rounds: of waiting for it that came to nothing, right before this one.
        longest: before it is looked for again, after such rounds.
    """
    if rounds:
        await pause_between(rounds, longest)
    await workflow.execute_activity(
        names.AWAIT_STATE,
        lacking,
        result_type=type(None),
        summary=ui.AWAIT_STATE,
        start_to_close_timeout=timedelta(seconds=60),
        retry_policy=_UNTIL_THERE,
    )


async def pause_between(rounds: int, longest: timedelta = timedelta(minutes=1)) -> None:
    """Sleep for longer after each round of waiting that came to nothing, and never for longer."""
    pause = min(timedelta(seconds=2 ** min(rounds, 12)), longest)
    await workflow.sleep(pause, summary=ui.UNTIL_STATE)


def why_of(error: ActivityError) -> str:
    """Why an activity failed for want of state, in the words of the worker that noticed."""
    assert isinstance(error.cause, ApplicationError)
    return error.cause.message


def _show(why: str) -> None:
    shown = workflow.instance()
    if isinstance(shown, ShowsWaits):
        shown.hold_up(why)
