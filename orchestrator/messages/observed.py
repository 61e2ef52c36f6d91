"""Observed calls: made as their workflow makes them, while nothing is gated and nothing cancelled.

The histories of their workflows are the record: a report derives from them what a guard would have
asked, refused and rolled back.
"""

from datetime import datetime
from typing import Final, Literal, get_args

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.call_ref import CallRef
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.wall import Wall
from orchestrator.messages.mission_policy import CALL_TIMEOUT, MissionPolicy
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import CancelCall, IllegalTransition, Obligation
from orchestrator.saga.outcome import ToolOutcome

Mode = Literal["guard", "observe"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
OBSERVED: Final = "observed, not guarded"
"""The words that every page, list, receipt and report of an observed call has."""
SEARCHED_AS: Final = "observed"
"""The value of the search attribute for the mode."""


class ObserveInput(CallRef):
    """A call to send without its guards."""

    arguments: JsonObject
    agent: Wall | None = Field(default=None, description="who calls, and what it may touch")
    reason: str = ""
    timeout_s: float = CALL_TIMEOUT.total_seconds()
    attempts: int = Field(default=1, description="of a call that may be repeated, by the policy")


class ObservedCall(Record):
    """The outcome of an observed call, and what it may have left."""

    outcome: ToolOutcome
    obligation: Obligation | None = None
    cancel: CancelCall | None = None

    @property
    def is_answered(self) -> bool:
        """True if the provider answered with success, whatever a guard would have read into it."""
        return self.outcome.kind == "succeeded" or self.outcome.is_unproved

    def entered(self, ledger: Ledger, *, at: datetime) -> Ledger:
        """Return the ledger with this call's effect or cancel, and its outcome."""
        outcome, at = ledger.doubted(self.obligation, self.outcome), self.outcome.answered_at or at
        try:
            sent = ledger.sending(self.obligation, self.cancel)
            return sent.answered(self.obligation, self.cancel, outcome, at=at)
        except IllegalTransition:  # a call of this id stands in the ledger already
            return ledger


class ObservedRun(Record):
    """The terms of an observed mission or saga, in the memo of its workflow."""

    policy: MissionPolicy = Field(default_factory=MissionPolicy)
    budget: Money | None = None
    requester: str = ""
    failed: str = Field(default="", description="why a guard would have rolled it back")
    ended: bool = False
