"""Start a mission's own rollback, a workflow that outlives it, and read its report."""

import contextlib
from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from orchestrator.adapters.temporal.search_attributes import search_attributes
    from orchestrator.messages import names
    from orchestrator.messages.rollback import (
        ConcludeInput,
        MissionRef,
        ReadRollbackOutput,
        RollbackInput,
        RollbackReport,
        RollbackStatus,
    )
    from orchestrator.saga.ledger import Ledger
    from orchestrator.workflows import running, ui
    from orchestrator.workflows.failures import first_words

_FIRST_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(minutes=5)


class OwnRollback:
    """The rollback of one mission, from the mission's point of view."""

    def __init__(self, mission_id: str, requester: str, *, workflow_id: str = "") -> None:
        """Prepare the rollback of a mission, or of a saga in the workflow of this id."""
        self._mission_id = mission_id
        self._requester = requester
        self._workflow_id = workflow_id
        self._news = 0

    def hear(self, report: RollbackReport) -> None:
        """Count a signal that the rollback has settled.

        Anybody can send one, so the mission reads the report itself.
        """
        self._news += 1

    async def let_stand(self, ledger: Ledger) -> None:
        """Note that the effects stand; roll back those that a reset made the mission forget."""
        abandoned = await self._conclude(ledger)
        if abandoned.live():
            reason = "a reset abandoned the branch that had made it"
            await self._run(reason, abandoned, abandoned=True)

    async def run(self, reason: str, ledger: Ledger) -> Ledger:
        """Roll back all effects, and those that a reset made the mission forget.

        Returns:
            The ledger after every effect was tried; the rest is parked.
        """
        if not ledger.live():
            ledger = Ledger.united([ledger, await self._conclude(ledger)])
        if not ledger.live():
            return ledger
        return (await self._run(reason, ledger)).ledger

    async def _conclude(self, ledger: Ledger) -> Ledger:
        """Note in the store that a mission's effects stand; return those it forgot in a reset.

        A sweep finds by itself that a mission has ended; only this note keeps it from rolling back
        a saga, so it is made as often as it takes.
        """
        wanted = ConcludeInput(
            mission_id=self._mission_id,
            origin=workflow.info().first_execution_run_id,
            is_saga=bool(self._workflow_id),
            known=ledger.call_ids,
        )
        limits = running.Limits(**running.LOCAL)
        if wanted.is_saga:
            limits["retry_policy"] = running.AS_OFTEN_AS_IT_TAKES
        try:
            return await running.run_locally(
                names.CONCLUDE_MISSION,
                wanted,
                result_type=Ledger,
                summary="note that what it made stands",
                **limits,
            )
        except ActivityError as error:
            if wanted.is_saga:
                raise
            workflow.logger.warning("that the mission ended is not noted: %s", first_words(error))
            return Ledger()

    async def _run(self, reason: str, ledger: Ledger, *, abandoned: bool = False) -> RollbackReport:
        """Start the rollback, and wait until it has tried everything.

        A rollback that somebody else started earlier counts as well, unless the server refuses it
        because it may have started while the mission still ran.
        """
        rollback = RollbackInput(
            mission_id=self._mission_id,
            workflow_id=self._workflow_id,
            reason=reason,
            ledger=ledger,
            abandoned=abandoned,
        )
        pause = _FIRST_PAUSE
        while True:
            is_own = True
            try:
                await workflow.start_child_workflow(
                    names.ROLLBACK_WORKFLOW,
                    rollback,
                    id=names.rollback_workflow_id(self._mission_id),
                    parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                    cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
                    search_attributes=search_attributes(
                        self._mission_id, RollbackStatus.COLLECTING, requester=self._requester
                    ),
                    static_summary=rollback.summary,
                )
            except WorkflowAlreadyStartedError:
                is_own = False
                workflow.logger.info(
                    "somebody started the rollback before us; its report will come"
                )
            report = await self._settled(is_own=is_own)
            if report is not None and (is_own or _covers(report.ledger, ledger)):
                return report
            await workflow.sleep(pause, summary=ui.UNTIL_ROLLBACK)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _settled(self, *, is_own: bool) -> RollbackReport | None:
        """Return the rollback's own report; None if it was refused and did nothing.

        A refused rollback sends no signal, so another's is read without waiting for one.
        """
        if is_own:
            await workflow.wait_condition(self._has_news)
        pause = _FIRST_PAUSE
        while True:
            self._news = 0
            read = await running.run(
                names.READ_ROLLBACK,
                MissionRef(mission_id=self._mission_id),
                result_type=ReadRollbackOutput,
                summary="read what the rollback came to",
                start_to_close_timeout=timedelta(seconds=30),
                heartbeat_timeout=running.HEARTBEAT,
                retry_policy=running.AS_OFTEN_AS_IT_TAKES,
            )
            if read.settled is not None or read.refused:
                return read.settled
            # The signal came too early, or the read too late: wait for another signal or a growing
            # pause.
            with contextlib.suppress(TimeoutError):
                await workflow.wait_condition(self._has_news, timeout=pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _has_news(self) -> bool:
        return self._news > 0


def _covers(settled: Ledger, wanted: Ledger) -> bool:
    """Return True if a rollback knew each of these obligations.

    One of an earlier mission of the same id, or of the branch before a reset, did not: another
    rollback is started once that one is over.
    """
    known = {one.key for one in settled.obligations}
    return all(one.key in known for one in wanted.live())
