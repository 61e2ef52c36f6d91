"""Start the mission that is due, and see its end, so that a schedule knows whether one runs.

The mission is abandoned to itself: whatever becomes of this run, it goes on. Its id is that of the
schedule with the time at which it was due, so that it is started once.
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import (
    ApplicationError,
    CancelledError,
    ChildWorkflowError,
    WorkflowAlreadyStartedError,
)

with workflow.unsafe.imports_passed_through():
    from orchestrator.adapters.temporal.mission_start import mission_start
    from orchestrator.core.errors import MissionMisnamed
    from orchestrator.messages import names
    from orchestrator.messages.mission import MissionInput, MissionResult, MissionStatus
    from orchestrator.messages.schedules import ScheduledEnd
    from workflows.failures import first_words, refuse

TAKEN = "taken"
"""Its id is that of a mission that was there before."""


@workflow.defn(name=names.SCHEDULED_MISSION_WORKFLOW)
class ScheduledMissionWorkflow:
    """One time at which a schedule starts a mission."""

    @workflow.run
    async def run(self, due: MissionInput) -> ScheduledEnd:
        """How the mission ended."""
        own_id = workflow.info().workflow_id
        mission_id = names.due_mission_id(own_id)
        if mission_id is None:
            raise refuse(MissionMisnamed(own_id))
        request = due.request.model_copy(update={"mission_id": mission_id})
        try:
            mission = await workflow.start_child_workflow(
                names.MISSION_WORKFLOW,
                MissionInput(request=request),
                result_type=MissionResult,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                # Whoever cancels this run has cancelled no mission: `mission cancel` does that.
                cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
                **mission_start(request),
            )
        except WorkflowAlreadyStartedError:
            return ScheduledEnd(mission_id=mission_id, status=TAKEN)
        try:
            result = await mission
        except ChildWorkflowError as ended:
            if workflow.cancellation_reason() is not None:
                raise asyncio.CancelledError from ended  # of this run: the mission goes on
            return _ended(mission_id, ended)
        return ScheduledEnd(mission_id=mission_id, status=result.status)


def _ended(mission_id: str, ended: ChildWorkflowError) -> ScheduledEnd:
    """The end of a mission that did not succeed; its rollback may still go on."""
    cause = ended.cause
    if isinstance(cause, CancelledError):
        return ScheduledEnd(mission_id=mission_id, status=MissionStatus.CANCELLED)
    if not isinstance(cause, ApplicationError):
        return ScheduledEnd(
            mission_id=mission_id, status=MissionStatus.TERMINATED, error=first_words(ended)
        )
    result = cause.details[0] if cause.details else None  # as the mission concluded, if it did
    status = result.get("status") if isinstance(result, dict) else None
    return ScheduledEnd(
        mission_id=mission_id, status=status or MissionStatus.FAILED, error=cause.message
    )
