"""Roll back a mission: take back all that it may have left behind, newest first, asking nobody.

Invariant: when this workflow completes, every obligation of the mission is cancelled, void, or was
accepted by its contract or an operator. What can't be taken back is parked, and the workflow stays
open and findable until an operator has resolved it. It reads no router and obeys no budget.
"""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import CatalogNotFound, ObligationNotParked
    from orchestrator.messages import names
    from orchestrator.messages.lacking import LackingState
    from orchestrator.messages.rollback import (
        ResolveInput,
        RollbackInput,
        RollbackReport,
        RollbackStatus,
    )
    from orchestrator.saga.ledger import Ledger, Obligation, ObligationState
    from orchestrator.saga.outcome import CompensationFailure
    from orchestrator.saga.retry_policy import CompensationRetries
    from workflows import calls, telling, ui
    from workflows.failures import compensation_failure, refuse
    from workflows.held_up import PATCH as HELD_UP
    from workflows.held_up import until_there
    from workflows.lineage import check_rollback
    from workflows.rollback_page import NextTry, RollbackPage
    from workflows.waiting import finish_despite_cancel, until

_LONGEST_LOOK = timedelta(hours=1)
"""Between two rounds of taking up what was put by that came to nothing."""
PARKED_AT_ONCE = "parked-is-shown-at-once"
"""The change since which the status follows each obligation, while others are still tried."""


