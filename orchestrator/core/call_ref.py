"""The identity of a tool call, the same in every message about it."""

from string import ascii_lowercase
from typing import Any

from pydantic import Field

from orchestrator.core.record import JsonObject, Record


class CallRef(Record):
    """The mission, call and tool that a message is about."""

    call_id: str
    mission_id: str
    leg_id: str
    tool: str
    catalog_digest: str
    origin: str = Field(
        default="", description="first run id of its mission, since a mission id may be used again"
    )

    @property
    def key(self) -> str:
        """Return an id that is unique among all missions that ever had the same id."""
        return key_of_call(self.call_id, self.origin)

    @property
    def ref(self) -> dict[str, Any]:
        """Return the identity fields, for building another message about the same call."""
        return self.model_dump(include=set(CallRef.model_fields))


def key_of_call(call_id: str, origin: str) -> str:
    """Return the id of a call with the first run of its mission.

    The last digits of a run's id are random; the first ones encode the time.
    """
    return f"{call_id}-{origin[-8:]}" if origin else call_id


def step_label(step: int, part: int = 0) -> str:
    """Return the label of a step, with a letter for each of its parallel calls: 3, 3b, 3c."""
    return f"{step}{ascii_lowercase[part] if part else ''}"


class StatedCancel(Record):
    """The call that cancels another, as a written workflow states it."""

    tool: str
    arguments: JsonObject = Field(
        default_factory=dict, description="expressions over that call and its answer, or constants"
    )
