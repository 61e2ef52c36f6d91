"""What an answer was understood as; how it is read is in `typed_answers`."""

from pydantic import Field

from orchestrator.core.record import JsonObject, Record


class Understood(Record):
    """An answer as it is sent, and what was made of what was typed."""

    values: JsonObject = Field(default_factory=dict)
    notes: tuple[str, ...] = Field(
        default=(), description="what was read otherwise than it was typed, a line for each field"
    )
    problems: tuple[str, ...] = Field(default=(), description="a sentence for each unread field")
