"""Messages of a leg's steps that name what its workers have kept already, in the place of it."""

from typing import Any

from pydantic import Field

from orchestrator.core.record import Record


class KeptMessage(Record):
    """A message to an activity: all that is like in the last ones is kept under a key.

    It has no field in common with the messages that it stands for, so that a worker of an earlier
    release refuses it, and another one takes it.
    """

    of_mission: str = Field(description="whose pieces they are")
    terms: str = Field(description="the key of the message of its kind that was sent whole")
    new_terms: dict[str, Any] | None = Field(
        default=None, description="that message, to be kept under this key; None: it is kept"
    )
    changes: dict[str, Any] = Field(description="the fields in which this one differs from it")
    past: str = Field(default="", description="the key of the newest observations that are kept")
    keep_as: str = Field(
        default="", description="the key under which its observations are to be kept now"
    )
