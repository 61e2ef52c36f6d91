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
"""Answers that deny a cancel, before a person is asked: a provider may repeat them for ever."""
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
    waited_for_state: timedelta = Field(default=timedelta(0), description="of the whole rollback")
    looked: int = Field(default=0, description="look-ups of an effect that may still show")
    missing: timedelta = Field(default=timedelta(0), description="total delay between look-ups")
    pause: timedelta = Field(default=timedelta(0), description="delay before the next attempt")
    exhausted: str = Field(default="", description="why no attempt follows; empty: one does")

    def after(self, failure: CompensationFailure) -> "CompensationRetries":
        """Return the retries after one more failure."""
        if failure.final:
            return self.model_copy(update={"exhausted": failure.reason})
        if failure.stalled:  # no worker could make the attempt: the provider was not asked
            pause = FIRST_PAUSE * (1 << min(self.looks, _DOUBLINGS))
            pause = min(pause, LONGEST_WAIT_FOR_STATE_PAUSE)
            waited = self.waited_for_state + pause
            if waited > LONGEST_WAIT_FOR_STATE:
                reason = "no worker can cancel it, and one that can does so later: "
                return self.model_copy(update={"exhausted": f"{reason}{failure.reason}"})
            stalled = {"looks": self.looks + 1, "waited_for_state": waited, "pause": pause}
            return self.model_copy(update=stalled)
        if failure.settles_after is not None and self.missing < failure.settles_after:
            left = failure.settles_after - self.missing
            pause = min(FIRST_PAUSE * (1 << min(self.looked, _DOUBLINGS)), LONGEST_PAUSE, left)
            looked = {"looked": self.looked + 1, "missing": self.missing + pause, "pause": pause}
            return self.model_copy(update=looked)
        # A provider may send seconds beyond any calendar, which mean for ever.
        asked = timedelta(seconds=min(failure.retry_after_s or 0.0, 1e9))
        asks = (
            "" if failure.retry_after_s is None else f", and asks for {failure.retry_after_s:g} s"
        )
        minutes = int(LONGEST_DEFERRAL.total_seconds() // 60)
        too_long = f"the provider puts it off for more than {minutes} minutes{asks}"
        too_long = f"{too_long}: {failure.reason}"
        if not failure.counts:
            doubled = FIRST_PAUSE * (1 << min(self.deferred, _DOUBLINGS))
            pause = max(min(doubled, LONGEST_DEFERRAL_PAUSE), asked)
            waited = self.waited + pause
            if waited > LONGEST_DEFERRAL:
                return self.model_copy(update={"exhausted": too_long})
            deferred = {"deferred": self.deferred + 1, "waited": waited, "pause": pause}
            return self.model_copy(update=deferred)
        attempts, doubted = self.attempts + 1, self.doubted + failure.doubted
        counted = self.model_copy(update={"attempts": attempts, "doubted": doubted})
        if attempts >= self.max_attempts or doubted >= _DOUBTED:
            reason = f"all {attempts} attempts are spent: {failure.reason}"
            return counted.model_copy(update={"exhausted": reason})
        if asked > LONGEST_DEFERRAL:
            return counted.model_copy(update={"exhausted": too_long})
        # An outage is waited out; a provider that refuses is asked again soon.
        spread = pause_after(attempts, self.max_attempts)
        pause = max(FIRST_PAUSE * (1 << doubted) if failure.doubted else spread, asked)
        return counted.model_copy(update={"pause": pause})


def pause_after(attempt: int, most: int) -> timedelta:
    """Return the pause after the n-th of `most` attempts: never shorter than the previous.

    Pauses double, or grow by a larger factor if few attempts have to be spread over `SPREAD`.
    """
    if most == 2:
        return SPREAD
    # The factor between pauses, so that together they last `SPREAD`.
    pauses, wanted, factor = most - 1, SPREAD / FIRST_PAUSE, 2.0
    if pauses <= _DOUBLINGS and 2**pauses - 1 < wanted:
        low, factor = 2.0, wanted
        for _ in range(40):
            middle = (low + factor) / 2
            enough = sum(middle**n for n in range(pauses)) >= wanted
            low, factor = (low, middle) if enough else (middle, factor)
    grown = FIRST_PAUSE * float(factor ** min(attempt - 1, _DOUBLINGS))
    return min(grown, LONGEST_PAUSE)
