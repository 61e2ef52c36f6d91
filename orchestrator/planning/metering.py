"""Count the usage of models while an activity asks them, so that no failure loses the count.

Each request is counted where it is answered, before any error in handling the answer. The activity
around it opens the meter, and reads it whatever the outcome. The meter also has the text of an
answer that is being received.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

from orchestrator.core.budget import Usage
from orchestrator.core.errors import DecisionInvalid


class AskedModel(Protocol):
    """A request that was answered, as a watch sees it."""

    usage: Usage | None


class _Unwatched:
    usage: Usage | None = None


Watch = Callable[[str], AbstractContextManager[AskedModel]]
"""Returns a context manager around each request to a model, given the model's name."""


class Meter:
    """The usage that was counted while the meter was open, and before."""

    def __init__(
        self, before: Usage, report: Callable[[Usage], None], watch: Watch | None = None
    ) -> None:
        """Begin with the earlier usage; `report` is called with the sum each time it grows."""
        self._report = report
        self.watch = watch
        self.usage = before
        self.counted = False
        self.text = ""

    def count(self, usage: Usage) -> None:
        """Add the usage of one request."""
        self.usage = self.usage.plus(usage)
        self.counted = True
        self._report(self.usage)


_OPEN: ContextVar[Meter | None] = ContextVar("open_meter", default=None)


def count(usage: Usage) -> None:
    """Count the usage of one request; without an open meter nothing is counted."""
    meter = _OPEN.get()
    if meter is not None:
        meter.count(usage)


def show(text: str) -> None:
    """Set the text of the answer that is being received; without an open meter it is dropped."""
    meter = _OPEN.get()
    if meter is not None:
        meter.text = text


def opened() -> Meter | None:
    """Return the open meter, if any."""
    return _OPEN.get()


def watched(model: str) -> AbstractContextManager[AskedModel]:
    """Return the context manager of the meter's watch for one request to a model."""
    meter = _OPEN.get()
    if meter is None or meter.watch is None:
        return nullcontext(_Unwatched())
    return meter.watch(model)


@contextmanager
def open_meter(
    before: Usage, report: Callable[[Usage], None], watch: Watch | None = None
) -> Iterator[Meter]:
    """Count every request in the body, including those of tasks that the body starts.

    Args:
        before: the earlier usage.
        report: is called with the sum each time it grows.
        watch: returns a context manager around each request.
    """
    meter = Meter(before, report, watch)
    token = _OPEN.set(meter)
    try:
        yield meter
    finally:
        _OPEN.reset(token)


class AnswerUnusable(DecisionInvalid):
    """Answers of a model that cannot be carried out, the corrected one neither: a step is spent."""

    def __init__(
        self, reason: str, usage: Usage | None = None, *, is_withheld: bool = False
    ) -> None:
        """Take what is wrong with the last answer, and the usage of all of them.

        Args:
            reason: what is wrong.
            usage: of all answers.
            is_withheld: True if the model or its provider's content filter refused to answer.
        """
        super().__init__(reason)
        self.usage = usage or Usage()
        self.is_withheld = is_withheld


def usage_in(error: DecisionInvalid) -> Usage:
    """Return the usage that an error carries."""
    return error.usage if isinstance(error, AnswerUnusable) else Usage()
