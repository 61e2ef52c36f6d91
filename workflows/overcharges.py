"""What follows when a call cost more than was approved: it is kept, or undone by its own leg.

Invariant: an overcharge that is not decided on, or whose undoing comes to nothing clear, ends the
leg. Its obligation stands in the ledger all the while, so that a rollback takes it back.
"""

import asyncio
from dataclasses import dataclass

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.asked_before import Fate
    from orchestrator.confirmation.models import Grant, Reject, Respond, Then, Verdict
    from orchestrator.core.spending_limit import OnOvercharge
    from orchestrator.messages import names
    from orchestrator.messages.leg import OverchargeNews
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.saga.ledger import Obligation, RollbackOrder
    from orchestrator.saga.outcome import CompensationFailure
    from orchestrator.saga.retry_policy import CompensationRetries
    from workflows import calls, ui
    from workflows.approval import Approvals, NotConfirmed, fate_of
    from workflows.asked_calls import AskedCalls
    from workflows.failures import LegLost, LegSkipped, compensation_failure
    from workflows.progress import Progress
    from workflows.waiting import finish_despite_cancel, sent


@dataclass(frozen=True)
class _Undo:
    """That an overcharge is to be undone, why, and what is to follow."""

    order: RollbackOrder
    verdict: Verdict | None = None
    """What a person said; None: the policy says it."""

    @property
    def then(self) -> Then:
        """What a person wants to follow."""
        return self.verdict.then if isinstance(self.verdict, Reject) else "replan"


class Overcharges:
    """Decides on the overcharges of one leg, one at a time, while its mission spends nothing."""

    def __init__(self, progress: Progress, approvals: Approvals, asked: AskedCalls) -> None:
        self._progress = progress
        self._approvals = approvals
        self._asked_calls = asked

    async def settle(self, sent: PreparedCall) -> None:
        """Keep or undo what a call cost too much; nothing is done where it did not.

        Raises:
            LegLost: nobody decided in time, it could not be undone here, or all is to be.
            LegSkipped: it was undone, and a person left the leg out.
        """
        if sent.limit is None or sent.obligation is None:
            return
        obligation = self._obligation(sent.obligation.obligation_id)
        if obligation.overcharge is None:
            return
        rule = sent.limit.on_overcharge
        await self._tell(obligation, is_open=rule != "keep")
        undo = await self._decided(obligation, rule)
        if undo is None:
            self._progress.record(f"keep {obligation.tool}", "kept", str(obligation.overcharge))
        else:
            await self._carry_out(undo, obligation, sent)
        if rule != "keep":
            await self._tell(obligation, is_open=False)
        if undo is not None and undo.then == "skip":
            raise LegSkipped(f"left out: {undo.order}")

    async def _decided(self, obligation: Obligation, rule: OnOvercharge) -> _Undo | None:
        """Whether and why it is to be undone; None: it is kept."""
        reason = str(obligation.overcharge)
        if rule == "keep":
            return None
        if rule == "undo":
            return _Undo(RollbackOrder(reason=reason, asked_at=workflow.now()))
        verdict = await self._asked(obligation)
        if isinstance(verdict, Grant):
            return None
        order = RollbackOrder(
            reason=f"{reason}: {fate_of(verdict)[1]}",
            approver=verdict.approver,
            asked_at=workflow.now(),
        )
        return _Undo(order, verdict)

    async def _carry_out(self, undo: _Undo, obligation: Obligation, sent: PreparedCall) -> None:
        """Undo it, and tell the planner, who is stopped if it wants the very same again."""
        if undo.then == "undo":
            raise LegLost(f"all is to be undone: {obligation.title}: {undo.order}")
        await self._undo(obligation, undo.order)
        by, hint = "", ""
        fate: Fate = "refused"
        if undo.verdict is not None:
            fate, hint = fate_of(undo.verdict)
            by = undo.verdict.approver
        sent_back = isinstance(undo.verdict, Respond)
        self._asked_calls.undone(sent, fate, by=by, words=hint or str(undo.order))
        self._progress.retract(
            f"it was undone: {undo.order}", refused_by=by, hint=hint, sent_back=sent_back
        )
        self._progress.record(f"undo {obligation.tool}", "undone", str(undo.order))

    async def _tell(self, obligation: Obligation, *, is_open: bool) -> None:
        """Tell the mission what is spent by now, and whether it may spend more."""
        leg = self._progress.leg
        mission = workflow.get_external_workflow_handle(leg.mission_id)
        news = OverchargeNews(
            leg_id=leg.leg.leg_id,
            call_id=obligation.obligation_id,
            spent=leg.state.taken,
            is_open=is_open,
        )
        await sent(mission.signal(names.OVERCHARGED_SIGNAL, news))

    # -- asking -----------------------------------------------------------------------------------

    async def _asked(self, obligation: Obligation) -> Grant | Verdict:
        """What people decided, asked as often as the policy says.

        Raises:
            NotConfirmed: nobody decided in time.
        """
        for asked in range(1, self._progress.leg.policy.confirmation.rounds + 1):
            prepared = await calls.prepare_overcharge(self._progress, obligation, asked=asked)
            if prepared.card is None:
                raise LegLost("; ".join(prepared.problems))
            verdict = await self._approvals.ask(prepared.card, prepared.approval_keys)
            if verdict is not None:
                return verdict
        why = f"nobody decided in time whether to keep {obligation.title}: {obligation.overcharge}"
        self._progress.record(f"keep {obligation.tool}", "expired", why)
        raise NotConfirmed(why)

    # -- undoing ----------------------------------------------------------------------------------

    async def _undo(self, obligation: Obligation, order: RollbackOrder) -> None:
        """Cancel it as a rollback would, with the key that one would use.

        Raises:
            LegLost: it could not be; a rollback goes on where this stopped.
        """
        self._write(obligation.model_copy(update={"rollback": order}))
        retries = CompensationRetries(max_attempts=obligation.cancel_max_attempts)
        while (failure := await self._try(obligation.obligation_id)) is not None:
            retries = retries.after(failure)
            if retries.exhausted:
                raise self._not_undone(obligation, retries.exhausted)
            summary = ui.summary(ui.UNTIL_RETRY, tool=obligation.tool, what=obligation.title)
            await workflow.sleep(retries.pause, summary=summary)

    async def _try(self, obligation_id: str) -> CompensationFailure | None:
        """One attempt, written down before and after; why it settled nothing, or None when it did.

        What cannot be undone here stays as it stands: it is for the rollback to park it.
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
            raise self._not_undone(obligation, outcome.note)
        undone = obligation.compensated(outcome, at=workflow.now())
        self._write(undone.model_copy(update={"cancelled_by": f"{obligation_id}.cancel"}))
        if cancelled:
            raise asyncio.CancelledError
        return None

    def _not_undone(self, obligation: Obligation, why: str) -> LegLost:
        self._progress.record(f"undo {obligation.tool}", "lost", why)
        return LegLost(
            f"{obligation.title}: {obligation.overcharge}, and it could not be undone: {why}"
        )

    def _obligation(self, obligation_id: str) -> Obligation:
        return self._progress.state.ledger.obligation(obligation_id)

    def _write(self, obligation: Obligation) -> None:
        self._progress.write(self._progress.state.ledger.written(obligation))
