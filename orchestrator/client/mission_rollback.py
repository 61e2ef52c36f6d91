"""Rollbacks for clients: start, preview, list parked obligations and resolve them."""

import asyncio
from datetime import UTC, datetime
from typing import Final

from pydantic import Field
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus

from orchestrator.adapters.temporal.rollbacks import (
    BROKEN_OFF,
    describe_rollback,
    failure_type,
    is_of_mission,
    start_rollback,
)
from orchestrator.adapters.temporal.search_attributes import MODE, STATUS
from orchestrator.client.connection import Connection, check_size, until_answered
from orchestrator.client.mission_state import find_report, read_mission, read_report
from orchestrator.confirmation.policy import approver_problem
from orchestrator.core.errors import CardUnknown, OrchestratorError, QuestionError, UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages import names
from orchestrator.messages.mission import LEAVES_STANDING, MissionStatus
from orchestrator.messages.observed import OBSERVED, SEARCHED_AS
from orchestrator.messages.rollback import (
    ParkedRollback,
    ResolveInput,
    RollbackInput,
    RollbackReport,
    parked_of,
)
from orchestrator.saga.obligation import Obligation

_LOOK_S: Final = 0.3


class RollbackPreview(Record):
    """The obligations that a rollback of a mission would cancel, newest first."""

    mission_id: str
    status: MissionStatus
    obligations: tuple[Obligation, ...]
    references: dict[str, JsonObject] = Field(
        description="identifiers in the providers' answers, by obligation"
    )
    is_begun: bool = Field(description="True if its rollback has started")
    observed: bool = Field(default=False, description="True if its calls were not guarded")

    @property
    def is_a_decision(self) -> bool:
        """True if a person must decide, since approved effects are meant to stand."""
        stands = self.status in LEAVES_STANDING or self.observed
        return stands and not self.is_begun and bool(self.obligations)


async def preview_rollback(connection: Connection, mission_id: str) -> RollbackPreview:
    """Return the obligations that a rollback would cancel now, without starting one."""
    before = await _rollback_before(connection, mission_id)
    result = await read_mission(connection, mission_id)
    return RollbackPreview(
        mission_id=mission_id,
        status=result.status,
        obligations=result.ledger.compensation_order(),
        references={r.call_id: r.reference for r in result.receipts},
        is_begun=before is not None,
        observed=result.observed,
    )


async def roll_back(
    connection: Connection, mission_id: str, *, reason: str, approver: str | None = None
) -> RollbackReport:
    """Start, join or resume a mission's rollback. See `MissionClient.rollback`."""
    problem = None if approver is None else approver_problem(approver, ())
    if problem is not None:
        raise UsageError(f"the approver is not a name: {problem}")
    asked = RollbackInput(mission_id=mission_id, reason=reason)
    await check_size(connection.temporal, asked, what="the reason")
    before = await _rollback_before(connection, mission_id)
    if before is None and approver is None:
        ended = ""
        with connection.explaining(mission_id):
            mission = await connection.mission(mission_id)
            if mission.typed_search_attributes.get(MODE) == SEARCHED_AS:
                ended = f"was {OBSERVED}, and its effects stand"
            elif mission.status is WorkflowExecutionStatus.COMPLETED:
                ended = "succeeded"
            elif mission.status is WorkflowExecutionStatus.FAILED:
                failed_with = await failure_type(connection.temporal, mission)
                if failed_with == names.MISSION_INCOMPLETE:
                    ended = "did a part of what was asked for, which stands"
        if ended:
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
    """Return the newest rollback of a mission that is over; None if it has none of its own."""
    with connection.explaining(mission_id):
        newest = await describe_rollback(connection.temporal, mission_id)
        own = newest and await is_of_mission(connection.temporal, mission_id, newest)
    before = newest if own else None
    broken_off = before is not None and before.status in BROKEN_OFF
    # A deleted mission that has a rollback is over.
    missing = None if newest is None else False
    if not broken_off and await connection.is_running(mission_id, missing=missing):
        raise UsageError(
            f"mission {mission_id} still runs; cancel it and it rolls itself back: "
            f"orchestrator mission cancel {mission_id}"
        )
    return before


async def settled_report(connection: Connection, mission_id: str) -> RollbackReport:
    """Return the report once everything was tried, while parked obligations keep it open."""
    rollback_id = names.rollback_workflow_id(mission_id)
    known = 0
    while True:
        # Ask before reading the history: the report of a rollback that is over is final.
        rollback = await until_answered(lambda: connection.describe(rollback_id))
        is_running = rollback.status is WorkflowExecutionStatus.RUNNING
        if not is_running or rollback.history_length > known:
            known = rollback.history_length
            report = await until_answered(lambda: read_report(connection, mission_id))
            if report.settled or not is_running:
                return report
        await asyncio.sleep(_LOOK_S)


async def parked_rollbacks(connection: Connection) -> list[ParkedRollback]:
    """Return every open rollback with parked obligations, from its memo."""
    found: list[ParkedRollback] = []
    query = f"WorkflowType = '{names.ROLLBACK_WORKFLOW}' AND ExecutionStatus = 'Running'"
    with connection.explaining():
        async for rollback in connection.temporal.list_workflows(query):
            queue = rollback.task_queue
            try:
                report = await rollback.memo_value(
                    names.PARKED_MEMO, None, type_hint=RollbackReport
                )
            except OrchestratorError as locked:  # a key that is unavailable here
                unread = ParkedRollback(
                    mission_id=names.mission_of(rollback.id),
                    unread=str(locked),
                    task_queue=queue,
                    shown_status=rollback.typed_search_attributes.get(STATUS) or "",
                )
                found.append(unread)
                continue
            if report is not None and (report.parked or report.blocked):
                waiting = parked_of(report)
                found.append(ParkedRollback(**dict(report), waiting=waiting, task_queue=queue))
    return found


async def resolve_parked(connection: Connection, decision: ResolveInput) -> RollbackReport:
    """Send a decision on a parked obligation. See `MissionClient.resolve`."""
    wanted = decision.obligation_id
    mission_id = names.mission_of(wanted)
    try:
        return await connection.update(
            names.rollback_workflow_id(mission_id),
            names.RESOLVE_UPDATE,
            decision,
            RollbackReport,
            about=wanted,
        )
    except CardUnknown as closed:
        # The last answer may be lost, or another operator may have decided first.
        report = await find_report(connection, mission_id)
        if report is None:
            raise closed from None
        raise QuestionError(
            wanted, report.why_not_parked(wanted), code="ObligationNotParked"
        ) from None
