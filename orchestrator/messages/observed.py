"""Observed calls: made as their workflow makes them, with a record of what a guard would have done.

Nobody is asked about an observed call, no budget or policy stops it, and nothing is rolled back.
"""

from datetime import datetime
from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.messages.tool_call import PreparedCall, ToolCall
from orchestrator.saga.ledger import IllegalTransition, Ledger
from orchestrator.saga.outcome import ToolOutcome

Mode = Literal["guard", "observe"]
OBSERVED: Final = "observed, not guarded"
"""The words that every page, card, receipt and list of an observed call has."""
SEARCHED_AS: Final = "observed"
"""The value of the search attribute for the mode."""


class ObservedCall(Record):
    """A call that was made, and the card and the reasons with which a guard would have met it."""

    prepared: PreparedCall = Field(
        description="always with its call; its problems are those for which it would be refused"
    )
    outcome: ToolOutcome
    sent_before: bool = Field(
        default=False, description="another execution had sent a call of this id, as after a reset"
    )

    @property
    def call(self) -> ToolCall:
        """The call as it was sent."""
        if self.prepared.call is None:
            raise RuntimeError(f"{self.prepared.title} was not called")
        return self.prepared.call

    @property
    def is_answered(self) -> bool:
        """True if the provider answered with success, whatever its contract says of the answer."""
        return self.outcome.kind == "succeeded" or self.outcome.is_unproved

    def entered(self, ledger: Ledger, *, at: datetime) -> Ledger:
        """Return the ledger with this call's obligation or cancel, and its outcome."""
        made, cancel = self.prepared.obligation, self.prepared.cancel
        sent, outcome = ledger.sending(made, cancel), ledger.doubted(made, self.outcome)
        try:
            return sent.answered(made, cancel, outcome, at=at, limit=self.prepared.limit)
        except IllegalTransition:  # it stands in the ledger already
            return ledger


class ObservedRun(Record):
    """An observed mission or saga, as the memo of its workflow notes it."""

    failed: str = Field(default="", description="why a guard would have rolled it back")
