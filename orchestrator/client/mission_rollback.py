"""Rolling back one mission that is over, and reading how far its rollback has come."""

import asyncio
from datetime import UTC, datetime

from pydantic import Field
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from orchestrator.adapters.temporal.rollbacks import (
    BROKEN_OFF,
    describe_rollback,
    failure_type,
    start_rollback,
    was_refused,
)
from orchestrator.client.connection import Connection, until_answered
from orchestrator.client.snapshot import take_snapshot
from orchestrator.confirmation.policy import approver_problem
from orchestrator.core.errors import MissionNotFound, UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages import names
from orchestrator.messages.mission import MissionStatus
from orchestrator.messages.rollback import RollbackReport
from orchestrator.messages.standing import LEAVES_STANDING
from orchestrator.saga.ledger import Obligation


class RollbackPreview(Record):
    """What a rollback of a mission would take back, newest first."""

    mission_id: str
    status: MissionStatus
    obligations: tuple[Obligation, ...]
    references: dict[str, JsonObject] = Field(
        description="identifiers in the providers' answers, by obligation"
    )
    is_begun: bool = Field(description="its rollback was started before, whoever did it")

    @property
    def is_a_decision(self) -> bool:
        """Whether somebody must decide: what was ordered and approved is meant to stand."""
        stands = self.status in LEAVES_STANDING
        return stands and not self.is_begun and bool(self.obligations)


async def preview_rollback(connection: Connection, mission_id: str) -> RollbackPreview:
    """What a rollback would take back now; nothing is started.

    Raises:
        UsageError: the mission still runs.
    """
    before = await _rollback_before(connection, mission_id)
    result = await take_snapshot(connection, mission_id)
    return RollbackPreview(
        mission_id=mission_id,
        status=result.status,
        obligations=result.ledger.compensation_order(),
        references={r.call_id: r.reference for r in result.receipts},
        is_begun=before is not None,
    )


async def roll_back(
    connection: Connection, mission_id: str, *, reason: str, approver: str | None = None
) -> RollbackReport:
    """Start, join or take up a mission's rollback, and wait until everything was tried.

    Raises:
        UsageError: the mission still runs; or what it did is meant to stand, and nobody is named
            who decided.
    """
    problem = None if approver is None else approver_problem(approver, ())
    if problem is not None:
        raise UsageError(f"this is nobody's name: {problem}")
    before = await _rollback_before(connection, mission_id)
    if before is None and approver is None:
        ended = await _end_that_stands(connection, mission_id)
        if ended is not None:
            raise UsageError(
                f"mission {mission_id} {ended}, so rolling it back is a decision; say whose: "
                "approver='ann@example.com'"
            )
    with connection.explaining(mission_id):
        begun = await start_rollback(
            connection.temporal,
            mission_id,
            reason=reason,
            task_queue=connection.task_queue,
            approver=approver,
            asked_at=datetime.now(UTC),
        )
    if begun == "completed":
        return await read_report(connection, mission_id)
    return await settled_report(connection, mission_id)


async def _rollback_before(
    connection: Connection, mission_id: str
) -> WorkflowExecutionDescription | None:
    """The newest rollback of a mission that may be rolled back; one that was refused is none.

    Raises:
        UsageError: the mission still runs.
    """
    with connection.explaining(mission_id):
        newest = await describe_rollback(connection.temporal, mission_id)
        refused = newest is not None and await was_refused(connection.temporal, newest)
    before = None if refused else newest
    broken_off = before is not None and before.status in BROKEN_OFF
    # A mission that was deleted is over, where there is a rollback of it.
    missing = None if newest is None else False
    if not broken_off and await connection.is_running(mission_id, missing=missing):
        raise UsageError(
            f"mission {mission_id} still runs; cancel it and it undoes itself: "
            f"orchestrator mission cancel {mission_id}"
        )
    return before


async def _end_that_stands(connection: Connection, mission_id: str) -> str | None:
    """How a mission ended whose effects are meant to stand, as the server knows it; else None."""
    with connection.explaining(mission_id):
        mission = await connection.mission(mission_id)
        if mission.status is WorkflowExecutionStatus.COMPLETED:
            return "succeeded"
        if mission.status is not WorkflowExecutionStatus.FAILED:
            return None
        failed_with = await failure_type(connection.temporal, mission)
    is_incomplete = failed_with == names.MISSION_INCOMPLETE
    return "did a part of what was asked for, which stands" if is_incomplete else None


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
