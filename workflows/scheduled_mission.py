"""Start the mission that is due and wait for its end, so that the schedule knows if one runs.

The mission is started with ABANDON: it continues independently of this run. Its id is the
schedule's id with the time at which it was due, so that it is started once.
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
    from orchestrator.messages import names
    from orchestrator.messages.mission import MissionInput, MissionResult, MissionStatus
    from orchestrator.messages.schedules import ScheduledEnd
    from orchestrator.workflows.failures import first_words, mission_misnamed, refuse

TAKEN = "taken"
"""The status if an earlier mission has the same id."""


@workflow.defn(name=names.SCHEDULED_MISSION_WORKFLOW)
class ScheduledMissionWorkflow:
    """Starts the mission for one time of a schedule."""

    @workflow.run
    async def run(self, due: MissionInput) -> ScheduledEnd:
        """Return how the mission ended."""
        own_id = workflow.info().workflow_id
        mission_id = names.due_mission_id(own_id)
        if mission_id is None:
            raise refuse(mission_misnamed(own_id))
        request = due.request.model_copy(update={"mission_id": mission_id})
        try:
            mission = await workflow.start_child_workflow(
                names.MISSION_WORKFLOW,
                MissionInput(request=request),
                result_type=MissionResult,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                # Cancelling this run cancels no mission: `mission cancel` does that.
                cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
                **mission_start(request),
            )
        except WorkflowAlreadyStartedError:
            return ScheduledEnd(mission_id=mission_id, status=TAKEN)
        try:
            result = await mission
        except ChildWorkflowError as ended:
            if workflow.cancellation_reason() is not None:
                raise asyncio.CancelledError from ended  # of this run; the mission continues
            return _ended(mission_id, ended)
        return ScheduledEnd(mission_id=mission_id, status=result.status)


def _ended(mission_id: str, ended: ChildWorkflowError) -> ScheduledEnd:
    """Return the end of a mission that did not succeed; its rollback may still be running."""
    cause = ended.cause
    if isinstance(cause, CancelledError):
        return ScheduledEnd(mission_id=mission_id, status=MissionStatus.CANCELLED)
    if not isinstance(cause, ApplicationError):
        return ScheduledEnd(
            mission_id=mission_id, status=MissionStatus.TERMINATED, error=first_words(ended)
        )
    result = cause.details[0] if cause.details else None  # the mission's result, if any
    status = result.get("status") if isinstance(result, dict) else None
    return ScheduledEnd(
        mission_id=mission_id, status=status or MissionStatus.FAILED, error=cause.message
    )
