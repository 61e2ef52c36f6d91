"""Decide on calls that cost more than was approved: keep them, or cancel them in their leg.

Invariant: an overcharge that is not decided on, or whose cancel has an unclear outcome, ends the
leg. Its obligation stands in the ledger all the while, so that a rollback cancels it.
"""

import asyncio
from dataclasses import dataclass

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import Fate
    from orchestrator.confirmation.models import Grant, Reject, Respond, Then, Verdict
    from orchestrator.core.budget import OnOvercharge
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.saga.obligation import Obligation, RollbackOrder
    from orchestrator.saga.outcome import CompensationFailure
    from orchestrator.saga.retry_policy import CompensationRetries
    from orchestrator.workflows import calls, ui
    from orchestrator.workflows.approval import Approvals, NotConfirmed, fate_of
    from orchestrator.workflows.asked_calls import AskedCalls
    from orchestrator.workflows.failures import LegFailed, LegSkipped, compensation_failure
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.waiting import finish_despite_cancel


@dataclass(frozen=True)
class _Cancel:
    """A decision to cancel an overcharged obligation, with its reason and what follows."""

    order: RollbackOrder
    verdict: Verdict | None = None
    """The person's decision; None: the policy decides."""

    @property
    def then(self) -> Then:
        """Return what follows the cancel, by the person's choice."""
        return self.verdict.then if isinstance(self.verdict, Reject) else "replan"


