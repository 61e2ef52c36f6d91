"""Rolling back one mission that is over, and reading how far its rollback has come."""

import asyncio

from orchestrator.adapters.temporal.rollbacks import BROKEN_OFF, describe_rollback, start_rollback
from orchestrator.client.connection import Connection, until_answered
from orchestrator.core.errors import MissionNotFound, UsageError
from orchestrator.messages import names
from orchestrator.messages.rollback import RollbackReport


async def roll_back(connection: Connection, mission_id: str, *, reason: str) -> RollbackReport:
    """Start, join or take up a mission's rollback, and wait until everything was tried.

    Raises:
        UsageError: the mission still runs.
    """
    with connection.explaining(mission_id):
        before = await describe_rollback(connection.temporal, mission_id)
    broken_off = before is not None and before.status in BROKEN_OFF
    if not broken_off and await connection.is_running(mission_id):
        raise UsageError(
            f"mission {mission_id} still runs; cancel it and it undoes itself: "
            f"orchestrator mission cancel {mission_id}"
        )
    with connection.explaining(mission_id):
        begun = await start_rollback(
            connection.temporal, mission_id, reason=reason, task_queue=connection.task_queue
        )
    if begun == "completed":
        return await read_report(connection, mission_id)
    return await settled_report(connection, mission_id)


async def read_report(connection: Connection, mission_id: str) -> RollbackReport:
    """Where the rollback of a mission stands.

    Raises:
        UsageError: nothing of it was rolled back, or there is no such mission.
    """
    rollback_id = names.rollback_workflow_id(mission_id)
    try:
        return await connection.query(rollback_id, names.REPORT_QUERY, RollbackReport)
    except MissionNotFound:
        raise UsageError(
            f"no rollback of {mission_id!r}; start one with: "
            f"orchestrator mission rollback {mission_id}"
        ) from None


async def settled_report(connection: Connection, mission_id: str) -> RollbackReport:
    """The report once everything was tried; polled, for a parked rollback stays open."""
    rollback_id = names.rollback_workflow_id(mission_id)
    while True:
        # Asked first: the report of what is over by now is final when it is read.
        running = await until_answered(lambda: connection.is_running(rollback_id))
        report = await until_answered(lambda: read_report(connection, mission_id))
        if report.settled or not running:
            return report
        await asyncio.sleep(0.3)
