"""Counting what models take while an activity asks them, so that no failure loses it.

Each request is counted where it is answered, before anything can go wrong with the answer. The
activity around opens the meter, and reads it whatever the outcome.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

from orchestrator.core.budget import Usage


class AskedModel(Protocol):
    """A request that was answered, as a watch sees it."""

    usage: Usage | None


class _Unwatched:
    usage: Usage | None = None


Watch = Callable[[str], AbstractContextManager[AskedModel]]
"""Goes around each request to a model, given its name."""


class Meter:
    """Usage that was counted while it was open, and before."""

    def __init__(
        self, before: Usage, tell: Callable[[Usage], None], watch: Watch | None = None
    ) -> None:
        """Begin with what was taken before; `tell` hears the sum each time it grows."""
        self._tell = tell
        self.watch = watch
        self.usage = before
        self.counted = False

    def count(self, usage: Usage) -> None:
        """Add what one request took."""
        self.usage = self.usage.plus(usage)
        self.counted = True
        self._tell(self.usage)


_OPEN: ContextVar[Meter | None] = ContextVar("open_meter", default=None)


def count(usage: Usage) -> None:
    """Count what one request took; a program that opened no meter counts nothing."""
    meter = _OPEN.get()
    if meter is not None:
        meter.count(usage)


def watched(model: str) -> AbstractContextManager[AskedModel]:
    """Return what goes around one request to a model: the meter's opener sees it begin and end."""
    meter = _OPEN.get()
    if meter is None or meter.watch is None:
        return nullcontext(_Unwatched())
    return meter.watch(model)


@contextmanager
def open_meter(
    before: Usage, tell: Callable[[Usage], None], watch: Watch | None = None
) -> Iterator[Meter]:
    """Count all that is asked in the body, in tasks that it starts as well.

    Args:
        before: what was taken before.
        tell: hears the sum each time it grows.
        watch: goes around each request.
    """
    meter = Meter(before, tell, watch)
    token = _OPEN.set(meter)
    try:
        yield meter
    finally:
        _OPEN.reset(token)
