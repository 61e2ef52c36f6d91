"""The confirmation gate: one open card at a time, until a decision, its expiry or a cancel."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.catalog.card_types import OVERCHARGE, PLAN
    from orchestrator.confirmation.deciders import as_named, check_decider
    from orchestrator.confirmation.models import (
        PAST,
        Amend,
        Approval,
        Approve,
        ConfirmationCard,
        Decision,
        DecisionReceipt,
        DecisionRecord,
        Grant,
        Reject,
        Respond,
        Verdict,
        grant_of,
        record_of,
    )
    from orchestrator.confirmation.same_again import refusal_of_rule
    from orchestrator.confirmation.signatures import PublicKeys
    from orchestrator.core.errors import CardUnknown, ConfirmationError
    from orchestrator.core.pii import bare_personal, handle_for
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.workflows import logs
    from orchestrator.workflows.failures import refuse
    from orchestrator.workflows.waiting import Pending, until, wait_with_timers


@dataclass
class _Open(Pending):
    """An open card, until it is decided, amended or expired."""

    card: ConfirmationCard
    keys: PublicKeys | None = None
    approvals: tuple[Approval, ...] = ()
    verdict: Grant | Verdict | None = None
    reminded: int = 0

    @property
    def opened_at(self) -> datetime:
        """Return when the card was opened, in this run or a previous one."""
        return self.card.opened_at or workflow.now()

    def as_it_stands(self) -> ConfirmationCard:
        """Return the card with its reminders and approvals so far."""
        changes = {
            "reminded": self.reminded,
            "approved_by": tuple(one.approver for one in self.approvals),
        }
        return self.card.model_copy(update={k: v for k, v in changes.items() if v})


class ConfirmationGate:
    """Holds the open card of a leg and the decisions made on its cards.

    An approval must repeat the digest of the card that is open now. The gate refuses an approval of
    the card's content before an amendment, and an approval of another leg's card.
    """

    def __init__(
        self,
        decisions: Iterable[DecisionRecord] = (),
        *,
        on_change: Callable[[], None] = lambda: None,
        on_reminder: Callable[[], None] = lambda: None,
    ) -> None:
        """Make a gate with no card open; the callbacks follow each change, and each reminder."""
        self._open: _Open | None = None
        decided = (one for one in decisions if one.kind != "amended")
        self._closed: dict[str, str] = {one.confirmation_id: one.kind for one in decided}
        self._on_reminder = on_reminder
        self._on_change = on_change
        self._is_suspended = False

    @property
    def card(self) -> ConfirmationCard | None:
        """Return the card that waits for a decision."""
        shown = self._open
        return None if shown is None or shown.end is not None else shown.as_it_stands()

    @property
    def approvals(self) -> tuple[Approval, ...]:
        """Return the approvals of the open card so far."""
        return () if self._open is None else self._open.approvals

    @property
    def reminded(self) -> int:
        """Return how often people were reminded of the open card."""
        return 0 if self._open is None else self._open.reminded

    def open(self, card: ConfirmationCard, keys: PublicKeys | None = None) -> None:
        """Open a card, or a successor under the same id, which nobody has approved yet.

        With keys, decisions have to be signed with one of them.
        """
        if self._open is not None:
            self._open.ends("amended")
        self._open = _Open(card, keys)
        self._closed.pop(card.confirmation_id, None)
        logs.waits("confirmation", card.confirmation_id)
        self._on_change()

    def reopen(
        self,
        card: ConfirmationCard,
        keys: PublicKeys | None,
        *,
        approvals: tuple[Approval, ...],
        reminded: int,
    ) -> None:
        """Continue with a card that was open when the previous run ended."""
        self._open = _Open(card, keys, approvals, reminded=reminded)
        # The record of the first of two required approvals does not close the card.
        self._closed.pop(card.confirmation_id, None)

    def suspend(self) -> None:
        """Keep the card open when the wait for it is cancelled: a new run continues with it."""
        self._is_suspended = True

    def check(self, decision: Decision) -> None:
        """Refuse a decision that is not on the open card, or not by somebody who may decide.

        Raises:
            ApplicationError: typed CardUnknown, CardDecided, CardExpired, SignatureRefused,
                ApproverRefused, AmendmentInvalid, PersonalValueSent, DigestMismatch or
                SameAgainRefused.
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
                ConfirmationError(
                    wanted,
                    "the approval repeats another digest than the card's: what it shows may have "
                    f"changed; read it again (orchestrator confirm show {wanted})",
                    code="DigestMismatch",
                )
            )
        if isinstance(decision, Approve) and decision.again is not None:
            problem = refusal_of_rule(
                decision.again,
                card.again,
                arguments=card.arguments,
                tool=card.tool,
                at=workflow.now(),
            )
            if problem is not None:
                raise refuse(ConfirmationError(wanted, problem, code="SameAgainRefused"))

    def decidable(self, wanted: str) -> _Open:
        """Return the card of this id if it is open for a decision.

        Raises:
            ApplicationError: typed CardUnknown, CardDecided or CardExpired.
        """
        if wanted in self._closed:
            reason = self._closed[wanted]
            code = "CardExpired" if reason == "expired" else "CardDecided"
            problem = f"this confirmation is closed: it was {reason}"
            raise refuse(ConfirmationError(wanted, problem, code=code))
        shown = self._open
        if shown is None or shown.card.confirmation_id != wanted:
            raise refuse(CardUnknown(wanted, "no such confirmation is open here"))
        if shown.end == "expired":
            problem = "this confirmation has just expired"
            raise refuse(ConfirmationError(wanted, problem, code="CardExpired"))
        if shown.end is not None:
            problem = "this confirmation was just decided"
            raise refuse(ConfirmationError(wanted, problem, code="CardDecided"))
        return shown

    async def is_open(self, confirmation_id: str) -> None:
        """Wait for the card of an accepted decision.

        The card was open when the decision was accepted. A replay may deliver the decision together
        with, and before, the event that opens its card.
        """
        if not self._holds(confirmation_id):
            await workflow.wait_condition(lambda: self._holds(confirmation_id))

    def _holds(self, confirmation_id: str) -> bool:
        return self._open is not None and self._open.card.confirmation_id == confirmation_id

    def decide(self, decision: Decision, at: datetime) -> DecisionRecord:
        """Apply a decision that `check` accepted; the card closes once it has all it needs."""
        shown = self._current()
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
        logs.card_decided(shown.card, named)
        self._on_change()
        return record_of(named, shown.card, at)

    def receipt(self, decision: Decision, at: datetime) -> DecisionReceipt:
        """Return the receipt of a decision that was applied, with the card that is open now."""
        named, accepted = decision.confirmation_id, PAST[decision.kind]
        return DecisionReceipt(confirmation_id=named, accepted=accepted, at=at, card=self.card)

    async def wait(
        self,
        reminders: Sequence[timedelta] = (),
        renew: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> Grant | Verdict | None:
        """Return the decision on the open card; None if nobody decided before it expired.

        Reminders follow so long after it was opened; `renew` opens a successor when it needs one.
        """
        while True:
            shown = self._current()
            timers = self._start_timers(shown, reminders)
            if renew is not None:
                timers.append(asyncio.create_task(renew()))
            try:
                await wait_with_timers(timers, shown.is_over)
            except asyncio.CancelledError:
                if not self._is_suspended:
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
        """Start all timers of a card when it opens.

        Their number depends on the card alone. If a firing timer started the next one, a decision
        in the same workflow task as the firing would lead to other commands than the same two
        events in two tasks, and a replay may see them either way.
        """
        ends = shown.card.expires_at
        left = None if ends is None else ends - shown.opened_at
        due = [one for one in sorted(reminders) if left is None or timedelta(0) < one < left]
        timers = [
            asyncio.create_task(self._remind(shown, until(shown.opened_at + after), n))
            for n, after in enumerate(due, start=1)
            if n > shown.reminded
        ]
        if ends is not None:
            summary = markdown_summary(f"the card for {shown.card.tool} expires")
            timers.append(asyncio.create_task(shown.expire(ends, summary)))
        return timers

    async def _remind(self, shown: _Open, after: timedelta, number: int) -> None:
        summary = markdown_summary(
            f"reminder {number}: nobody has decided on {shown.card.tool} yet"
        )
        await workflow.sleep(after, summary=summary)
        if shown.end is None:
            shown.reminded = number
            logs.card_reminded(shown.card)
            self._on_change()
            self._on_reminder()

    def _current(self) -> _Open:
        if self._open is None:
            raise RuntimeError("no card is open")
        return self._open

    def _close(self, reason: str) -> None:
        if self._open is not None:
            self._closed[self._open.card.confirmation_id] = reason
            logs.card_closed(self._open.card, reason.partition(":")[0])
        self._open = None
        self._on_change()


def check_amendment(amend: Amend, card: ConfirmationCard) -> None:
    """Refuse an input that the tool does not take, and a personal value where a handle belongs.

    An activity checks the amended call, but after the history holds the amendment, for ever.

    Raises:
        ApplicationError: typed AmendmentInvalid or PersonalValueSent; neither quotes a value.
    """
    named, problem, is_personal = amend.confirmation_id, "", False
    if card.card_type == OVERCHARGE:
        problem = "what was done and charged cannot be amended: approve keeps it, reject cancels it"
    elif card.card_type == PLAN:
        problem = (
            "a plan is not amended: say the whole goal otherwise (orchestrator confirm respond "
            f"{named} --text ...)"
        )
    elif card.inputs is not None:
        strange = [name for name in amend.changes if name not in card.inputs]
        takes = ", ".join(card.inputs) or "no input"
        problem = f"{card.tool} takes no {', '.join(strange)}; it takes {takes}" if strange else ""
    else:
        for name in sorted(amend.changes.keys() - card.arguments.keys() - set(card.personal)):
            with workflow.unsafe.imports_passed_through():  # loads phone number tables
                from orchestrator.core.personal_look import personal_look
            if (look := personal_look(amend.changes[name])) is not None:
                is_personal = True
                problem = (
                    f"{name} is no declared input of {card.tool}, and its value looks like {look}: "
                    "it would be kept in the open"
                )
                break
    if not problem and (bare := bare_personal(amend.changes, card.personal)):
        is_personal = True
        problem = (
            f"{', '.join(bare)} is personal and must not be sent as it is; store it "
            f"(orchestrator pii {bare[0]}) and amend with {bare[0]}={handle_for(bare[0])}"
        )
    if is_personal:
        raise refuse(ConfirmationError(named, problem, code="PersonalValueSent"))
    if problem:
        raise refuse(ConfirmationError(named, problem, code="AmendmentInvalid"))
