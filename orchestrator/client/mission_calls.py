"""The calls of a mission that succeeded, read from the raw histories of its runs."""

from datetime import datetime

from temporalio.api.enums.v1 import EventType

from orchestrator.adapters.temporal import raw_history
from orchestrator.adapters.temporal.rollbacks import started_with
from orchestrator.arazzo.workflow_export import MadeCall, export_document
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.connection import Connection
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput
from orchestrator.saga.outcome import ToolOutcome


class _Sent(Record):
    call_id: str
    leg_id: str = ""
    tool: str
    arguments: JsonObject
    cancels: JsonObject | None = None


async def mission_as_arazzo(
    connection: Connection, mission_id: str, catalog: Catalog
) -> JsonObject:
    """Return an Arazzo document that makes the calls of a mission again.

    Raises:
        UsageError: the mission has made no call that succeeded, or the catalog lacks a tool.
        MissionNotFound: the server does not know the mission.
        PayloadLocked: its history is encrypted with a key that is not here.
    """
    mission = await connection.mission(mission_id)
    calls = await mission_calls(connection, mission_id)
    by_id = connection.temporal.get_workflow_handle(mission_id, run_id=mission.run_id)
    with connection.explaining(mission_id):
        given = await started_with(connection.temporal, by_id, MissionInput)
    if not calls:
        raise UsageError(f"mission {mission_id} has made no call that succeeded")
    if missing := sorted({call.tool for call in calls} - catalog.tools.keys()):
        named = ", ".join(missing)
        raise UsageError(f"no document here has {named}; name the documents: --specs")
    request = given.request
    written = None if request.workflow is None else request.workflow.document
    return export_document(
        calls, catalog, goal=request.goal, inputs=request.inputs, written=written
    )


async def mission_calls(connection: Connection, mission_id: str) -> list[MadeCall]:
    """Return the calls that succeeded, in the order of their answers, without cancellations."""
    client = connection.temporal
    made: dict[str, tuple[datetime, MadeCall]] = {}
    with connection.explaining(mission_id):
        query = f"WorkflowId = '{mission_id}' AND WorkflowType = '{names.MISSION_WORKFLOW}'"
        runs = [run.run_id async for run in client.list_workflows(query)]
        for run_id in runs:
            sent: dict[int, _Sent] = {}
            async for event in raw_history.run_events(client, mission_id, run_id):
                if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
                    scheduled = event.activity_task_scheduled_event_attributes
                    if scheduled.activity_type.name == names.INVOKE_TOOL:
                        call = await raw_history.decoded(client, scheduled.input.payloads, _Sent)
                        if call is not None and call.cancels is None:
                            sent[event.event_id] = call
                elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                    completed = event.activity_task_completed_event_attributes
                    call = sent.get(completed.scheduled_event_id)
                    if call is None:
                        continue
                    payloads = completed.result.payloads
                    outcome = await raw_history.decoded(client, payloads, ToolOutcome)
                    if outcome is not None and outcome.kind == "succeeded":
                        answered = MadeCall(
                            leg_id=call.leg_id,
                            tool=call.tool,
                            arguments=call.arguments,
                            body=outcome.body,
                        )
                        made[call.call_id] = (raw_history.time_of(event), answered)
    return [one for _, one in sorted(made.values(), key=lambda held: held[0])]
