"""What a worker needs of other machines before it can begin, waited for while it is away."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from orchestrator.core.errors import ServerUnreachable, StoreUnavailable
from orchestrator.runtime.worker_state import WorkerState

T = TypeVar("T")
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 5.0

_log = logging.getLogger(__name__)


class StoppedWaiting(Exception):
    """The worker was asked to end while it waited."""


class AwaitedParts:
    """Says once what a worker waits for, in its log and to whoever asks how it is."""

    def __init__(self, state: WorkerState, stop: asyncio.Event) -> None:
        """Take where it is shown, and what ends the wait."""
        self._state = state
        self._stop = stop

    async def once_there(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What an attempt gives, made again while the server or the store cannot be reached.

        Raises:
            StoppedWaiting: the worker is to end.
            Exception: whatever else went wrong; waiting would not mend it.
        """
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                answer = await attempt()
            except (ServerUnreachable, StoreUnavailable) as away:
                self._tell(str(away))
            else:
                if self._state.waits_for:
                    _log.info("it is there: the worker goes on")
                self._state.waits_for = ""
                return answer
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), pause_s)
            if self._stop.is_set():
                raise StoppedWaiting
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _tell(self, why: str) -> None:
        if not self._state.waits_for:
            _log.warning("the worker waits, and begins by itself once it can: %s", why)
        self._state.waits_for = why
