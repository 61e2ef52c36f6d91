"""Runs of legs on the server, and whose they are: the server alone says who a run's parent is.

A run that somebody started under the id of a leg hides the leg's own run from whoever asks for the
newest one; it is looked up where the mission's history, or a search, names it.
"""

from collections.abc import AsyncIterator

from temporalio.api.history.v1 import WorkflowExecutionStartedEventAttributes
from temporalio.client import (
    Client,
    WorkflowExecution,
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowHistoryEventFilterType,
)
from temporalio.service import RPCError, RPCStatusCode

from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.messages import names
from orchestrator.messages.leg import LegInput


def is_leg_of(run: WorkflowExecution, mission_id: str) -> bool:
    """Whether a run is a leg that a workflow of that id started."""
    return (
        run.workflow_type == names.LEG_WORKFLOW
        and run.parent_id == mission_id
        and names.mission_of(run.id) == mission_id
    )


async def own_leg_run(
    client: Client, mission_id: str, leg_id: str
) -> WorkflowExecutionDescription | None:
    """The last run of a leg that its mission started; None when it started none.

    For a mission that the server still knows.
    """
    workflow_id = names.leg_workflow_id(mission_id, leg_id)
    newest = await described(client.get_workflow_handle(workflow_id))
    if newest is None or is_leg_of(newest, mission_id):
        return newest
    own = None
    async for event in client.get_workflow_handle(mission_id).fetch_history_events():
        started = event.child_workflow_execution_started_event_attributes.workflow_execution
        if started.workflow_id == workflow_id:
            own = started.run_id
    return None if own is None else await _last_of(client, workflow_id, own)


async def found_leg_runs(
    client: Client, mission_id: str
) -> AsyncIterator[WorkflowExecutionDescription]:
    """The last run of each leg that a search finds, of a mission that the server may have lost.

    What has just been started or has just ended shows in a search a moment later.
    """
    query = (
        f"WorkflowType = '{names.LEG_WORKFLOW}' AND {names.MISSION_ID_ATTRIBUTE} = '{mission_id}' "
        "AND ExecutionStatus != 'ContinuedAsNew'"
    )
    async for found in client.list_workflows(query):
        run = await described(client.get_workflow_handle(found.id, run_id=found.run_id))
        if run is not None and is_leg_of(run, mission_id):
            yield run


async def given_to(client: Client, run: WorkflowExecution) -> LegInput | None:
    """What a leg's first run was started with; None when the server no longer keeps that."""
    started = await _started(client, run.id, run.run_id)
    if started is None:
        return None
    first = started.first_execution_run_id
    if first and first != run.run_id:
        started = await _started(client, run.id, first)
        if started is None:
            return None
    given: list[LegInput] = await client.data_converter.decode(started.input.payloads, [LegInput])
    return given[0]


async def _started(
    client: Client, workflow_id: str, run_id: str
) -> WorkflowExecutionStartedEventAttributes | None:
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    try:
        async for event in handle.fetch_history_events(page_size=1):
            return event.workflow_execution_started_event_attributes
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
    return None


async def _last_of(
    client: Client, workflow_id: str, run_id: str
) -> WorkflowExecutionDescription | None:
    """The run in which the one that began with this run goes on, or ended."""
    while True:
        handle = client.get_workflow_handle(workflow_id, run_id=run_id)
        run = await described(handle)
        if run is None or run.status is not WorkflowExecutionStatus.CONTINUED_AS_NEW:
            return run
        async for event in handle.fetch_history_events(
            event_filter_type=WorkflowHistoryEventFilterType.CLOSE_EVENT
        ):
            run_id = event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
