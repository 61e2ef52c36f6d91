"""The identity of a tool call, the same in every message about it."""

from string import ascii_lowercase
from typing import Any

from orchestrator.core.record import Record


class CallRef(Record):
    """Which call of which mission, and of which tool."""

    call_id: str
    mission_id: str
    leg_id: str
    tool: str
    catalog_digest: str

    @property
    def ref(self) -> dict[str, Any]:
        """The fields of its identity alone, to make another message about the same call of."""
        return self.model_dump(include=set(CallRef.model_fields))


def step_label(step: int, part: int = 0) -> str:
    """A step as it is named, and of calls that it made at once each: 3, 3b, 3c."""
    return f"{step}{ascii_lowercase[part] if part else ''}"
