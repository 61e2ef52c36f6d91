"""What a worker could not have of what a mission keeps outside its history: told in a failure."""

from collections.abc import Iterable
from typing import Any, Final

from pydantic import Field

from orchestrator.core.record import Record

MOST_WORKERS: Final = 5
"""Attempts that look for a worker which has what another one lacks, before the wait is shown: a few
seconds, and nothing of them is in a history."""


class LackingState(Record):
    """The detail of a failure that is nobody's fault but the state's: its work is done later."""

    lacks: str = Field(description="the type of the error that it became")
    catalog: str = Field(default="", description="the digest of the one that is not there")
    nothing_sent: bool = Field(
        default=True, description="of a call: no attempt of it can have reached its provider"
    )

    @classmethod
    def found_in(cls, details: Iterable[Any]) -> "LackingState | None":
        """The one that details hold, which travelled as JSON; None: they hold none."""
        for detail in details:
            if isinstance(detail, dict) and "lacks" in detail:
                return cls.model_validate(detail)
        return None
