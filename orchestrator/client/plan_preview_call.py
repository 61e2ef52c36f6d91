"""What a mission would do: asked of a worker, which plans as for a mission, and does nothing.

The one trace is a workflow of a type of its own in the server's history, with the request as a
mission's start would have it there: handles in the place of personal values.
"""

import hashlib
from datetime import timedelta
from typing import Final

from temporalio.client import WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, FailureError, TimeoutError

from orchestrator.client.connection import Connection
from orchestrator.client.start import Starter
from orchestrator.core import errors
from orchestrator.core.shown_text import markdown_summary
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.plan_preview import PlanInput, PlanPreview

_LONGEST: Final = timedelta(minutes=10)
"""How long it may take: a planner's time, twice over, and that of a worker who takes over."""

_TOLD: Final = (ApplicationError, TimeoutError)


async def preview_plan(
    connection: Connection, starter: Starter, request: MissionRequest
) -> PlanPreview:
    """What a mission of this request would do. See `MissionClient.plan`."""
    request, brought = await starter.completed(request, pins=False)
    # The random part of an id that nobody gave is no part of what is asked.
    request = request.model_copy(update={"mission_id": None})
    await connection.await_poller()
    with connection.explaining():
        running = await connection.temporal.start_workflow(
            names.PLAN_WORKFLOW,
            PlanInput(request=request),
            id=names.plan_workflow_id(_digest(request)),
            task_queue=connection.task_queue,
            # Asked twice at once it is planned once; asked again later, planned anew.
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            execution_timeout=_LONGEST,
            result_type=PlanPreview,
            static_summary=markdown_summary(request.goal),
        )
        try:
            preview: PlanPreview = await running.result()
        except WorkflowFailureError as failure:
            raise _refusal(failure, connection.task_queue) from failure
    return preview.model_copy(update={"undeclared_inputs": brought.undeclared})


def _digest(request: MissionRequest) -> str:
    return hashlib.sha256(request.model_dump_json().encode()).hexdigest()


def _refusal(failure: WorkflowFailureError, task_queue: str) -> errors.OrchestratorError:
    """Why there is no plan: as the worker says it, or that none answered."""
    cause: BaseException | None = failure.cause
    while isinstance(cause, FailureError) and not isinstance(
        cause, ApplicationError | TimeoutError
    ):
        cause = cause.cause
    if isinstance(cause, ApplicationError):
        return errors.PlanRefused(cause.message)
    if isinstance(cause, TimeoutError):
        return errors.NoAnswer(task_queue, _LONGEST.total_seconds())
    return errors.PlanRefused(str(cause or failure))
