"""The decision about a call: by a standing approval, or by people as often as the policy asks."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import AskedCall, Fate
    from orchestrator.confirmation.deciders import as_named
    from orchestrator.confirmation.models import (
        PAST,
        Amend,
        Approve,
        ConfirmationCard,
        Decision,
        DecisionReceipt,
        DecisionRecord,
        Grant,
        Reject,
        Respond,
        Verdict,
        record_of,
    )
    from orchestrator.confirmation.signatures import PublicKeys
    from orchestrator.core.errors import AmendmentInvalid, CardDecided, PiiMissing
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegStatus
    from orchestrator.messages.tool_call import PreparedCall, ToolCall
    from workflows import calls
    from workflows.confirmation import ConfirmationGate
    from workflows.failures import LegLost, refuse
    from workflows.progress import Progress


class NotConfirmed(LegLost):
    """Nobody decided in time; its text is a sentence."""


class Approvals:
    """Has one call at a time decided about, and takes the decisions on it."""

    def __init__(self, progress: Progress) -> None:
        """Take the leg that calls; what was decided in the run before stays decided."""
        self._progress = progress
        self._policy = progress.leg.policy.confirmation
        before = progress.state.decisions
        closed = {d.confirmation_id: d.kind for d in before if d.kind != "amended"}
        self.gate = ConfirmationGate(closed, on_reminder=self._remind)
        self._call: PreparedCall | None = None
        self._reason = ""
        self._meanings: tuple[str, ...] = ()
        self._amended_inputs: tuple[str, ...] = ()

    async def decide_on(
        self, call: PreparedCall, reason: str = ""
    ) -> tuple[Grant | Verdict, PreparedCall]:
        """What was decided, and on which call: amendments change it.

        Args:
            call: the call as it was proposed.
            reason: why its planner wants it.

        Raises:
            NotConfirmed: nobody decided, however often they were asked.
        """
        self._call, self._reason = call, reason
        self._meanings, self._amended_inputs = (call.meaning,), ()
        if (standing := self._standing(call)) is not None:
            return standing, call
        verdict = await self._by_people(call)
        self._note(verdict)
        return verdict, self._call

    def _note(self, verdict: Grant | Verdict) -> None:
        """Keep what was decided about the call, for the cards that come after it."""
        assert self._call is not None
        assert self._call.card is not None
        fate, words = fate_of(verdict)
        asked = self._call.card.as_asked(fate, by=verdict.approver, words=words)
        self._progress.remember_asked(
            asked.model_copy(
                update={
                    "meanings": tuple(m for m in self._meanings if m),
                    "cancels": self._call.cancel is not None,
                    "at": workflow.now(),
                }
            )
        )

    def _standing(self, call: PreparedCall) -> Grant | None:
        """The approval that a standing one gives to this call, recorded like a person's."""
        if call.card is None or call.standing_approver is None:
            return None
        approve = Approve(
            confirmation_id=call.card.confirmation_id,
            digest=call.card.digest,
            approver=call.standing_approver,
        )
        now = workflow.now()
        self._progress.remember(record_of(approve, call.card, now))
        return Grant(
            confirmation_id=approve.confirmation_id,
            digest=approve.digest,
            approver=approve.approver,
            granted_at=now,
            opened_at=call.card.opened_at,
        )

    async def _by_people(self, call: PreparedCall) -> Grant | Verdict:
        for asked in range(1, self._policy.rounds + 1):
            self._call = call if asked == 1 else await self._again(asked)
            assert self._call.card is not None
            verdict = await self.ask(self._call.card, self._call.approval_keys)
            if verdict is not None:
                return verdict
        raise NotConfirmed(f"nobody confirmed it in time: {call.title}")

    async def ask(self, card: ConfirmationCard, keys: PublicKeys | None) -> Grant | Verdict | None:
        """What people decide on a card, or on what amendments make of it; None: it expired."""
        self.gate.open(card, keys)
        self._progress.show(LegStatus.AWAITING_CONFIRMATION)
        verdict = await self.gate.wait(self._policy.reminders)
        self._progress.show(LegStatus.RUNNING)
        if verdict is None:
            self._progress.remember(
                DecisionRecord(
                    confirmation_id=card.confirmation_id,
                    kind="expired",
                    approver="",
                    at=workflow.now(),
                    digest=card.digest,
                )
            )
        return verdict

    async def _again(self, asked: int) -> PreparedCall:
        """The same call, as it was last amended, with a card of its own."""
        call = self._asked_about()
        prepared = await calls.prepare_call(
            self._progress,
            call.tool,
            call.arguments,
            asked=asked,
            decided_by_people=True,
            reason=self._reason,
            before=self._before("expired"),
            changed_by_people=self._amended_inputs,
        )
        if prepared.card is None:
            raise NotConfirmed(
                f"{call.tool} was not confirmed in time, and now: {_faults(prepared)}"
            )
        return prepared

    def _before(self, fate: Fate, by: str = "") -> AskedCall:
        """The card that the next one follows on."""
        assert self._call is not None
        assert self._call.card is not None
        return self._call.card.as_asked(fate, by=by)

    def _asked_about(self) -> ToolCall:
        assert self._call is not None
        assert self._call.call is not None
        return self._call.call

    # -- decisions --------------------------------------------------------------------------------

    async def take(self, decision: Decision) -> DecisionReceipt:
        """Take a decision that the gate's `check` let through."""
        await self.gate.is_open(decision.confirmation_id)
        amended = await self._amended(decision) if isinstance(decision, Amend) else None
        record = self.gate.decide(decision, workflow.now())
        self._progress.remember(record)
        if amended is not None and amended.card is not None:
            self._call = amended
            self._meanings += (amended.meaning,)
            self._amended_inputs = _with_names(self._amended_inputs, decision)
            self.gate.open(amended.card, amended.approval_keys)
        card = self.gate.card
        if card is not None:
            self._progress.draw()
        return DecisionReceipt(
            confirmation_id=decision.confirmation_id,
            accepted=PAST[decision.kind],
            at=record.at,
            card=card,
        )

    async def _amended(self, amend: Amend) -> PreparedCall:
        """The call as the amendment makes it.

        Raises:
            ApplicationError: typed AmendmentInvalid, or as `check` says when something else was
                decided while it was being checked.
        """
        before, call = self._call, self._asked_about()
        assert before is not None
        assert before.card is not None
        changed = {**call.arguments, **amend.changes}
        by = as_named(amend, before.approval_keys).approver
        prepared = await calls.prepare_call(
            self._progress,
            call.tool,
            changed,
            asked=before.card.round,
            decided_by_people=True,
            reason=self._reason,
            before=self._before("amended", by),
            changed_by_people=_with_names(self._amended_inputs, amend),
        )
        if prepared.card is None:
            problem = f"the amended call is not valid: {_faults(prepared)}"
            raise refuse(AmendmentInvalid(amend.confirmation_id, problem))
        self.gate.decidable(amend.confirmation_id)
        if self._call is not before:
            problem = "it was amended while this amendment was being checked"
            raise refuse(CardDecided(amend.confirmation_id, problem))
        return prepared

    def _remind(self) -> None:
        """Somebody should decide: seen in the Temporal UI, the log and a metric."""
        card = self.gate.card
        assert card is not None
        workflow.logger.warning("confirmation %s still waits", card.confirmation_id)
        workflow.metric_meter().create_counter(
            names.REMINDERS_METRIC, "Reminders of confirmations that nobody had decided."
        ).add(1, {"card_type": card.card_type})
        self._progress.draw()


def fate_of(verdict: Grant | Verdict) -> tuple[Fate, str]:
    """What became of a card, and in whose words it came to nothing."""
    match verdict:
        case Reject(reason=words):
            return "rejected", words
        case Respond(text=words):
            return "responded", words
    return "approved", ""


def _with_names(known: tuple[str, ...], decision: Decision) -> tuple[str, ...]:
    """The inputs that people have changed, each once."""
    changes = decision.changes if isinstance(decision, Amend) else {}
    return tuple(dict.fromkeys([*known, *changes]))


def _faults(prepared: PreparedCall) -> str:
    """Why a call cannot be made, in one text."""
    if prepared.missing_personal:
        return str(PiiMissing(prepared.missing_personal))
    return "; ".join([*prepared.problems, *prepared.obstacles])
