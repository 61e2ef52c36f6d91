"""Where the whole of an answer is, when it is too long to travel."""

from pydantic import Field

from orchestrator.core.record import Record


class BodyRef(Record):
    """A body that is kept beside histories; what stands in its place is a shortened form."""

    key: str = Field(description="SHA-256 of its JSON, in hex")
    size: int = Field(description="of its JSON, in bytes")
