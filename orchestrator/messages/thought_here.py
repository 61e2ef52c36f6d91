"""What a worker thinks within a workflow task says how long that took."""

from pydantic import Field

from orchestrator.core.record import Record


class ThoughtHere(Record):
    """An answer that a workflow task may have waited for."""

    took_s: float | None = Field(
        default=None, description="seconds, where a workflow task was kept waiting; else None"
    )
