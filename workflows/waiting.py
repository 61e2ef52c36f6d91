"""Waiting in a workflow: what must not be abandoned, and how long until a moment."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from temporalio import workflow

T = TypeVar("T")


@dataclass
class Pending:
    """Something that waits for its end: the first one counts, all others come too late."""

    end: str | None = field(default=None, kw_only=True)

    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.end is not None

    def ends(self, how: str) -> None:
        """End it, unless it has ended already."""
        self.end = self.end or how

    async def expire(self, moment: datetime, summary: str) -> None:
        """End it at a moment, with a timer that the Temporal UI shows so."""
        await workflow.sleep(until(moment), summary=summary)
        self.ends("expired")


async def finish_despite_cancel(work: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """The result of `work`, and whether a cancel request arrived while it ran.

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


async def sent(signal: Coroutine[Any, Any, None]) -> None:
    """Send a signal to another workflow; a cancel that arrives meanwhile stops what comes after it.

    The SDK forgets such a cancel where the signal has left already: whoever goes on to wait for its
    answer would wait for ever.
    """
    _, cancelled = await finish_despite_cancel(signal)
    if cancelled:
        raise asyncio.CancelledError


def until(moment: datetime) -> timedelta:
    """How long until a moment; never zero, which would not wait at all."""
    return max(moment - workflow.now(), timedelta(milliseconds=1))


async def wait_beside(timers: Sequence[asyncio.Task[None]], is_over: Callable[[], bool]) -> None:
    """Wait until something is over, however, and only then stop the timers that ran beside it.

    Not in a `finally`: it also runs when a worker lets go of the workflow, and may not await then.
    """
    try:
        await workflow.wait_condition(is_over)
    except asyncio.CancelledError:
        await _stop(timers)
        raise
    await _stop(timers)


async def _stop(timers: Sequence[asyncio.Task[None]]) -> None:
    """Stop them all and wait until they are: what follows comes after it in history, always."""
    for timer in timers:
        timer.cancel()
    await asyncio.gather(*timers, return_exceptions=True)
