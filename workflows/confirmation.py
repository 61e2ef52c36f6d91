"""The confirmation gate: one card at a time, waited on until a decision, its expiry or a cancel."""

import asyncio
from datetime import datetime
from functools import partial
from typing import Literal

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirm import (
        Amend,
        Approve,
        ConfirmationCard,
        Decision,
        DecisionRecord,
        Grant,
    )
    from orchestrator.errors import (
        CardDecided,
        CardExpired,
        CardUnknown,
        ConfirmationError,
        DigestMismatch,
    )
    from orchestrator.pii import handle_for, is_handle
    from workflows.waiting import until


PAST: dict[str, Literal["approved", "amended", "rejected"]] = {
    "approve": "approved",
    "amend": "amended",
    "reject": "rejected",
}
"""What a decision is called once it was taken."""


def refuse(error: ConfirmationError) -> ApplicationError:
    """A refusal that the person who decided gets to read; the mission goes on unharmed."""
    return ApplicationError(str(error), type=type(error).__name__, non_retryable=True)


class Gate:
    """Holds the open card of a leg and the decisions made on its cards.

    Approving needs the digest of the card that is open now, so an approval of what a card showed
    before it was amended, or of another leg's card, is refused.
    """

    def __init__(self) -> None:
        """A gate with no card open."""
        self._card: ConfirmationCard | None = None
        self._verdict: Decision | None = None
        self._closed: dict[str, str] = {}

    @property
    def card(self) -> ConfirmationCard | None:
        """The card that waits for a decision."""
        return self._card if self._verdict is None else None

    def open(self, card: ConfirmationCard) -> None:
        """Show a card, or the same one after an amendment."""
        self._card, self._verdict = card, None

    def check(self, decision: Decision) -> None:
        """Refuse a decision that is not on the open card.

        Raises:
            ApplicationError: typed CardUnknown, CardDecided, CardExpired or DigestMismatch.
        """
        wanted = decision.confirmation_id
        if wanted in self._closed:
            reason = self._closed[wanted]
            kind = CardExpired if reason == "expired" else CardDecided
            raise refuse(kind(wanted, f"this confirmation is closed: it was {reason}"))
        if self._card is None or self._card.confirmation_id != wanted:
            raise refuse(CardUnknown(wanted, "no such confirmation is open in this leg"))
        if self._verdict is not None:
            raise refuse(CardDecided(wanted, "this confirmation was just decided"))
        if isinstance(decision, Amend):
            _check_personal(decision, self._card)
        if isinstance(decision, Approve) and decision.digest != self._card.digest:
            raise refuse(
                DigestMismatch(
                    wanted,
                    "the approval repeats another digest than the card's: what it shows may have "
                    f"changed; read it again (orchestrator confirm show {wanted})",
                )
            )

    def decide(self, decision: Decision, at: datetime) -> DecisionRecord:
        """Take a decision that `check` let through; approve and reject close the card."""
        assert self._card is not None
        if not isinstance(decision, Amend):
            self._verdict = decision
        return DecisionRecord(
            confirmation_id=decision.confirmation_id,
            kind=PAST[decision.kind],
            approver=decision.approver,
            at=at,
            digest=self._card.digest,
            reason=getattr(decision, "reason", ""),
        )

    async def wait(self) -> Decision | None:
        """The decision on the open card; None when nobody decided before it expired."""
        assert self._card is not None
        while self._verdict is None:
            shown = self._card
            try:
                await workflow.wait_condition(
                    partial(self._has_moved_on, shown),
                    timeout=until(shown.expires_at) if shown.expires_at else None,
                    timeout_summary="confirmation expires",
                )
            except TimeoutError:
                # A decision may arrive in the same task as the timer, and was promised to count.
                if not self._has_moved_on(shown):
                    self._close("expired")
                    return None
            except asyncio.CancelledError:
                self._close("withdrawn: the leg was cancelled")
                raise
        self._close(PAST[self._verdict.kind])
        return self._verdict

    def _has_moved_on(self, shown: ConfirmationCard) -> bool:
        """Whether it was decided, or amended into a card with an expiry of its own."""
        return self._verdict is not None or self._card is not shown

    def grant(self, decision: Approve, at: datetime) -> Grant:
        """The permission that an approval gives."""
        return Grant(
            confirmation_id=decision.confirmation_id,
            digest=decision.digest,
            approver=decision.approver,
            granted_at=at,
        )

    def _close(self, reason: str) -> None:
        if self._card is not None:
            self._closed[self._card.confirmation_id] = reason
        self._card = None


def _check_personal(amend: Amend, card: ConfirmationCard) -> None:
    """Refuse a personal value in an amendment: a refused update never enters history."""
    bare = [
        name
        for name, value in amend.changes.items()
        if name in card.personal and not is_handle(value)
    ]
    if bare:
        raise ApplicationError(
            f"{amend.confirmation_id}: {', '.join(bare)} is personal and must not be sent as it "
            f"is; store it (orchestrator pii set {bare[0]}) and amend with "
            f"{bare[0]}={handle_for(bare[0])}",
            type="PersonalValue",
            non_retryable=True,
        )
