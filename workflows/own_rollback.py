"""The rollback that a mission starts for itself: a workflow that outlives it, and its report."""

import contextlib
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from orchestrator.adapters.temporal.search_attributes import search_attributes
    from orchestrator.messages import names
    from orchestrator.messages.rollback import RollbackInput, RollbackReport, RollbackStatus
    from workflows import calls


class OwnRollback:
    """The rollback of one mission, as the mission sees it."""

    def __init__(self, mission_id: str, requester: str) -> None:
        """Nothing is started yet; `requester` is who asked for the mission."""
        self._mission_id = mission_id
        self._requester = requester
        self._told: RollbackReport | None = None
        self._news = 0

    def hear(self, report: RollbackReport) -> None:
        """Take a signal that says that it has settled; anybody can send one."""
        self._told = report  # believed only where a history of an older release says so
        self._news += 1

    async def run(self, reason: str, *, take_over: str | None) -> RollbackReport:
        """Start it, and wait until it has tried everything.

        Args:
            reason: why the mission was lost.
            take_over: the run of one from before us that stopped; a new run goes on from there.
        """
        rollback = RollbackInput(mission_id=self._mission_id, reason=reason, take_over=take_over)
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
        return await self._settled()

    async def _settled(self) -> RollbackReport:
        """What it came to, as it says itself: a signal only says that there is something new."""
        if not workflow.patched("read-the-rollback"):
            await workflow.wait_condition(lambda: self._told is not None)
            assert self._told is not None
            return self._told
        await workflow.wait_condition(self._has_news)
        pause = timedelta(seconds=1)
        while True:
            self._news = 0
            report = await calls.settled_rollback(self._mission_id)
            if report is not None:
                return report
            # Heard too early, or seen too late: more news, or a longer and longer pause, and again.
            with contextlib.suppress(TimeoutError):
                await workflow.wait_condition(self._has_news, timeout=pause)
            pause = min(2 * pause, timedelta(minutes=5))

    def _has_news(self) -> bool:
        return self._news > 0
