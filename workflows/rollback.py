"""Undo everything a mission may have left behind, in reverse order, asking nobody.

Invariant: when this workflow completes, every obligation of the mission is cancelled, void, or was
accepted by its contract or an operator. What can't be undone is parked, and the workflow stays open
and findable until an operator has resolved it. It reads no router and obeys no budget.
"""

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator import contracts
    from orchestrator.contracts import ResolveInput, RollbackInput
    from orchestrator.saga import Ledger, Obligation, ObligationState, RollbackReport
    from workflows import calls
    from workflows.failures import first_words
    from workflows.waiting import finish_despite_cancel

_STATUS = SearchAttributeKey.for_keyword(contracts.STATUS_ATTRIBUTE)


@workflow.defn(name=contracts.ROLLBACK_WORKFLOW)
class RollbackWorkflow:
    """Undoes the ledger of one mission."""

    @workflow.init
    def __init__(self, rollback: RollbackInput) -> None:
        """Begin with an empty report; the ledgers are collected by the run."""
        self._input = rollback
        self._report = RollbackReport(mission_id=rollback.mission_id, took_over=rollback.take_over)

    @workflow.run
    async def run(self, _rollback: RollbackInput) -> RollbackReport:
        """Undo, then wait until nothing is parked any more.

        A cancel request changes nothing: it would leave behind what is here to be undone.
        """
        report, _ = await finish_despite_cancel(self._roll_back())
        return report

    async def _roll_back(self) -> RollbackReport:
        self._show("collecting")
        collected = await calls.collect_legs(
            self._input.mission_id, take_over=self._input.take_over
        )
        found = Ledger.merged(leg.ledger for leg in collected.legs)
        self._report = self._report.model_copy(
            update={"ledger": found.overlaid(collected.taken_over)}
        )
        await self._undo_all()
        await self._tell_mission()
        while self._report.parked:
            self._show("parked")
            await workflow.wait_condition(self._has_work)
            await self._undo_all()
        await workflow.wait_condition(workflow.all_handlers_finished)
        self._show("rolled_back")
        return self._report

    def _has_work(self) -> bool:
        return not self._report.parked or bool(self._pending())

    def _pending(self) -> tuple[Obligation, ...]:
        """What is still to be undone, in order; what is parked waits for its operator."""
        return tuple(
            o for o in self._report.ledger.undo_order() if o.state is not ObligationState.PARKED
        )

    async def _undo_all(self) -> None:
        """One at a time: a later booking may stand on an earlier one."""
        while pending := self._pending():
            self._show("rolling_back")
            await self._undo(pending[0])
        self._report = self._report.model_copy(update={"settled": True})

    async def _undo(self, obligation: Obligation) -> None:
        await self._outlive(obligation)
        try:
            outcome = await calls.undo_obligation(obligation)
        except ActivityError as error:
            spent = f"all {obligation.cancel_max_attempts} attempts are spent"
            note = f"{spent}: {first_words(error)}"
            self._write(obligation.given_up(at=workflow.now(), note=note))
            return
        if outcome.state == "parked":
            self._write(obligation.given_up(at=workflow.now(), note=outcome.note))
            return
        state = ObligationState(outcome.state)
        if obligation.state is ObligationState.COMMITTED and state is ObligationState.VOID:
            state = ObligationState.CANCELLED
        self._write(obligation.moved(state, at=workflow.now(), note=outcome.note))

    async def _outlive(self, obligation: Obligation) -> None:
        """Wait until a call whose outcome is unknown can no longer arrive.

        Cancelling sooner would find nothing, and the late booking would land after its cancel.
        """
        if obligation.state is not ObligationState.INTENDED:
            return
        left = obligation.deadline - workflow.now()
        if left.total_seconds() > 0:
            await workflow.sleep(left, summary=f"until {obligation.tool} can no longer arrive")

    async def _tell_mission(self) -> None:
        """Report to the mission, which may wait for it, whoever started this rollback."""
        handle = workflow.get_external_workflow_handle(self._input.mission_id)
        try:
            await handle.signal(contracts.ROLLBACK_SETTLED_SIGNAL, self._report)
        except ApplicationError:
            workflow.logger.info("the mission is gone; its rollback goes on without it")

    @workflow.update(name=contracts.RESOLVE_UPDATE)
    def resolve(self, decision: ResolveInput) -> RollbackReport:
        """An operator's decision on a parked obligation: retry, cancelled elsewhere, or accept."""
        parked = self._find(decision.obligation_id)
        assert parked is not None
        note = f"{decision.operator}: {decision.note or decision.resolution}"
        state = {
            # Whether it was committed shows in its answer; without one it is still unclear.
            "retry": ObligationState.INTENDED
            if parked.response is None
            else ObligationState.COMMITTED,
            "cancelled": ObligationState.CANCELLED,
            "accept": ObligationState.ACCEPTED,
        }[decision.resolution]
        self._write(parked.moved(state, at=workflow.now(), note=note))
        return self._report

    @resolve.validator
    def check_resolution(self, decision: ResolveInput) -> None:
        """Refuse a decision on what is not parked here."""
        if self._find(decision.obligation_id) is None:
            raise ApplicationError(
                f"{decision.obligation_id} is not parked in this rollback",
                type="ObligationNotParked",
                non_retryable=True,
            )

    @workflow.query(name=contracts.REPORT_QUERY)
    def report(self) -> RollbackReport:
        """Where the rollback stands."""
        return self._report

    def _find(self, obligation_id: str) -> Obligation | None:
        found = (o for o in self._report.parked if o.obligation_id == obligation_id)
        return next(found, None)

    def _write(self, obligation: Obligation) -> None:
        ledger = self._report.ledger.written(obligation)
        self._report = self._report.model_copy(update={"ledger": ledger})

    def _show(self, status: str) -> None:
        workflow.upsert_search_attributes([_STATUS.value_set(status)])
        lines = [f"**{status}**: {self._input.reason}", ""]
        lines += [
            f"- {o.tool} `{o.obligation_id}`: {o.state.value} {o.note}"
            for o in self._report.ledger.obligations
        ]
        workflow.set_current_details("\n".join(lines))
