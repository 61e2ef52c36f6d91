"""Decide on calls that cost more than was approved: keep them, or cancel them in their leg.

Invariant: an overcharge that is not decided on, or whose cancel has an unclear outcome, ends the
leg. Its obligation stands in the ledger all the while, so that a rollback cancels it.
"""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import Fate
    from orchestrator.confirmation.models import Grant, Reject, Respond, Verdict
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.saga.obligation import Obligation, RollbackOrder
    from orchestrator.saga.outcome import CompensationFailure, CompensationOutcome
    from orchestrator.saga.retry_policy import CompensationRetries
    from orchestrator.workflows import calls
    from orchestrator.workflows.approval import Approvals, NotConfirmed, fate_of
    from orchestrator.workflows.asked_calls import AskedCalls
    from orchestrator.workflows.failures import LegFailed, LegSkipped, compensation_failure
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.waiting import finish_despite_cancel


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
        if not obligation.is_live:  # cancelled before the leg stopped, and then was repaired
            self._retract(obligation.rollback or RollbackOrder())
            return
        rule, order = sent.limit.on_overcharge, None
        budget, leg_id = self._progress.budget, self._progress.leg.leg.leg_id
        self._progress.act_further(sent=sent)
        budget.settle(leg_id, self._progress.state.taken)
        if rule == "keep":
            budget.release(leg_id)
        else:
            budget.hold(leg_id, obligation.obligation_id)
        verdict = await self._asked(obligation) if rule == "ask" else None
        if rule == "keep" or isinstance(verdict, Grant):
            self._progress.record(f"keep {obligation.tool}", "kept", str(obligation.overcharge))
        else:
            order = await self._cancel(obligation, sent, verdict)
        if rule != "keep":
            budget.settle(leg_id, self._progress.state.taken)
            budget.release(leg_id)
        if isinstance(verdict, Reject) and verdict.then == "skip":
            raise LegSkipped(f"left out: {order}")

    async def _asked(self, obligation: Obligation) -> Grant | Verdict:
        """Return the decision of people, asked as often as the policy says."""
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

    async def _cancel(
        self, obligation: Obligation, sent: PreparedCall, verdict: Verdict | None
    ) -> RollbackOrder:
        """Cancel the obligation as a rollback would, with the same idempotency key.

        The planner, which may not repeat the call, reads about it.

        Raises:
            LegFailed: all is rolled back, or the cancel failed: a rollback continues from here.
        """
        fate: Fate = "refused"
        reason, hint, by = str(obligation.overcharge), "", None
        if verdict is not None:
            fate, hint = fate_of(verdict)
            reason, by = f"{reason}: {hint}", verdict.approver
        order = RollbackOrder(reason=reason, approver=by, asked_at=workflow.now())
        if isinstance(verdict, Reject) and verdict.then == "rollback":
            raise LegFailed(f"all is to be rolled back: {obligation.title}: {order}")
        self._write(obligation.model_copy(update={"rollback": order}))
        retries = CompensationRetries(max_attempts=obligation.cancel_max_attempts)
        missing = retries.missing
        while (failure := await self._try(obligation.obligation_id, missing)) is not None:
            retries = retries.after(failure)
            if retries.exhausted:
                raise self._not_cancelled(obligation, retries.exhausted)
            what = f"until {obligation.tool} is tried again: {obligation.title}"
            await workflow.sleep(retries.pause, summary=markdown_summary(what))
            missing = retries.missing
        self._asked_calls.cancelled(sent, fate, by=by or "", words=hint or str(order))
        self._retract(order, hint=hint, sent_back=isinstance(verdict, Respond))
        self._progress.record(f"cancel {obligation.tool}", "cancelled", str(order))
        return order

    def _retract(self, order: RollbackOrder, *, hint: str = "", sent_back: bool = False) -> None:
        """Show the planner the call as refused, since it was cancelled."""
        self._progress.retract(
            f"it was cancelled: {order}",
            refused_by=order.approver or "",
            hint=hint,
            sent_back=sent_back,
        )

    async def _try(self, obligation_id: str, missing: timedelta) -> CompensationFailure | None:
        """Try once, recorded before and after; return why nothing was settled, or None.

        An obligation that cannot be cancelled here stays unchanged: the rollback parks it.
        `missing` is the time for which an earlier attempt already waits for its probe.
        """
        obligation = self._obligation(obligation_id)
        self._write(obligation.model_copy(update={"cancel_sent": True}))
        asked = obligation.model_copy(update={"missing_for": missing})
        outcome, cancelled = await finish_despite_cancel(_attempt(asked))
        if isinstance(outcome, CompensationFailure):
            self._write(obligation.compensation_failed(outcome))
            if cancelled:
                raise asyncio.CancelledError
            return outcome
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


async def _attempt(obligation: Obligation) -> CompensationOutcome | CompensationFailure:
    try:
        return await calls.compensate(obligation)
    except ActivityError as error:
        return compensation_failure(error)
