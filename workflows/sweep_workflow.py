"""Find missions that were stopped from outside with effects left, and roll these back.

Invariant: `swept_until` moves only past missions that were dealt with. A mission that could not be
examined is examined again by the next sweep. A long sweep continues as new.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import names
    from orchestrator.messages.rollback import (
        FindStrandedInput,
        FindStrandedOutput,
        MissionRef,
        Recovery,
        SweepInput,
        SweepReport,
    )
    from orchestrator.workflows import running
    from orchestrator.workflows.failures import first_words

_PAGES_PER_RUN = 10
_LAG = timedelta(hours=1)
"""The time by which an end may appear late in a search, with a wide margin."""
_SERVER_TIMEOUT = timedelta(seconds=30)


@workflow.defn(name=names.SWEEP_WORKFLOW)
class SweepWorkflow:
    """Examines all workflows that were stopped since the last completed sweep."""

    @workflow.run
    async def run(self, sweep: SweepInput) -> SweepReport:
        """Examine each mission once; return the rollbacks that were started."""
        if sweep.began_at is None:  # it starts where the schedule's last sweep stopped
            last = workflow.get_last_completion_result(SweepReport)
            since = last.swept_until - _LAG if last is not None and last.swept_until else None
            changes = {"began_at": workflow.now(), "closed_after": since}
            sweep = sweep.model_copy(update=changes)
        report = sweep.report
        for _ in range(_PAGES_PER_RUN):
            page = await _found(sweep)
            for mission_id in page.mission_ids:
                recovery = await _recover(mission_id)
                noted: dict[str, object] = {"looked_at": report.looked_at + 1}
                if recovery.done in ("started", "restarted"):
                    noted["started"] = (*report.started, recovery.mission_id)
                if recovery.done == "unreadable":
                    noted["unreadable"] = (*report.unreadable, recovery)
                report = report.model_copy(update=noted)
            sweep = sweep.model_copy(update={"page_token": page.page_token, "report": report})
            if not page.page_token:
                until = sweep.began_at
                if report.unreadable:
                    until = sweep.closed_after + _LAG if sweep.closed_after is not None else None
                return report.model_copy(update={"swept_until": until})
        workflow.continue_as_new(sweep)


async def _found(sweep: SweepInput) -> FindStrandedOutput:
    """Return one page of missions that were stopped from outside, or whose rollback was lost."""
    return await running.run(
        names.FIND_STRANDED,
        FindStrandedInput(closed_after=sweep.closed_after, page_token=sweep.page_token),
        result_type=FindStrandedOutput,
        summary="find what was stopped",
        start_to_close_timeout=_SERVER_TIMEOUT,
        retry_policy=running.RETRY,
    )


async def _recover(mission_id: str) -> Recovery:
    """Start the rollback of one mission that was stopped, if it needs one."""
    try:
        return await running.run(
            names.RECOVER_MISSION,
            MissionRef(mission_id=mission_id),
            result_type=Recovery,
            summary=markdown_summary(f"recover {mission_id}"),
            start_to_close_timeout=_SERVER_TIMEOUT,
            heartbeat_timeout=running.HEARTBEAT,
            retry_policy=RetryPolicy(maximum_attempts=3),
        )
    except ActivityError as error:
        return Recovery(mission_id=mission_id, done="unreadable", why=first_words(error))
