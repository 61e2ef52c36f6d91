"""Roll back a mission: cancel each obligation, newest first, without asking anybody.

Invariant: when this workflow completes, every obligation of the mission is cancelled, void, or was
accepted by its contract or an operator. An obligation that cannot be cancelled is parked, and the
workflow stays open and findable until an operator has resolved it. It reads no router and obeys no
budget.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import CatalogNotFound, OrchestratorError, QuestionError
    from orchestrator.core.record import shared_fields
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import MissingState
    from orchestrator.messages.rollback import (
        CollectLedgerInput,
        CollectLedgerOutput,
        ResolveInput,
        RollbackInput,
        RollbackReport,
        RollbackStatus,
    )
    from orchestrator.saga.obligation import Obligation, ObligationState
    from orchestrator.saga.outcome import CompensationFailure
    from orchestrator.saga.retry_policy import CompensationRetries
    from orchestrator.workflows import calls, logs, running, ui
    from orchestrator.workflows.failures import compensation_failure, first_words, refuse
    from orchestrator.workflows.rollback_page import RollbackPage
    from orchestrator.workflows.waiting import finish_despite_cancel, until

_FIRST_PAUSE = timedelta(seconds=5)
_LONGEST_PAUSE = timedelta(minutes=5)
_COLLECTED = 8
"""Attempts to read a ledger, over half a minute, before the rollback shows that it cannot begin."""
_LONGEST_LOOK = timedelta(hours=1)
"""The longest pause between two checks for a worker that can retry a deferred obligation."""


@workflow.defn(name=names.ROLLBACK_WORKFLOW)
class RollbackWorkflow:
    """Rolls back the ledger of one mission."""

    task_queue: Final = None
    """Of the rollback's activities; None: the workflow's own."""

    @workflow.init
    def __init__(self, rollback: RollbackInput) -> None:
        self._input = rollback
        self._report = RollbackReport(
            mission_id=rollback.mission_id, took_over=rollback.take_over, order=rollback.order
        )
        self._retries: list[str] = []
        self._parked_some = False
        self._phase = RollbackStatus.COLLECTING
        self._shown: RollbackPage | None = None
        self.observer: Callable[[], None] | None = None
        """Called after each change that is shown, where a reader replays the rollback's history."""
        self._next_try: tuple[str, datetime] | None = None
        self._waited_for_state = timedelta(0)
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._looks = 0

    @workflow.run
    async def run(self, rollback: RollbackInput) -> RollbackReport:
        """Cancel everything, then wait until nothing is parked any more.

        A cancel request changes nothing: it would leave obligations behind.

        Raises:
            ApplicationError: RollbackMisnamed if this workflow's id is not the one of the mission's
                rollback.
        """
        own_id = names.rollback_workflow_id(rollback.mission_id)
        if workflow.info().workflow_id != own_id:
            reason = f"the rollback of {rollback.mission_id} has the id {own_id}, so it runs once"
            raise refuse(OrchestratorError(reason, code="RollbackMisnamed"))
        report, _ = await finish_despite_cancel(self._roll_back())
        return report

    async def _roll_back(self) -> RollbackReport:
        self._show(RollbackStatus.COLLECTING)
        wanted = CollectLedgerInput(**shared_fields(self._input, CollectLedgerInput))
        pause = _FIRST_PAUSE
        while (collected := await self._collected(wanted)) is None:
            await workflow.sleep(pause, summary=ui.UNTIL_ROLLBACK)
            pause = min(2 * pause, _LONGEST_PAUSE)
        self.stall("")
        ledger = collected.ledger.ordered_back(self._input.order)
        self._report = self._report.model_copy(update={"ledger": ledger, "notes": collected.notes})
        due = len(ledger.obligations)
        logs.write("the rollback begins with %d obligations", due, obligations=due)
        self._parked_some = bool(self._report.parked)
        self._show(RollbackStatus.ROLLING_BACK)
        for obligation in self._report.ledger.compensation_order():
            if obligation.stalled:  # deferred by a rollback that was interrupted
                self._write(obligation.resumed(at=workflow.now()))
            elif obligation.state is ObligationState.PARKED:  # waits for its operator
                continue
            await self._compensate(obligation.obligation_id)
        self._report = self._report.model_copy(update={"settled": True})
        self._show(self._phase)
        logs.rollback_settled(self._report.ledger.obligations, parked=len(self._report.parked))
        await self._signal_mission()
        while self._parked_some:
            # One decision at a time, each followed by the same commands: decisions that arrive
            # together lead to the same commands as decisions that arrive one after the other.
            await workflow.wait_condition(lambda: bool(self._retries) or not self._report.parked)
            if not self._retries:
                break
            await self._compensate(self._retries.pop(0))
        await workflow.wait_condition(workflow.all_handlers_finished)
        self._show(RollbackStatus.ROLLED_BACK)
        return self._report

    async def _collected(self, wanted: CollectLedgerInput) -> CollectLedgerOutput | None:
        """Return the ledger; None if it cannot be read now, which operators see as parked."""
        try:
            return await running.run(
                names.COLLECT_LEDGER,
                wanted,
                result_type=CollectLedgerOutput,
                summary="collect the ledger",
                start_to_close_timeout=timedelta(seconds=60),
                heartbeat_timeout=running.HEARTBEAT,
                retry_policy=RetryPolicy(
                    initial_interval=timedelta(milliseconds=200),
                    maximum_interval=timedelta(seconds=10),
                    maximum_attempts=_COLLECTED,
                ),
            )
        except ActivityError as error:
            cause = error.cause
            if isinstance(cause, ApplicationError) and cause.type in names.ROLLBACK_REFUSED:
                raise
            self.stall(first_words(error))
        return None

    def stall(self, why: str) -> None:
        """Show why the rollback cannot begin; empty: it can."""
        if self._phase is RollbackStatus.COLLECTING and why != self._report.blocked:
            self._report = self._report.model_copy(update={"blocked": why})
            self._show(self._phase)

    async def _compensate(self, obligation_id: str) -> None:
        """Try as often as the policy allows, one by one: effects may depend on each other."""
        self._show(RollbackStatus.ROLLING_BACK)
        obligation = self._report.ledger.obligation(obligation_id)
        if obligation.state is ObligationState.INTENDED:
            # While the call may still arrive, a cancel would find nothing, and come before it.
            await self._sleep(obligation, obligation.deadline, "can no longer arrive")
        most = obligation.cancel_max_attempts
        retries = CompensationRetries(max_attempts=most, waited_for_state=self._waited_for_state)
        failure: CompensationFailure | None = None
        while not retries.exhausted:
            if retries.pause:
                await self._sleep(obligation, workflow.now() + retries.pause, "is tried again")
            due = self._report.ledger.obligation(obligation_id)
            due = due.model_copy(update={"missing_for": retries.missing})
            failure = await self._try(due, on_any_worker=retries.waited_for_state > timedelta(0))
            if failure is None:
                break
            retries = retries.after(failure)
            self._waited_for_state = retries.waited_for_state
        failed = self._report.ledger.obligation(obligation_id)
        if retries.exhausted and failure is not None and failure.stalled:
            self._write(failed.deferred(at=workflow.now(), note=retries.exhausted))
            if obligation_id not in self._looking:  # an operator may be faster
                self._looking[obligation_id] = asyncio.create_task(self._resume(failed))
            return
        if retries.exhausted:
            self._write(failed.given_up(at=workflow.now(), note=retries.exhausted))
        tried = self._report.ledger.obligation(obligation_id)
        named = {"tool": tried.tool, "state": str(tried.state)}
        logs.write("%s: %s", obligation_id, tried.state, **named)

    async def _sleep(self, obligation: Obligation, moment: datetime, until_it: str) -> None:
        """Wait for the next attempt, and show its time."""
        self._next_try = (obligation.obligation_id, moment)
        workflow.set_current_details(self._page().markdown())
        summary = markdown_summary(f"until {obligation.tool} {until_it}: {obligation.title}")
        await workflow.sleep(until(moment), summary=summary)
        self._next_try = None

    async def _resume(self, obligation: Obligation) -> None:
        """Resume a deferred obligation once some worker can."""
        needed = MissingState(
            error_type=CatalogNotFound.__name__, catalog=obligation.catalog_digest
        )
        self._looks += 1
        await running.until_there(
            needed, rounds=self._looks - 1, longest=_LONGEST_LOOK, queue=obligation.task_queue
        )
        self._looking.pop(obligation.obligation_id)
        found = self._report.ledger.obligation(obligation.obligation_id)
        if found.stalled:
            self._waited_for_state = timedelta(0)
            self._write(found.resumed(at=workflow.now()))
            self._retries.append(found.obligation_id)

    async def _try(
        self, obligation: Obligation, *, on_any_worker: bool
    ) -> CompensationFailure | None:
        """Try once, recorded in the ledger; return why nothing was settled, or None on success.

        The ledger notes before each attempt that a cancel may have been sent, for a rollback that
        takes over from this one.
        """
        self._write(obligation.model_copy(update={"cancel_sent": True}))
        try:
            outcome = await calls.compensate(obligation, on_any_worker=on_any_worker)
        except ActivityError as error:
            failure = compensation_failure(error)
            self._write(obligation.compensation_failed(failure))
            return failure
        self._write(obligation.compensated(outcome, at=workflow.now()))
        return None

    async def _signal_mission(self) -> None:
        owner = self._input.workflow_id or self._input.mission_id
        handle = workflow.get_external_workflow_handle(owner)
        try:
            await handle.signal(names.ROLLBACK_SETTLED_SIGNAL, self._report)
        except ApplicationError:
            workflow.logger.info("the mission is gone; its rollback goes on without it")

    @workflow.update(name=names.RESOLVE_UPDATE)
    def resolve(self, decision: ResolveInput) -> RollbackReport:
        """Take an operator's decision on a parked obligation: retry, cancelled, or accept."""
        parked = self._find(decision.obligation_id)
        if parked is None:
            raise self._not_parked(decision)
        resolved = parked.resolved(
            decision.resolution, at=workflow.now(), operator=decision.operator, note=decision.note
        )
        self._write(resolved)
        if decision.resolution == "retry":
            self._retries.append(parked.obligation_id)
        return self._report

    @resolve.validator
    def check_resolution(self, decision: ResolveInput) -> None:
        """Refuse a decision on an obligation that is not parked here."""
        if self._find(decision.obligation_id) is None:
            raise self._not_parked(decision)

    def _not_parked(self, decision: ResolveInput) -> ApplicationError:
        wanted, why = decision.obligation_id, self._report.why_not_parked(decision.obligation_id)
        return refuse(QuestionError(wanted, why, code="ObligationNotParked"))

    def report(self) -> RollbackReport:
        """Return the current report of the rollback."""
        return self._report

    def _find(self, obligation_id: str) -> Obligation | None:
        found = (o for o in self._report.parked if o.obligation_id == obligation_id)
        return next(found, None)

    def _write(self, obligation: Obligation) -> None:
        self._parked_some |= obligation.state is ObligationState.PARKED
        ledger = self._report.ledger.written(obligation)
        self._report = self._report.model_copy(update={"ledger": ledger})
        self._show(self._phase)

    def _show(self, phase: RollbackStatus) -> None:
        """Move to this phase and show it; while anything is parked, show the status parked.

        A list can then name parked obligations before the rest is tried, and nobody is alarmed by
        obligations that an operator has resolved.
        """
        self._phase = phase
        page = self._page()
        found_the_same = self._shown is not None and page.found_by == self._shown.found_by
        if found_the_same:
            workflow.set_current_details(page.markdown())
        else:
            ui.show_rollback(page)
        self._shown = page
        if self.observer is not None:
            self.observer()

    def _page(self) -> RollbackPage:
        needs_somebody = self._report.parked or self._report.blocked
        status = RollbackStatus.PARKED if needs_somebody else self._phase
        return RollbackPage(status, self._report, self._next_try)
