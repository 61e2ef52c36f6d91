"""Workflows whose tasks fail again and again: nothing reaches them, however many workers there are.

A message that is too large is one reason; code that a history does not fit is another.
"""

from typing import Final

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.api.failure.v1 import Failure
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.exceptions import FailureError

from orchestrator.core.errors import WorkflowStuck
from orchestrator.core.payload_errors import PayloadLocked, PayloadLost

_ATTEMPTS: Final = 2
"""A task that is at its third failed twice for more than a moment."""
_LOOKED_THROUGH: Final = 20
"""Events from the end: the failure is the last but for what came in since."""
_LONGEST: Final = 300
_CAUSE: Final = "WORKFLOW_TASK_FAILED_CAUSE_"
_REMEDIES: Final = {
    PayloadLocked.__name__: "Give its workers that key, and it goes on by itself",
    PayloadLost.__name__: "Give its workers that store, and it goes on by itself",
}
"""By the type of a failure: what its workers lack, which no other code of theirs would bring."""
_UNREAD: Final = "Ask again with that key to know why it cannot go on"


async def stuck(client: Client, found: WorkflowExecutionDescription) -> WorkflowStuck | None:
    """Why a workflow cannot go on; None while its tasks do not fail."""
    attempts = found.raw_description.pending_workflow_task.attempt
    if attempts <= _ATTEMPTS:
        return None
    failed = await _last_failure(client, found)
    return None if failed is None else WorkflowStuck(found.id, attempts, *failed)


async def _last_failure(
    client: Client, found: WorkflowExecutionDescription
) -> tuple[str, str] | None:
    """The cause and the words of the failure, and what helps where that is known.

    None when the task only was not answered in time.
    """
    answer = await client.workflow_service.get_workflow_execution_history_reverse(
        GetWorkflowExecutionHistoryReverseRequest(
            namespace=client.namespace,
            execution=WorkflowExecution(workflow_id=found.id, run_id=found.run_id),
            maximum_page_size=_LOOKED_THROUGH,
        )
    )
    for event in answer.history.events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            failed = event.workflow_task_failed_event_attributes
            cause = WorkflowTaskFailedCause.Name(failed.cause).removeprefix(_CAUSE)
            said, remedy = await _words_of(client, failed.failure)
            words = " ".join(said.split())[:_LONGEST]
            return ": ".join(filter(None, (cause.lower().replace("_", " "), words))), remedy
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            return None
    return None


async def _words_of(client: Client, failure: Failure) -> tuple[str, str]:
    """What a failure says, where it can be read here, and what helps."""
    read = Failure()
    read.CopyFrom(failure)  # to decode it changes it
    try:
        error = await client.data_converter.decode_failure(read)
    except PayloadLocked as locked:
        return f"its words cannot be read: {locked}", _UNREAD
    said = error.message if isinstance(error, FailureError) else str(error)
    return said, _REMEDIES.get(failure.application_failure_info.type, "")
