"""What a mission would do: asked of a worker, which plans as for a mission, and does nothing.

The one trace is a workflow of a type of its own in the server's history, with the request as a
mission's start would have it there: handles in the place of personal values.
"""

import contextlib
import hashlib
import uuid
from datetime import timedelta
from typing import Any, Final

from temporalio.client import WithStartWorkflowOperation, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.exceptions import ApplicationError, FailureError, TimeoutError
from temporalio.service import RPCError

from orchestrator.client.connection import Connection
from orchestrator.client.start import Starter
from orchestrator.core import errors
from orchestrator.core.shown_text import markdown_summary
from orchestrator.messages import names
from orchestrator.messages.mission import MissionRequest
from orchestrator.messages.plan_preview import PlanInput, PlanPreview, PlanTaken

_LONGEST: Final = timedelta(minutes=10)
"""How long it may take: a planner's time, twice over, and that of a worker who takes over."""

_TAKEN_UP: Final = timedelta(seconds=20)
"""How long a worker may take to begin with it: one that has died may just be replaced."""
_TOLD: Final = (ApplicationError, TimeoutError)


async def preview_plan(
    connection: Connection, starter: Starter, request: MissionRequest
) -> PlanPreview:
    """What a mission of this request would do. See `MissionClient.plan`."""
    request, brought = await starter.completed(request, pins=False)
    # The random part of an id that nobody gave is no part of what is asked.
    wanted = PlanInput(request=request.model_copy(update={"mission_id": None}))
    await connection.await_poller()
    workflow_id = names.plan_workflow_id(_digest(wanted.request))
    await _taken_up(connection, wanted, workflow_id)
    running = connection.temporal.get_workflow_handle(workflow_id, result_type=PlanPreview)
    with connection.explaining():
        try:
            preview: PlanPreview = await running.result()
        except WorkflowFailureError as failure:
            raise _refusal(failure, connection.task_queue) from failure
    return preview.model_copy(update={"undeclared_inputs": brought.undeclared})


async def _taken_up(connection: Connection, wanted: PlanInput, workflow_id: str) -> None:
    """Have a worker begin with it.

    Raises:
        NoAnswer: none did in time, and none will: nothing is left to begin with.
    """
    start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
        names.PLAN_WORKFLOW,
        wanted,
        id=workflow_id,
        task_queue=connection.task_queue,
        # Asked twice at once it is planned once; asked again later, planned anew.
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        execution_timeout=_LONGEST,
        static_summary=markdown_summary(wanted.request.goal),
    )
    try:
        await connection.start_with(
            start,
            names.TAKE_ON_UPDATE,
            wanted,
            PlanTaken,
            update_id=str(uuid.uuid4()),
            within=_TAKEN_UP,
        )
    except errors.NoAnswer:
        with contextlib.suppress(RPCError):
            running = connection.temporal.get_workflow_handle(workflow_id)
            await running.terminate("no worker has taken it up")
        raise


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
