"""How often, and for how long, one obligation is tried to be undone before it is parked.

Attempts that the provider may have worked on count, and their number is the contract's; they are
spread so that an outage of minutes does not use them up. What a provider put off, and what never
reached it, does not count: it is waited for, up to a limit.
"""

from datetime import timedelta
from typing import Final

from pydantic import Field

from orchestrator.core.record import Record

FIRST_PAUSE: Final = timedelta(seconds=1)
SPREAD: Final = timedelta(minutes=5)
"""The last attempt comes no sooner than this after the first, however few the contract gives."""
LONGEST_PAUSE: Final = timedelta(minutes=5)
LONGEST_PUT_OFF_PAUSE: Final = timedelta(minutes=1)
"""Between attempts that were put off, unless the provider itself asks to wait longer."""
PUT_OFF: Final = timedelta(minutes=15)
"""How long a provider may put one undo off, in all: others wait behind it."""

_DOUBLINGS: Final = 16
"""More of them only make numbers too large to be times."""


class UndoFailure(Record):
    """An attempt to undo that came to nothing clear."""

    reason: str
    counts: bool = Field(
        default=True, description="the provider may have worked on it, so it is one of the attempts"
    )
    arrived: bool = Field(
        default=True, description="the cancel may have been carried out, and only its answer lost"
    )
    final: bool = Field(default=False, description="no further attempt can end otherwise")
    retry_after_s: float | None = Field(default=None, description="as the provider asked")


class Patience(Record):
    """How far the attempts on one obligation have come."""

    most: int = Field(ge=1, description="attempts that the contract gives")
    attempts: int = 0
    put_off: int = 0
    waited: timedelta = Field(
        default=timedelta(0), description="in pauses after attempts that were put off"
    )
    pause: timedelta = Field(default=timedelta(0), description="before the next attempt")
    spent: str = Field(default="", description="why there is no next attempt; empty while there is")

    def after(self, failure: UndoFailure) -> "Patience":
        """What is left of it after one more failure."""
        if failure.final:
            return self.model_copy(update={"spent": failure.reason})
        if failure.counts:
            return self._counted(failure)
        return self._waited(failure)

    def _counted(self, failure: UndoFailure) -> "Patience":
        attempts = self.attempts + 1
        counted = self.model_copy(update={"attempts": attempts})
        if attempts >= self.most:
            spent = f"all {self.most} attempts are spent: {failure.reason}"
            return counted.model_copy(update={"spent": spent})
        asked = _asked(failure)
        if asked > PUT_OFF:
            return counted.model_copy(update={"spent": _too_long(failure)})
        pause = max(pause_after(attempts, self.most), asked)
        return counted.model_copy(update={"pause": pause})

    def _waited(self, failure: UndoFailure) -> "Patience":
        pause = max(_doubled(FIRST_PAUSE, self.put_off, LONGEST_PUT_OFF_PAUSE), _asked(failure))
        waited = self.waited + pause
        if waited > PUT_OFF:
            return self.model_copy(update={"spent": _too_long(failure)})
        return self.model_copy(
            update={"put_off": self.put_off + 1, "waited": waited, "pause": pause}
        )


def pause_after(attempt: int, most: int) -> timedelta:
    """The pause after the n-th of `most` attempts: none is shorter than the one before.

    They grow by two, or by as much more as few attempts need to be spread over `SPREAD`.
    """
    if most == 2:
        return SPREAD
    grown = FIRST_PAUSE * float(_growth(most - 1) ** min(attempt - 1, _DOUBLINGS))
    return min(grown, LONGEST_PAUSE)


def _growth(pauses: int) -> float:
    """By how much each pause is longer than the one before, so that together they last `SPREAD`."""
    wanted = SPREAD / FIRST_PAUSE
    if pauses > _DOUBLINGS or 2**pauses - 1 >= wanted:
        return 2.0
    low, high = 2.0, wanted
    for _ in range(40):
        middle = (low + high) / 2
        enough = sum(middle**n for n in range(pauses)) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def _doubled(first: timedelta, times: int, most: timedelta) -> timedelta:
    return min(first * (1 << min(times, _DOUBLINGS)), most)


def _asked(failure: UndoFailure) -> timedelta:
    # Seconds beyond any calendar come from a provider too, and are as good as for ever.
    return timedelta(seconds=min(failure.retry_after_s or 0.0, 1e9))


def _too_long(failure: UndoFailure) -> str:
    asked = "" if failure.retry_after_s is None else f", and asks for {failure.retry_after_s:g} s"
    minutes = int(PUT_OFF.total_seconds() // 60)
    return f"the provider puts it off for more than {minutes} minutes{asked}: {failure.reason}"
