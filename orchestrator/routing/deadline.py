"""How long routing may take: checked between its stages, so that a slow one ends at the next."""

from collections.abc import Callable
from typing import Final

PROXY_LIMIT_S: Final = 0.05
"""How long a caller waits that says nothing else, in seconds: what a proxy may add to a call."""
STEP_LIMIT_S: Final = 1.0
"""How long a step of a mission waits, in seconds: busy machines take that long for a millisecond's
work, and the call that follows takes longer."""
STEP_VECTORS_S: Final = 0.3
"""How much of it a step waits for the vectors of an embedder that is not built in."""


class OutOfTime(Exception):
    """Routing took longer than it may; never leaves the router."""


class Deadline:
    """The end of one routing.

    Nothing is interrupted: a stage that hangs holds the request until it returns, and its answer is
    then thrown away.
    """

    def __init__(self, clock: Callable[[], float] | None, timeout_s: float) -> None:
        """Start to count.

        Args:
            clock: seconds from any origin, never going back; None: no deadline.
            timeout_s: seconds from now.
        """
        self._clock = clock
        self._timeout_s = timeout_s
        self._end = clock() + timeout_s if clock else 0.0

    def check(self, stage: str) -> None:
        """Go on, if there is time.

        Raises:
            OutOfTime: there is none; the text names the stage that has just ended.
        """
        if self._clock and self._clock() > self._end:
            raise OutOfTime(f"took over {self._timeout_s * 1000:g} ms, up to {stage}")


NO_DEADLINE: Final = Deadline(None, 0)