class Overcharges:
    """Decides on the overcharges of one leg, one at a time, while its mission spends nothing."""

    def __init__(self, progress: Progress, approvals: Approvals, asked: AskedCalls) -> None:
        self._progress = progress
        self._approvals = approvals
        self._asked_calls = asked

    async def settle(self, sent: PreparedCall) -> None:
        """Keep or cancel an overcharged call; do nothing without an overcharge.

        Raises:
            LegFailed: nobody decided in time, the call could not be cancelled here, or a person
                wants everything rolled back.
            LegSkipped: the call was cancelled, and a person left the leg out.
        """
        if sent.limit is None or sent.obligation is None:
            return
        obligation = self._obligation(sent.obligation.obligation_id)
        if obligation.overcharge is None:
            return
        rule = sent.limit.on_overcharge
        self._progress.act_further(sent=sent)
        self._signal(obligation, is_open=rule != "keep")
        cancel = await self._decided(obligation, rule)
        if cancel is None:
            self._progress.record(f"keep {obligation.tool}", "kept", str(obligation.overcharge))
        else:
            await self._carry_out(cancel, obligation, sent)
        if rule != "keep":
            self._signal(obligation, is_open=False)
        if cancel is not None and cancel.then == "skip":
            raise LegSkipped(f"left out: {cancel.order}")

    async def _decided(self, obligation: Obligation, rule: OnOvercharge) -> _Cancel | None:
        """Return the cancel to carry out; None: the call is kept."""
        reason = str(obligation.overcharge)
        if rule == "keep":
            return None
        if rule == "cancel":
            return _Cancel(RollbackOrder(reason=reason, asked_at=workflow.now()))
        verdict = await self._asked(obligation)
        if isinstance(verdict, Grant):
            return None
        order = RollbackOrder(
            reason=f"{reason}: {fate_of(verdict)[1]}",
            approver=verdict.approver,
            asked_at=workflow.now(),
        )
        return _Cancel(order, verdict)

    async def _carry_out(self, cancel: _Cancel, obligation: Obligation, sent: PreparedCall) -> None:
        """Cancel the call, and report that to the planner, which may not repeat it."""
        if cancel.then == "rollback":
            raise LegFailed(f"all is to be rolled back: {obligation.title}: {cancel.order}")
        await self._cancel(obligation, cancel.order)
        by, hint = "", ""
        fate: Fate = "refused"
        if cancel.verdict is not None:
            fate, hint = fate_of(cancel.verdict)
            by = cancel.verdict.approver
        sent_back = isinstance(cancel.verdict, Respond)
        self._asked_calls.cancelled(sent, fate, by=by, words=hint or str(cancel.order))
        self._progress.retract(
            f"it was cancelled: {cancel.order}", refused_by=by, hint=hint, sent_back=sent_back
        )
        self._progress.record(f"cancel {obligation.tool}", "cancelled", str(cancel.order))

    def _signal(self, obligation: Obligation, *, is_open: bool) -> None:
        """Report the spending to the budget; hold it if the overcharge is open, else release it."""
        leg_id = self._progress.leg.leg.leg_id
        self._progress.budget.settle(leg_id, self._progress.state.taken)
        if is_open:
            self._progress.budget.hold(leg_id, obligation.obligation_id)
        else:
            self._progress.budget.release(leg_id)

    # -- asking -----------------------------------------------------------------------------------

    async def _asked(self, obligation: Obligation) -> Grant | Verdict:
        """Return the decision of people, asked as often as the policy says.

        Raises:
            NotConfirmed: nobody decided in time.
        """
        shown = self._approvals.resumed
        first = 1 if shown is None else shown.card.round
        for asked in range(first, self._progress.leg.policy.confirmation.rounds + 1):
            if shown is None:
                prepared = await calls.prepare_overcharge(self._progress, obligation, asked=asked)
            else:
                prepared = shown.call
            if prepared.card is None:
                raise LegFailed("; ".join(prepared.problems))
            verdict = await self._approvals.ask(prepared.card, prepared)
            shown = None
            if verdict is not None:
                return verdict
        why = f"nobody decided in time whether to keep {obligation.title}: {obligation.overcharge}"
        self._progress.record(f"keep {obligation.tool}", "expired", why)
        raise NotConfirmed(why)

    # -- cancelling -------------------------------------------------------------------------------

    async def _cancel(self, obligation: Obligation, order: RollbackOrder) -> None:
        """Cancel the obligation as a rollback would, with the same idempotency key.

        Raises:
            LegFailed: the cancel failed; a rollback continues where this stopped.
        """
        self._write(obligation.model_copy(update={"rollback": order}))
        retries = CompensationRetries(max_attempts=obligation.cancel_max_attempts)
        while (failure := await self._try(obligation.obligation_id)) is not None:
            retries = retries.after(failure)
            if retries.exhausted:
                raise self._not_cancelled(obligation, retries.exhausted)
            summary = ui.summary(ui.UNTIL_RETRY, tool=obligation.tool, what=obligation.title)
            await workflow.sleep(retries.pause, summary=summary)

    async def _try(self, obligation_id: str) -> CompensationFailure | None:
        """Try once, recorded before and after; return why nothing was settled, or None.

        An obligation that cannot be cancelled here stays unchanged: the rollback parks it.
        """
        obligation = self._obligation(obligation_id)
        self._write(obligation.model_copy(update={"cancel_sent": True}))
        try:
            outcome, cancelled = await finish_despite_cancel(calls.compensate(obligation))
        except ActivityError as error:
            failure = compensation_failure(error)
            self._write(obligation.compensation_failed(failure))
            if workflow.cancellation_reason() is not None:
                raise asyncio.CancelledError from None
            return failure
        if outcome.state == "parked":
            self._write(obligation)
            raise self._not_cancelled(obligation, outcome.note)
        settled = obligation.compensated(outcome, at=workflow.now())
        self._write(settled.model_copy(update={"cancelled_by": f"{obligation_id}.cancel"}))
        if cancelled:
            raise asyncio.CancelledError
        return None

    def _not_cancelled(self, obligation: Obligation, why: str) -> LegFailed:
        self._progress.record(f"cancel {obligation.tool}", "lost", why)
        return LegFailed(
            f"{obligation.title}: {obligation.overcharge}, and it could not be cancelled: {why}"
        )

    def _obligation(self, obligation_id: str) -> Obligation:
        return self._progress.state.ledger.obligation(obligation_id)

    def _write(self, obligation: Obligation) -> None:
        self._progress.write(self._progress.state.ledger.written(obligation))
