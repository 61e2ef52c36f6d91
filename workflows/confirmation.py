"""The confirmation gate: one card at a time, waited on until a decision, its expiry or a cancel."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.deciders import as_named, check_decider
    from orchestrator.confirmation.models import (
        PAST,
        Amend,
        Approval,
        Approve,
        ConfirmationCard,
        Decision,
        DecisionRecord,
        Grant,
        Reject,
        Respond,
        Verdict,
        grant_of,
        record_of,
    )
    from orchestrator.confirmation.signatures import PublicKeys
    from orchestrator.core.errors import (
        CardDecided,
        CardExpired,
        CardUnknown,
        ConfirmationError,
        DigestMismatch,
    )
    from workflows import telling, ui
    from workflows.amendments import check_amendment
    from workflows.failures import refuse
    from workflows.waiting import Pending, until, wait_beside


@dataclass
class _Open(Pending):
    """A card that was shown, until it is decided, amended or expired."""

    card: ConfirmationCard
    keys: PublicKeys | None = None
    approvals: tuple[Approval, ...] = ()
    verdict: Grant | Verdict | None = None
    reminded: int = 0

    def as_it_stands(self) -> ConfirmationCard:
        """The card, with what has come of it so far."""
        changes = {
            "reminded": self.reminded,
            "approved_by": tuple(one.approver for one in self.approvals),
        }
        return self.card.model_copy(update={k: v for k, v in changes.items() if v})


class ConfirmationGate:
    """Holds the open card of a leg and the decisions made on its cards.

    Approving needs the digest of the card that is open now, so an approval of what a card showed
    before it was amended, or of another leg's card, is refused.
    """

    def __init__(self, closed: Mapping[str, str], *, on_reminder: Callable[[], None]) -> None:
        """A gate with no card open.

        Args:
            closed: confirmation id to what became of it, of those that are closed already.
            on_reminder: called after a reminder was counted.
        """
        self._open: _Open | None = None
        self._closed = dict(closed)
        self._on_reminder = on_reminder

    @property
    def card(self) -> ConfirmationCard | None:
        """The card that waits for a decision."""
        shown = self._open
        return None if shown is None or shown.end is not None else shown.as_it_stands()

    def open(self, card: ConfirmationCard, keys: PublicKeys | None = None) -> None:
        """Show a card, or what an amendment made of it, which nobody has approved yet.

        Args:
            card: what is shown.
            keys: those that decisions on it have to be signed with; None: they need not be.
        """
        if self._open is not None:
            self._open.ends("amended")
        self._open = _Open(card, keys)
        telling.card_opened(card)

    def check(self, decision: Decision) -> None:
        """Refuse a decision that is not on the open card, or not by somebody who may decide.

        Raises:
            ApplicationError: typed CardUnknown, CardDecided, CardExpired, SignatureRefused,
                ApproverRefused, AmendmentInvalid, PersonalValueSent or DigestMismatch.
        """
        wanted = decision.confirmation_id
        shown = self.decidable(wanted)
        card = shown.as_it_stands()
        try:
            check_decider(decision, card, shown.keys, at=workflow.now())
        except ConfirmationError as refusal:
            raise refuse(refusal) from refusal
        if isinstance(decision, Amend):
            check_amendment(decision, card)
        if isinstance(decision, Approve) and decision.digest != card.digest:
            raise refuse(
                DigestMismatch(
                    wanted,
                    "the approval repeats another digest than the card's: what it shows may have "
                    f"changed; read it again (orchestrator confirm show {wanted})",
                )
            )

    def decidable(self, wanted: str) -> _Open:
        """The card of this id, open for a decision.

        Raises:
            ApplicationError: typed CardUnknown, CardDecided or CardExpired.
        """
        if wanted in self._closed:
            reason = self._closed[wanted]
            kind = CardExpired if reason == "expired" else CardDecided
            raise refuse(kind(wanted, f"this confirmation is closed: it was {reason}"))
        shown = self._open
        if shown is None or shown.card.confirmation_id != wanted:
            raise refuse(CardUnknown(wanted, "no such confirmation is open here"))
        if shown.end == "expired":
            raise refuse(CardExpired(wanted, "this confirmation has just expired"))
        if shown.end is not None:
            raise refuse(CardDecided(wanted, "this confirmation was just decided"))
        return shown

    async def is_open(self, confirmation_id: str) -> None:
        """Wait for the card of an accepted decision.

        It was open when the decision was accepted. A replay may bring the decision together with
        what opens its card, and ahead of it.
        """
        if not self._holds(confirmation_id):
            await workflow.wait_condition(lambda: self._holds(confirmation_id))

    def _holds(self, confirmation_id: str) -> bool:
        return self._open is not None and self._open.card.confirmation_id == confirmation_id

    def decide(self, decision: Decision, at: datetime) -> DecisionRecord:
        """Take a decision that `check` let through; all that the card needs of them close it."""
        assert self._open is not None
        shown = self._open
        named = as_named(decision, shown.keys)
        if isinstance(named, Approve):
            shown.approvals += (
                Approval(
                    approver=named.approver, issuer=named.issuer, signature=named.signature, at=at
                ),
            )
            if len(shown.approvals) >= shown.card.approvals_needed:
                shown.verdict = grant_of(shown.card, shown.approvals, at)
        elif isinstance(named, Reject | Respond):
            shown.verdict = named
        if shown.verdict is not None:
            shown.ends("decided")
        telling.card_decided(shown.card, named)
        return record_of(named, shown.card, at)

    async def wait(self, reminders: Sequence[timedelta] = ()) -> Grant | Verdict | None:
        """The decision on the open card; None when nobody decided before it expired.

        Args:
            reminders: how long after the card was opened to remind of it.
        """
        assert self._open is not None
        while True:
            shown = self._open
            timers = self._start_timers(shown, reminders)
            try:
                await wait_beside(timers, shown.is_over)
            except asyncio.CancelledError:
                self._close("withdrawn: the leg was cancelled")
                raise
            if shown.end == "expired":
                self._close("expired")
                return None
            if shown.verdict is not None:
                verdict = shown.verdict
                self._close("approved" if isinstance(verdict, Grant) else PAST[verdict.kind])
                return shown.verdict

    def _start_timers(
        self, shown: _Open, reminders: Sequence[timedelta]
    ) -> list[asyncio.Task[None]]:
        """All timers of a card, started when it opens.

        Their number depends on the card alone. Were the next one started when one fires, a
        decision in the same task as a firing timer would lead to other commands than the same two
        in two tasks, and a replay may see them either way.
        """
        timers = [
            asyncio.create_task(self._remind(shown, after, n))
            for n, after in enumerate(_before(shown.card.expires_at, sorted(reminders)), start=1)
        ]
        if shown.card.expires_at is not None:
            summary = ui.summary(ui.CONFIRMATION_EXPIRES, tool=shown.card.tool)
            expiry = shown.expire(shown.card.expires_at, summary)
            timers.append(asyncio.create_task(expiry))
        return timers

    async def _remind(self, shown: _Open, after: timedelta, number: int) -> None:
        summary = ui.summary(ui.REMINDER, number=number, tool=shown.card.tool)
        await workflow.sleep(after, summary=summary)
        if shown.end is None:
            shown.reminded = number
            self._on_reminder()

    def _close(self, reason: str) -> None:
        if self._open is not None:
            self._closed[self._open.card.confirmation_id] = reason
            telling.card_closed(self._open.card, reason.partition(":")[0])
        self._open = None


def _before(moment: datetime | None, reminders: Sequence[timedelta]) -> list[timedelta]:
    """The reminders that come while the card is open."""
    left = None if moment is None else until(moment)
    return [after for after in reminders if left is None or timedelta(0) < after < left]
