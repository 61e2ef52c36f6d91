"""For which workflows a worker has just answered: there is one, and nobody need ask for it."""

import math
import time
from typing import Final

_RECENT_S: Final = 1.0
"""The server still counts a worker for a minute that has died: asking it would say less."""


class RecentAnswers:
    """The workflows that were answered for within the last second."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}

    def note(self, workflow_id: str) -> None:
        """A worker has answered for this workflow."""
        now = time.monotonic()
        self._at = {one: at for one, at in self._at.items() if now - at < _RECENT_S}
        self._at[workflow_id] = now

    def is_recent(self, workflow_id: str) -> bool:
        """Whether one has, not long ago."""
        return time.monotonic() - self._at.get(workflow_id, -math.inf) < _RECENT_S
