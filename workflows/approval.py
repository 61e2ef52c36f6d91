"""Obtain the decision on a call: a standing approval, a person's rule, or people who are asked."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import Fate
    from orchestrator.confirmation.deciders import as_named
    from orchestrator.confirmation.models import (
        Amend,
        Approve,
        ConfirmationCard,
        Decision,
        DecisionReceipt,
        Grant,
        Reject,
        Respond,
        Verdict,
        expiry_of,
        record_of,
    )
    from orchestrator.core.errors import ConfirmationError, PiiMissing
    from orchestrator.messages.leg import LegStatus, OpenCard
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.workflows import calls
    from orchestrator.workflows.again_rules import SameAgainRules
    from orchestrator.workflows.confirmation import ConfirmationGate
    from orchestrator.workflows.failures import LegFailed, refuse
    from orchestrator.workflows.progress import Progress


class NotConfirmed(LegFailed):
    """Nobody decided in time; the message is a sentence."""


class Approvals:
    """Obtains the decision on one call at a time, and accepts decisions from people."""

    def __init__(self, progress: Progress, rules: SameAgainRules | None = None) -> None:
        """Take the leg that makes the calls; decisions of the previous run stay valid."""
        self._progress = progress
        self.rules = rules or SameAgainRules((), lambda: None)
        self._policy = progress.leg.policy.confirmation
        self.gate = ConfirmationGate(progress.state.decisions, on_change=self._keep)
        self._call: PreparedCall | None = None
        self._reason = ""
        self._meanings: tuple[str, ...] = ()
        self._amended_inputs: tuple[str, ...] = ()
        self.resumed = progress.state.card
        """The card that the previous run opened, until the leg waits for it again."""
        if (shown := self.resumed) is not None:
            # At once: the first event of a new run may be a decision on the card.
            self._call, self._reason = shown.call, shown.reason
            self._meanings, self._amended_inputs = shown.meanings, shown.amended_inputs
            self.gate.reopen(
                _card_of(shown.call),
                shown.call.approval_keys,
                approvals=shown.approvals,
                reminded=shown.reminded,
            )

    async def decide_on(
        self, call: PreparedCall, reason: str = ""
    ) -> tuple[Grant | Verdict, PreparedCall]:
        """Return the decision on a call, and the call as amended.

        Raises:
            NotConfirmed: nobody decided, in any of the rounds.
        """
        if self.resumed is None:
            self._reason = reason
            self._call, self._meanings, self._amended_inputs = call, (call.meaning,), ()
            if (standing := self._granted(call)) is not None:
                return standing, call
        first = _card_of(self._asked_about()).round
        verdict = None
        for number in range(first, max(first, self._policy.rounds) + 1):
            if number != first:
                self._call = await self.renewed(number, "expired")
            verdict = await self.ask(_card_of(self._asked_about()), self._asked_about())
            if verdict is not None:
                break
        if verdict is None:
            raise NotConfirmed(f"nobody confirmed it in time: {call.title}")
        call = self._asked_about()
        fate, words = fate_of(verdict)
        asked = _card_of(call).as_asked(fate, by=verdict.approver, words=words)
        noted = {
            "meanings": tuple(m for m in self._meanings if m),
            "cancels": call.cancel is not None,
            "at": workflow.now(),
        }
        self._progress.remember_asked(asked.model_copy(update=noted))
        return verdict, call

    def _keep(self) -> None:
        """Store the open card in the leg's state, from which a new run continues."""
        card, call = self.gate.card, self._call
        shown = None
        if card is not None and call is not None:
            shown = OpenCard(
                card=card,
                call=call,
                approvals=self.gate.approvals,
                reminded=self.gate.reminded,
                meanings=self._meanings,
                amended_inputs=self._amended_inputs,
                reason=self._reason,
            )
        self._progress.show_card(shown)

    def _granted(self, call: PreparedCall) -> Grant | None:
        """Return the grant of a standing approval, or of a person's rule, and record it."""
        card, now = call.card, workflow.now()
        if card is None:
            return None
        by, issuer, rule = call.standing_approver, "", ""
        if by is not None:
            grant = Grant(
                confirmation_id=card.confirmation_id,
                digest=card.digest,
                approver=by,
                granted_at=now,
                opened_at=card.opened_at,
            )
        else:
            found = self.rules.grant_for(call, now)
            if found is None or found.again is None:
                return None
            grant, made = found, found.again
            by, issuer, rule = made.approver, made.issuer, made.rule_id
        named, digest = grant.confirmation_id, grant.digest
        approve = Approve(confirmation_id=named, digest=digest, approver=by, issuer=issuer)
        self._progress.remember(record_of(approve, card, now).model_copy(update={"rule": rule}))
        return grant

    async def ask(self, card: ConfirmationCard, call: PreparedCall) -> Grant | Verdict | None:
        """Return people's decision on a card or its amended successor; None: the card expired."""
        self._call = call
        if self.resumed is None:
            self.gate.open(card, call.approval_keys)
        self.resumed = None
        self._progress.show(LegStatus.AWAITING_CONFIRMATION)
        verdict = await self.gate.wait(self._policy.reminders, self._renew_repeated)
        self._progress.show(LegStatus.RUNNING)
        if verdict is None:
            self._progress.remember(expiry_of(card, workflow.now()))
        return verdict

    async def _renew_repeated(self) -> None:
        """Replace the open card once its call repeats an effect of the mission."""
        before = self._asked_about()
        await workflow.wait_condition(lambda: self._progress.repeated(before) is not None)
        renewed = await self.renewed(_card_of(before).round)
        if self.gate.card is not None and self._call is before:
            self._call = renewed
            self.gate.open(_card_of(renewed), renewed.approval_keys)

    async def renewed(self, asked: int, fate: Fate = "repeated") -> PreparedCall:
        """Prepare the same call again, as last amended, with a new card.

        Raises:
            NotConfirmed: the call cannot be made any more.
        """
        call = self._asked_about().made
        prepared = await calls.prepare_call(
            self._progress,
            call.tool,
            call.arguments,
            asked=asked,
            decided_by_people=True,
            reason=self._reason,
            before=_card_of(self._asked_about()).as_asked(fate),
            changed_by_people=self._amended_inputs,
        )
        if prepared.card is None:
            raise NotConfirmed(f"{call.tool} was not confirmed, and now: {_faults(prepared)}")
        return prepared

    def _asked_about(self) -> PreparedCall:
        if self._call is None:
            raise RuntimeError("nothing is asked about")
        return self._call

    def check(self, decision: Decision) -> None:
        """Refuse a decision that is not on the open card, or would make one rule too many.

        Raises:
            ApplicationError: as `ConfirmationGate.check`.
        """
        self.gate.check(decision)
        self.rules.check(decision)

    async def take(self, decision: Decision) -> DecisionReceipt:
        """Apply a decision that `check` accepted."""
        await self.gate.is_open(decision.confirmation_id)
        amended = await self._amended(decision) if isinstance(decision, Amend) else None
        call, decided = self._call, self.gate.card
        record = self.gate.decide(decision, workflow.now())
        self._progress.remember(record)
        if isinstance(decision, Approve) and decided is not None and call is not None:
            named = as_named(decision, call.approval_keys)
            if isinstance(named, Approve):
                self.rules.make(named, decided, call, record.at)
        if amended is not None and amended.card is not None and isinstance(decision, Amend):
            self._call = amended
            self._meanings += (amended.meaning,)
            self._amended_inputs = tuple(dict.fromkeys([*self._amended_inputs, *decision.changes]))
            self.gate.open(amended.card, amended.approval_keys)
        return self.gate.receipt(decision, record.at)

    async def _amended(self, amend: Amend) -> PreparedCall:
        """Return the call with the amendment applied, unless its card was decided meanwhile."""
        before = self._asked_about()
        call = before.made
        changed = {**call.arguments, **amend.changes}
        by = as_named(amend, before.approval_keys).approver
        prepared = await calls.prepare_call(
            self._progress,
            call.tool,
            changed,
            asked=_card_of(before).round,
            decided_by_people=True,
            reason=self._reason,
            before=_card_of(before).as_asked("amended", by=by),
            changed_by_people=tuple(dict.fromkeys([*self._amended_inputs, *amend.changes])),
        )
        if prepared.card is None:
            problem = f"the amended call is not valid: {_faults(prepared)}"
            raise refuse(ConfirmationError(amend.confirmation_id, problem, code="AmendmentInvalid"))
        self.gate.decidable(amend.confirmation_id)
        if self._call is not before:
            problem = "its card changed while this amendment was being checked"
            raise refuse(ConfirmationError(amend.confirmation_id, problem, code="CardDecided"))
        return prepared


def fate_of(verdict: Grant | Verdict) -> tuple[Fate, str]:
    """Return the fate of a card, and the words of the person who refused it."""
    match verdict:
        case Reject(reason=words):
            return "rejected", words
        case Respond(text=words):
            return "responded", words
    return "approved", ""


def _card_of(call: PreparedCall) -> ConfirmationCard:
    if call.card is None:
        raise RuntimeError(f"{call.title} asks nobody")
    return call.card


def _faults(prepared: PreparedCall) -> str:
    if prepared.missing_personal:
        return str(PiiMissing(prepared.missing_personal))
    return "; ".join([*prepared.problems, *prepared.obstacles])
