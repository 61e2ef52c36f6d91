"""Start a mission's own rollback, a workflow that outlives it, and read its report."""

import contextlib
from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from orchestrator.adapters.temporal.search_attributes import search_attributes
    from orchestrator.messages import names
    from orchestrator.messages.rollback import RollbackInput, RollbackReport, RollbackStatus
    from orchestrator.saga.ledger import Ledger
    from orchestrator.workflows import calls, ui

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

    async def run_abandoned(self, ledger: Ledger) -> RollbackReport:
        """Roll back calls that a reset made the mission forget, and nothing else."""
        reason = "a reset abandoned the branch that had made it"
        return await self.run(reason, ledger, abandoned=True)

    async def run(self, reason: str, ledger: Ledger, *, abandoned: bool = False) -> RollbackReport:
        """Start the rollback, and wait until it has tried everything.

        A rollback that somebody else started earlier counts as well, unless the server refuses it
        because it may have started while the mission still ran.

        Args:
            reason: why the mission was lost.
            ledger: the merged ledger of its legs.
            abandoned: True if that is all, and the mission's other effects stand.
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
            is_own = await self._start(rollback)
            report = await self._settled(is_own=is_own)
            if report is not None:
                return report
            await workflow.sleep(pause, summary=ui.UNTIL_ROLLBACK)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _start(self, rollback: RollbackInput) -> bool:
        """Start the rollback; return False if one that somebody else started is running."""
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
            workflow.logger.info("somebody started the rollback before us; its report will come")
            return False
        return True

    async def _settled(self, *, is_own: bool) -> RollbackReport | None:
        """Return the rollback's own report; None if it was refused and did nothing.

        A signal only means that there is something to read. A refused rollback sends none, so a
        rollback that somebody else started is read without waiting for a signal.
        """
        if is_own:
            await workflow.wait_condition(self._has_news)
        pause = _FIRST_PAUSE
        while True:
            self._news = 0
            read = await calls.read_rollback(self._mission_id)
            if read.settled is not None or read.refused:
                return read.settled
            # The signal came too early, or the read too late: wait for another signal or a growing
            # pause.
            with contextlib.suppress(TimeoutError):
                await workflow.wait_condition(self._has_news, timeout=pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _has_news(self) -> bool:
        return self._news > 0
