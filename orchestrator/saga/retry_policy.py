"""The retry policy of a compensation: how often and how long it is tried before it is parked.

Attempts that the provider may have worked on count, and their number is the contract's; they are
spread so that an outage of minutes does not use them up. What a provider deferred, and what
never reached it, does not count: it is waited for, up to a limit. So is a worker that has what an
attempt needs, up to one of its own.
"""

from datetime import timedelta
from typing import Final

from pydantic import Field

from orchestrator.core.compensation_limits import (
    FIRST_PAUSE,
    LONGEST_DEFERRAL,
    LONGEST_DEFERRAL_PAUSE,
    LONGEST_LACK,
    LONGEST_LACK_PAUSE,
    LONGEST_PAUSE,
    SPREAD,
)
from orchestrator.core.record import Record
from orchestrator.saga.outcome import CompensationFailure

_DOUBLINGS: Final = 16
"""More of them only make numbers too large to be times."""


class CompensationRetries(Record):
    """How far the attempts on one obligation have come."""

    max_attempts: int = Field(ge=1, description="attempts that the contract gives")
    attempts: int = 0
    deferred: int = 0
    waited: timedelta = Field(default=timedelta(0), description="in pauses after deferred attempts")
    looks: int = Field(default=0, description="for a worker that has what an attempt needs")
    lacked: timedelta = Field(
        default=timedelta(0), description="in pauses after those, for all of a rollback"
    )
    looked: int = Field(default=0, description="for a call that its provider does not hold so far")
    missing: timedelta = Field(default=timedelta(0), description="in pauses between those looks")
    pause: timedelta = Field(default=timedelta(0), description="before the next attempt")
    exhausted: str = Field(
        default="", description="why there is no next attempt; empty while there is"
    )

    def after(self, failure: CompensationFailure) -> "CompensationRetries":
        """With one more failure."""
        if failure.final:
            return self.model_copy(update={"exhausted": failure.reason})
        if failure.held_up:
            return self._held_up(failure)
        if failure.settles_after is not None and self.missing < failure.settles_after:
            return self._looked_again(failure.settles_after - self.missing)
        if failure.counts:
            return self._counted(failure)
        return self._waited(failure)

    def _looked_again(self, left: timedelta) -> "CompensationRetries":
        """One that found nothing, and that may still come to light."""
        pause = min(FIRST_PAUSE * (1 << min(self.looked, _DOUBLINGS)), LONGEST_PAUSE, left)
        return self.model_copy(
            update={"looked": self.looked + 1, "missing": self.missing + pause, "pause": pause}
        )

    def _held_up(self, failure: CompensationFailure) -> "CompensationRetries":
        """One that no worker could make: its provider was not asked, and has no part in it."""
        pause = min(FIRST_PAUSE * (1 << min(self.looks, _DOUBLINGS)), LONGEST_LACK_PAUSE)
        lacked = self.lacked + pause
        if lacked > LONGEST_LACK:
            reason = f"no worker can take it back, and one that can does so later: {failure.reason}"
            return self.model_copy(update={"exhausted": reason})
        return self.model_copy(update={"looks": self.looks + 1, "lacked": lacked, "pause": pause})

    def _counted(self, failure: CompensationFailure) -> "CompensationRetries":
        attempts = self.attempts + 1
        counted = self.model_copy(update={"attempts": attempts})
        if attempts >= self.max_attempts:
            reason = f"all {self.max_attempts} attempts are spent: {failure.reason}"
            return counted.model_copy(update={"exhausted": reason})
        asked = _asked(failure)
        if asked > LONGEST_DEFERRAL:
            return counted.model_copy(update={"exhausted": _too_long(failure)})
        pause = max(pause_after(attempts, self.max_attempts), asked)
        return counted.model_copy(update={"pause": pause})

    def _waited(self, failure: CompensationFailure) -> "CompensationRetries":
        doubled = FIRST_PAUSE * (1 << min(self.deferred, _DOUBLINGS))
        pause = max(min(doubled, LONGEST_DEFERRAL_PAUSE), _asked(failure))
        waited = self.waited + pause
        if waited > LONGEST_DEFERRAL:
            return self.model_copy(update={"exhausted": _too_long(failure)})
        return self.model_copy(
            update={"deferred": self.deferred + 1, "waited": waited, "pause": pause}
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


def _asked(failure: CompensationFailure) -> timedelta:
    # Seconds beyond any calendar come from a provider too, and are as good as for ever.
    return timedelta(seconds=min(failure.retry_after_s or 0.0, 1e9))


def _too_long(failure: CompensationFailure) -> str:
    asked = "" if failure.retry_after_s is None else f", and asks for {failure.retry_after_s:g} s"
    minutes = int(LONGEST_DEFERRAL.total_seconds() // 60)
    return f"the provider puts it off for more than {minutes} minutes{asked}: {failure.reason}"
