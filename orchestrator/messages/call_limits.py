"""How often one tool call is tried, and how long it may take: all its limits follow from these."""

from datetime import timedelta
from typing import Final

CALL_TIMEOUT: Final = timedelta(seconds=20)
"""Of one attempt, where a mission's policy says nothing else."""
CALL_ATTEMPTS: Final = 6
"""Of a call that may be repeated, where a mission's policy says nothing else."""
FIRST_PAUSE: Final = timedelta(milliseconds=500)
LONGEST_PAUSE: Final = timedelta(seconds=4)
"""Between two attempts; pauses double from the first on."""
WIRE_MARGIN: Final = timedelta(seconds=5)
"""Added to the time of what goes over the wire, for everything around it."""


def longest_attempt(call_timeout: timedelta) -> timedelta:
    """How long one attempt may take with everything around the wire."""
    return call_timeout + WIRE_MARGIN


def longest_call(call_timeout: timedelta, attempts: int) -> timedelta:
    """How long a call may take with all its attempts and the pauses between them.

    After that it can no longer arrive, so that a rollback may act.
    """
    return attempts * (longest_attempt(call_timeout) + LONGEST_PAUSE)
