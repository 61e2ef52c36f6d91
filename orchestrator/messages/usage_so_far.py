"""What models took in an activity that is not done, or that failed: in heartbeats and failures."""

from collections.abc import Iterable
from typing import Any

from orchestrator.core.budget import Usage
from orchestrator.core.record import Record


class UsageSoFar(Record):
    """What all attempts took until then."""

    usage_so_far: Usage

    @classmethod
    def found_in(cls, details: Iterable[Any]) -> Usage | None:
        """The usage that details hold, which travelled as JSON; None: they hold none."""
        for detail in details:
            if isinstance(detail, dict) and "usage_so_far" in detail:
                return cls.model_validate(detail).usage_so_far
        return None
