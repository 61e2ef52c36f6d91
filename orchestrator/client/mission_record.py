"""The audit record of a finished mission, read from its recorded history.

The record holds handles in place of personal values, and masked cards and arguments, as everywhere
outside the vault.
"""

import hashlib
from datetime import UTC, datetime
from typing import Final

from pydantic import Field
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.temporal.rollbacks import begun_rollback, started_with
from orchestrator.client.connection import Connection
from orchestrator.client.mission_state import find_report, read_accepted, read_mission
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.json_schema.canonical import canonical_digest
from orchestrator.messages import names
from orchestrator.messages.mission import MissionInput

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
