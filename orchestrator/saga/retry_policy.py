"""The retry policy of a compensation: how often and how long it is tried before it is parked.

Attempts that the provider may have worked on count, and their number is the contract's; they are
spread so that an outage of minutes does not use them up. Attempts that the provider deferred, or
that never reached it, do not count: they are repeated up to a time limit. The wait for a worker
that can make an attempt has a separate limit.
"""

from datetime import timedelta
from typing import Final

from pydantic import Field

from orchestrator.core.compensation_limits import (
    FIRST_PAUSE,
    LONGEST_DEFERRAL,
    LONGEST_DEFERRAL_PAUSE,
    LONGEST_PAUSE,
    LONGEST_WAIT_FOR_STATE,
    LONGEST_WAIT_FOR_STATE_PAUSE,
    SPREAD,
)
from orchestrator.core.record import Record
from orchestrator.saga.outcome import CompensationFailure

_DOUBTED: Final = 3
"""The number of answers that say that a cancel was not done, before a person is asked.

Under the same key a provider may repeat its first answer for ever.
"""
_DOUBLINGS: Final = 16
"""The maximum number of doublings: more would overflow a timedelta."""


class CompensationRetries(Record):
    """The progress of the attempts on one obligation."""

    max_attempts: int = Field(ge=1, description="attempts that the contract allows")
    attempts: int = 0
    doubted: int = Field(default=0, description="attempts that got a doubted success")
    deferred: int = 0
    waited: timedelta = Field(default=timedelta(0), description="total delay of postponed attempts")
    looks: int = Field(default=0, description="attempts to find a worker with the required state")
    waited_for_state: timedelta = Field(
        default=timedelta(0), description="total delay of these, for the whole rollback"
    )
    looked: int = Field(
        default=0, description="look-ups of an effect that the provider may still show"
    )
    missing: timedelta = Field(
        default=timedelta(0), description="total delay between these look-ups"
    )
    pause: timedelta = Field(default=timedelta(0), description="delay before the next attempt")
    exhausted: str = Field(
        default="", description="reason why no attempt follows; empty while one does"
    )

    def after(self, failure: CompensationFailure) -> "CompensationRetries":
        """Return the retries after one more failure."""
        if failure.final:
            return self.model_copy(update={"exhausted": failure.reason})
        if failure.stalled:
            return self._stalled(failure)
        if failure.settles_after is not None and self.missing < failure.settles_after:
            return self._looked_again(failure.settles_after - self.missing)
        if failure.counts:
            return self._counted(failure)
        return self._waited(failure)

    def _looked_again(self, left: timedelta) -> "CompensationRetries":
        """Count a look that settled nothing, because the provider may need some time."""
        pause = min(FIRST_PAUSE * (1 << min(self.looked, _DOUBLINGS)), LONGEST_PAUSE, left)
        return self.model_copy(
            update={"looked": self.looked + 1, "missing": self.missing + pause, "pause": pause}
        )

    def _stalled(self, failure: CompensationFailure) -> "CompensationRetries":
        """Count an attempt that no worker could make: the provider was not asked."""
        pause = min(FIRST_PAUSE * (1 << min(self.looks, _DOUBLINGS)), LONGEST_WAIT_FOR_STATE_PAUSE)
        waited_for_state = self.waited_for_state + pause
        if waited_for_state > LONGEST_WAIT_FOR_STATE:
            reason = f"no worker can take it back, and one that can does so later: {failure.reason}"
            return self.model_copy(update={"exhausted": reason})
        return self.model_copy(
            update={"looks": self.looks + 1, "waited_for_state": waited_for_state, "pause": pause}
        )

    def _counted(self, failure: CompensationFailure) -> "CompensationRetries":
        attempts, doubted = self.attempts + 1, self.doubted + failure.doubted
        counted = self.model_copy(update={"attempts": attempts, "doubted": doubted})
        if attempts >= self.max_attempts or doubted >= _DOUBTED:
            reason = f"all {attempts} attempts are spent: {failure.reason}"
            return counted.model_copy(update={"exhausted": reason})
        asked = _asked(failure)
        if asked > LONGEST_DEFERRAL:
            return counted.model_copy(update={"exhausted": _too_long(failure)})
        # An outage is waited out; a provider that refuses is asked again soon.
        spread = pause_after(attempts, self.max_attempts)
        pause = max(FIRST_PAUSE * (1 << doubted) if failure.doubted else spread, asked)
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
    """Return the pause after the n-th of `most` attempts: never shorter than the previous.

    Pauses double, or grow by a larger factor if few attempts have to be spread over `SPREAD`.
    """
    if most == 2:
        return SPREAD
    grown = FIRST_PAUSE * float(_growth(most - 1) ** min(attempt - 1, _DOUBLINGS))
    return min(grown, LONGEST_PAUSE)


def _growth(pauses: int) -> float:
    """Return the factor between consecutive pauses, so that together they last `SPREAD`."""
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
    # A provider may send seconds beyond any calendar, which mean for ever.
    return timedelta(seconds=min(failure.retry_after_s or 0.0, 1e9))


def _too_long(failure: CompensationFailure) -> str:
    asked = "" if failure.retry_after_s is None else f", and asks for {failure.retry_after_s:g} s"
    minutes = int(LONGEST_DEFERRAL.total_seconds() // 60)
    return f"the provider puts it off for more than {minutes} minutes{asked}: {failure.reason}"
