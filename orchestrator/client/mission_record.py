"""The audit record of a finished mission, and its calls as an Arazzo document, from its histories.

The record holds handles in place of personal values, and masked cards and arguments, as everywhere
outside the vault.
"""

import hashlib
from datetime import UTC, datetime
from typing import Final

from pydantic import Field
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.temporal import raw_history
from orchestrator.adapters.temporal.rollbacks import begun_rollback, started_with
from orchestrator.arazzo.workflow_export import MadeCall, export_document
from orchestrator.catalog.catalog import Catalog
from orchestrator.client.connection import Connection
from orchestrator.client.mission_state import find_report, read_accepted, read_mission
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.canonical import canonical_digest
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput
from orchestrator.saga.outcome import ToolOutcome

FORMAT: Final = "orchestrator-mission-record/1"


class SealedRecord(Record):
    """A mission's record, as it is written to a file."""

    record: JsonObject
    sha256: str = Field(description="hex digest of the record's canonical JSON (RFC 8785)")


def seal(record: JsonObject) -> SealedRecord:
    """Return the record with its digest."""
    return SealedRecord(record=record, sha256=canonical_digest(record))


async def mission_record(connection: Connection, mission_id: str) -> JsonObject:
    """Return the record of a mission and its rollback. See `MissionHandle.record`."""
    from orchestrator.client.mission_events import mission_events  # loads the workflows

    mission = await connection.mission(mission_id)
    if mission.status is WorkflowExecutionStatus.RUNNING:
        raise UsageError(
            f"mission {mission_id} still runs; wait with: orchestrator mission watch {mission_id}"
        )
    with connection.explaining(mission_id):
        client = connection.temporal
        rollback = await begun_rollback(client, mission_id)
        by_id = client.get_workflow_handle(mission_id, run_id=mission.run_id)
        given = await started_with(client, by_id, MissionInput)
    accepted = await read_accepted(connection, mission_id)
    result = await read_mission(connection, mission_id)
    report = None if rollback is None else await find_report(connection, mission_id)
    events = [event async for event in mission_events(connection, mission_id)]
    with connection.explaining(mission_id):
        kinds = {mission_id: names.MISSION_WORKFLOW}
        kinds[names.rollback_workflow_id(mission_id)] = names.ROLLBACK_WORKFLOW
        query = f"{names.MISSION_ID_ATTRIBUTE} = '{mission_id}'"
        runs = {
            one.run_id: one
            async for one in client.list_workflows(query)
            if kinds.get(one.id) == one.workflow_type
        }
        runs[mission.run_id] = mission
        if rollback is not None:
            runs[rollback.run_id] = rollback
        ordered = sorted(runs.values(), key=lambda one: (one.start_time, one.id))
        histories = [await _history(client, run) for run in ordered]
    return {
        "format": FORMAT,
        "mission_id": mission_id,
        "exported_at": datetime.now(UTC).isoformat(),
        "namespace": client.namespace,
        "began_at": mission.start_time.isoformat(),
        "ended_at": None if mission.close_time is None else mission.close_time.isoformat(),
        "request": given.request.model_dump(mode="json"),
        "plan": accepted.model_dump(mode="json"),
        "result": result.model_dump(mode="json"),
        "rollback": None if report is None else report.model_dump(mode="json"),
        "events": [event.model_dump(mode="json", exclude={"cursor"}) for event in events],
        "histories": [*histories],
    }


async def _history(client: Client, run: WorkflowExecution) -> JsonObject:
    """Return one history that the record is based on, with a digest of its events as sent."""
    digest, events = hashlib.sha256(), 0
    handle = client.get_workflow_handle(run.id, run_id=run.run_id)
    async for event in handle.fetch_history_events():
        written = event.SerializeToString(deterministic=True)
        digest.update(len(written).to_bytes(8, "big") + written)
        events += 1
    return {
        "workflow_id": run.id,
        "run_id": run.run_id,
        "workflow_type": run.workflow_type,
        "status": run.status.name.lower() if run.status is not None else "",
        "events": events,
        "sha256": digest.hexdigest(),
    }


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
