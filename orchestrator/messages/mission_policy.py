"""What holds for a mission from its start to its end: its limits and waits, and its catalog."""

from datetime import timedelta

from pydantic import Field

from orchestrator.confirmation.policy import ConfirmationPolicy
from orchestrator.core.record import Record
from orchestrator.messages.call_limits import CALL_ATTEMPTS, CALL_TIMEOUT


class MissionPolicy(Record):
    """Limits and waits of a mission."""

    confirmation_expiry: timedelta = timedelta(hours=24)
    answer_expiry: timedelta = timedelta(hours=24)
    deadline: timedelta = timedelta(days=7)
    call_timeout: timedelta = Field(
        default=CALL_TIMEOUT, description="hard limit of one attempt of one tool call"
    )
    call_attempts: int = Field(default=CALL_ATTEMPTS, ge=1)
    confirmation: ConfirmationPolicy = Field(default_factory=ConfirmationPolicy)


class CatalogPin(Record):
    """The catalog that a mission began with and keeps."""

    digest: str
    size: int
