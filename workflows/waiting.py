"""Wait in a workflow: for work that must not be abandoned, and for points in time."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from temporalio import workflow

T = TypeVar("T")


@dataclass
class Pending:
    """A wait whose first end counts; later ends are ignored."""

    end: str | None = field(default=None, kw_only=True)

    def is_over(self) -> bool:
        """Return True if the wait has ended."""
        return self.end is not None

    def ends(self, how: str) -> None:
        """End the wait, unless it has ended already."""
        self.end = self.end or how

    async def expire(self, moment: datetime | None, summary: str) -> None:
        """End the wait at a point in time, with a timer shown under this summary; None: never."""
        if moment is None:
            return
        await workflow.sleep(until(moment), summary=summary)
        self.ends("expired")


async def finish_despite_cancel(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """Return the result of `work`, and True if a cancel request arrived while it ran.

    The caller records the result first and then raises `asyncio.CancelledError` itself: a booking
    that was sent is in the ledger before its leg stops.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
    return task.result(), cancelled


def until(moment: datetime) -> timedelta:
    """Return the time left until a moment; never zero, which would not wait at all."""
    return max(moment - workflow.now(), timedelta(milliseconds=1))


async def wait_with_timers(
    timers: Sequence[asyncio.Task[None]], is_over: Callable[[], bool]
) -> None:
    """Wait for an end, then for that of the timers, which thus precede later history events.

    Not in a `finally`: it also runs when a worker evicts the workflow, and may not await then.
    """
    try:
        await workflow.wait_condition(is_over)
    except asyncio.CancelledError:
        for timer in timers:
            timer.cancel()
        await all_done(timers)
        raise
    for timer in timers:
        timer.cancel()
    await all_done(timers)


async def all_done(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait until each task has ended in any way; errors are ignored."""
    await asyncio.gather(*tasks, return_exceptions=True)