@workflow.defn(name=names.ROLLBACK_WORKFLOW)
class RollbackWorkflow:
    """Rolls back the ledger of one mission."""

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
        self._shows_parked_at_once = False
        self._next_try: NextTry | None = None
        self._lacked = timedelta(0)
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._looks = 0

    @workflow.run
    async def run(self, rollback: RollbackInput) -> RollbackReport:
        """Take everything back, then wait until nothing is parked any more.

        A cancel request changes nothing: it would leave behind what is here to be taken back.

        Raises:
            ApplicationError: RollbackMisnamed under another id than the mission's rollback has.
        """
        check_rollback(rollback)
        # Asked here alone: a run that began without it goes on without it.
        self._shows_parked_at_once = workflow.patched(PARKED_AT_ONCE)
        report, _ = await finish_despite_cancel(self._roll_back())
        return report

    async def _roll_back(self) -> RollbackReport:
        await self._collect()
        for obligation in self._report.ledger.compensation_order():
            if obligation.held_up:  # a rollback that was broken off had put it by
                self._write(obligation.taken_up(at=workflow.now()))
            elif obligation.state is ObligationState.PARKED:  # that waits for its operator
                continue
            await self._compensate(obligation.obligation_id)
        self._report = self._report.model_copy(update={"settled": True})
        telling.rollback_settled(self._report.ledger.obligations, parked=len(self._report.parked))
        await self._tell_mission()
        if self._parked_some:
            await self._serve_operators()
        await workflow.wait_condition(workflow.all_handlers_finished)
        self._show(RollbackStatus.ROLLED_BACK)
        return self._report

    async def _collect(self) -> None:
        """What the legs left, as far as an earlier rollback has not dealt with it."""
        self._show(RollbackStatus.COLLECTING)
        collected = await calls.collect_legs(
            self._input.mission_id, take_over=self._input.take_over
        )
        found = Ledger.merged(leg.ledger for leg in collected.legs)
        ledger = found.written(*collected.taken_over.obligations).ordered_back(self._input.order)
        self._report = self._report.model_copy(update={"ledger": ledger, "notes": collected.notes})
        telling.rollback_began(ledger.obligations)
        self._parked_some = bool(self._report.parked)
        if self._shows_parked_at_once:
            self._show(RollbackStatus.ROLLING_BACK)

    async def _serve_operators(self) -> None:
        """Until nothing is parked: try again what they ask for, in the order in which they ask.

        One decision at a time, each followed by the same commands: decisions that arrive together
        lead to what they lead to one after the other.
        """
        self._show_rest()
        while True:
            await workflow.wait_condition(lambda: bool(self._retries) or not self._report.parked)
            if not self._retries:
                return
            await self._compensate(self._retries.pop(0))
            self._show_rest()

    async def _compensate(self, obligation_id: str) -> None:
        """Try as often as the retry policy allows; one at a time, for one may stand on another."""
        self._show(RollbackStatus.ROLLING_BACK)
        obligation = self._report.ledger.obligation(obligation_id)
        await self._wait_until_settled(obligation)
        most = obligation.cancel_max_attempts
        retries = CompensationRetries(max_attempts=most, lacked=self._lacked)
        failure: CompensationFailure | None = None
        while not retries.exhausted:
            if retries.pause:
                await self._pause(obligation, retries.pause)
            due = self._report.ledger.obligation(obligation_id)
            due = due.model_copy(update={"missing_for": retries.missing})
            failure = await self._try(due, lacked=retries.lacked > timedelta(0))
            if failure is None:
                telling.obligation_tried(self._report.ledger.obligation(obligation_id))
                return
            retries = retries.after(failure)
            self._lacked = retries.lacked
        failed = self._report.ledger.obligation(obligation_id)
        if failure is not None and failure.held_up:
            self._write(failed.put_by(at=workflow.now(), note=retries.exhausted))
            self._look_for_a_worker(failed)
            return
        self._write(failed.given_up(at=workflow.now(), note=retries.exhausted))
        telling.obligation_tried(self._report.ledger.obligation(obligation_id))

    def _look_for_a_worker(self, obligation: Obligation) -> None:
        """Take it up by itself once some worker can; an operator may be faster."""
        if obligation.obligation_id not in self._looking:
            task = asyncio.create_task(self._take_up(obligation))
            self._looking[obligation.obligation_id] = task

    async def _take_up(self, obligation: Obligation) -> None:
        needed = LackingState(lacks=CatalogNotFound.__name__, catalog=obligation.catalog_digest)
        self._looks += 1
        await until_there(needed, rounds=self._looks - 1, longest=_LONGEST_LOOK)
        self._looking.pop(obligation.obligation_id)
        found = self._report.ledger.obligation(obligation.obligation_id)
        if found.held_up:
            self._lacked = timedelta(0)
            self._write(found.taken_up(at=workflow.now()))
            self._retries.append(found.obligation_id)

    async def _try(self, obligation: Obligation, *, lacked: bool) -> CompensationFailure | None:
        """One attempt, written down; why it settled nothing, or None when it did.

        That a cancel may have left is noted before it does, for a rollback that takes over from
        this one.
        """
        self._write(obligation.model_copy(update={"cancel_sent": True}))
        try:
            outcome = await calls.compensate(obligation, lacked=lacked)
        except ActivityError as error:
            failure = compensation_failure(error)
            if failure.held_up and not workflow.patched(HELD_UP):
                failure = failure.model_copy(update={"held_up": False})
            self._write(obligation.compensation_failed(failure))
            return failure
        self._write(obligation.compensated(outcome, at=workflow.now()))
        return None

    async def _pause(self, obligation: Obligation, pause: timedelta) -> None:
        """Wait for the next attempt, and show when it is."""
        self._next_try = NextTry(obligation.obligation_id, workflow.now() + pause)
        ui.draw_rollback(self._page())
        summary = ui.summary(ui.UNTIL_RETRY, tool=obligation.tool, what=obligation.title)
        await workflow.sleep(pause, summary=summary)
        self._next_try = None

    async def _wait_until_settled(self, obligation: Obligation) -> None:
        """Wait until a call whose outcome is unknown can no longer arrive.

        Cancelling sooner would find nothing, and the late booking would land after its cancel.
        """
        if obligation.state is not ObligationState.INTENDED:
            return
        self._next_try = NextTry(obligation.obligation_id, obligation.deadline)
        ui.draw_rollback(self._page())
        summary = ui.summary(ui.UNTIL_SETTLED, tool=obligation.tool, what=obligation.title)
        await workflow.sleep(until(obligation.deadline), summary=summary)
        self._next_try = None

    async def _tell_mission(self) -> None:
        """Report to the mission, which may wait for it, whoever started this rollback."""
        handle = workflow.get_external_workflow_handle(self._input.mission_id)
        try:
            await handle.signal(names.ROLLBACK_SETTLED_SIGNAL, self._report)
        except ApplicationError:
            workflow.logger.info("the mission is gone; its rollback goes on without it")

    @workflow.update(name=names.RESOLVE_UPDATE)
    def resolve(self, decision: ResolveInput) -> RollbackReport:
        """An operator's decision on a parked obligation: retry, cancelled elsewhere, or accept."""
        parked = self._find(decision.obligation_id)
        assert parked is not None
        resolved = parked.resolved(
            decision.resolution,
            at=workflow.now(),
            operator=decision.operator,
            note=decision.note,
        )
        self._write(resolved)
        if decision.resolution == "retry":
            self._retries.append(parked.obligation_id)
        return self._report

    @resolve.validator
    def check_resolution(self, decision: ResolveInput) -> None:
        """Refuse a decision on what is not parked here."""
        if self._find(decision.obligation_id) is None:
            wanted = decision.obligation_id
            raise refuse(ObligationNotParked(wanted, self._report.why_not_parked(wanted)))

    @workflow.query(name=names.REPORT_QUERY)
    def report(self) -> RollbackReport:
        """Where the rollback stands."""
        return self._report

    def _find(self, obligation_id: str) -> Obligation | None:
        found = (o for o in self._report.parked if o.obligation_id == obligation_id)
        return next(found, None)

    def _write(self, obligation: Obligation) -> None:
        self._parked_some |= obligation.state is ObligationState.PARKED
        ledger = self._report.ledger.written(obligation)
        self._report = self._report.model_copy(update={"ledger": ledger})
        if self._shows_parked_at_once:
            self._show(self._phase)

    def _show_rest(self) -> None:
        """That it waits for its operators; or what a retry that is due will show next."""
        if not self._shows_parked_at_once:
            self._show(RollbackStatus.PARKED if self._report.parked else RollbackStatus.ROLLED_BACK)

    def _show(self, phase: RollbackStatus) -> None:
        """Move to this phase and show it; while something is parked, that is what is shown.

        Nobody must wait for the rest to be tried before a list of what is parked can name it, and
        nobody be alarmed by what an operator has resolved.
        """
        self._phase = phase
        page = self._page()
        found_the_same = self._shown is not None and page.found_by == self._shown.found_by
        if found_the_same and self._shows_parked_at_once:
            ui.draw_rollback(page)
        else:
            ui.show_rollback(page)
        self._shown = page

    def _page(self) -> RollbackPage:
        parked = self._shows_parked_at_once and bool(self._report.parked)
        status = RollbackStatus.PARKED if parked else self._phase
        return RollbackPage(status, self._report, self._next_try)
