"""The record of a mission that is over, for whoever audits it: read from what the server recorded.

Personal values are handles in it, and cards and arguments masked, as everywhere outside the vault.
"""

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.temporal.leg_runs import is_leg_of
from orchestrator.adapters.temporal.rollbacks import begun_rollback, started_with
from orchestrator.client.connection import Connection
from orchestrator.client.snapshot import take_snapshot
from orchestrator.confirmation.mission_records import FORMAT
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages import names
from orchestrator.messages.mission import AcceptedMission, MissionInput
from orchestrator.messages.rollback import RollbackReport


class RecordedHistory(Record):
    """A history that the record was made of, by which the server's own can be compared with it."""

    workflow_id: str
    run_id: str
    workflow_type: str
    status: str
    events: int
    sha256: str


async def mission_record(connection: Connection, mission_id: str) -> JsonObject:
    """All that is on record of a mission and its rollback.

    Raises:
        MissionNotFound: the server does not know it, or no more.
        UsageError: it, or its rollback, still goes on.
    """
    from orchestrator.client.live.mission_events import mission_events  # loads the workflows

    mission = await connection.mission(mission_id)
    if mission.status is WorkflowExecutionStatus.RUNNING:
        raise UsageError(f"mission {mission_id} still runs; its record is made when it is over")
    with connection.explaining(mission_id):
        client = connection.temporal
        rollback = await begun_rollback(client, mission_id)
        by_id = client.get_workflow_handle(mission_id, run_id=mission.run_id)
        given = await started_with(client, by_id, MissionInput)
    accepted = await connection.query(mission_id, names.ACCEPTED_QUERY, AcceptedMission)
    result = await take_snapshot(connection, mission_id)
    report = None
    if rollback is not None:
        rollback_id = names.rollback_workflow_id(mission_id)
        report = await connection.query(rollback_id, names.REPORT_QUERY, RollbackReport)
    events = [event async for event in mission_events(connection, mission_id)]
    with connection.explaining(mission_id):
        runs = {one.run_id: one async for one in _runs(client, mission_id)}
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
        "histories": [history.model_dump(mode="json") for history in histories],
    }


async def _runs(client: Client, mission_id: str) -> AsyncIterator[WorkflowExecution]:
    """The runs of a mission's legs, and those of its rollback that were broken off."""
    query = f"{names.MISSION_ID_ATTRIBUTE} = '{mission_id}'"
    rollback_id = names.rollback_workflow_id(mission_id)
    async for run in client.list_workflows(query):
        is_rollback = run.workflow_type == names.ROLLBACK_WORKFLOW and run.id == rollback_id
        if is_rollback or is_leg_of(run, mission_id):
            yield run


async def _history(client: Client, run: WorkflowExecution) -> RecordedHistory:
    """One history, with a digest over its events as the server gives them, encrypted or not."""
    digest, events = hashlib.sha256(), 0
    handle = client.get_workflow_handle(run.id, run_id=run.run_id)
    async for event in handle.fetch_history_events():
        written = event.SerializeToString(deterministic=True)
        digest.update(len(written).to_bytes(8, "big") + written)
        events += 1
    return RecordedHistory(
        workflow_id=run.id,
        run_id=run.run_id,
        workflow_type=run.workflow_type,
        status=run.status.name.lower() if run.status is not None else "",
        events=events,
        sha256=digest.hexdigest(),
    )
