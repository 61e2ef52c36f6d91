"""How a mission stands: its own result, with those of its running legs and of its rollback."""

import asyncio

from temporalio.client import WorkflowExecutionStatus

from orchestrator.adapters.temporal.rollbacks import begun_rollback
from orchestrator.client.connection import Connection
from orchestrator.core.budget import Usage
from orchestrator.core.errors import MissionNotFound, QueryFailed
from orchestrator.messages import names
from orchestrator.messages.leg import LegResult, LegStatus
from orchestrator.messages.mission import MissionResult, MissionStatus
from orchestrator.messages.rollback import RollbackReport
from orchestrator.messages.standing import after_rollback
from orchestrator.saga.ledger import Ledger


async def take_snapshot(connection: Connection, mission_id: str) -> MissionResult:
    """The result document as it stands now.

    Raises:
        MissionNotFound: there is no such mission.
    """
    # Asked first: the result of one that is over by now is final when it is read.
    running = (await connection.mission(mission_id)).status is WorkflowExecutionStatus.RUNNING
    result = await connection.query(mission_id, names.RESULT_QUERY, MissionResult)
    if result.finished_at is not None:
        return await standing(connection, result)
    legs = await asyncio.gather(
        *(_as_it_stands(connection, mission_id, leg) for leg in result.legs)
    )
    taken = (now.usage for then, now in zip(result.legs, legs, strict=True) if now is not then)
    usage = Usage.total([result.usage, *taken])
    asked = result.model_copy(update={"legs": tuple(legs), "usage": usage})
    asked = asked.on(Ledger.merged(leg.ledger for leg in legs), asked.status)
    return await standing(connection, asked if running else _terminated(asked))


async def standing(connection: Connection, result: MissionResult) -> MissionResult:
    """A mission's own result together with what its rollback, if it has one, has made of it."""
    report = await _report(connection, result.mission_id)
    return result if report is None else after_rollback(result, report)


async def _as_it_stands(connection: Connection, mission_id: str, leg: LegResult) -> LegResult:
    """A leg that runs, as it answers itself; its mission is told only at its end."""
    if leg.status is not LegStatus.RUNNING:
        return leg
    workflow_id = names.leg_workflow_id(mission_id, leg.leg_id)
    try:
        return await connection.query(workflow_id, names.RESULT_QUERY, LegResult)
    except MissionNotFound:
        return leg  # it is just being started


async def _report(connection: Connection, mission_id: str) -> RollbackReport | None:
    """Where the mission's rollback stands; None when it has none that is its own."""
    rollback = names.rollback_workflow_id(mission_id)
    try:
        report = await connection.query(rollback, names.REPORT_QUERY, RollbackReport)
    except MissionNotFound:
        return None
    except QueryFailed:
        if await begun_rollback(connection.temporal, mission_id) is None:
            return None  # what has its id is none
        raise
    # One that was turned away has tried nothing, and never will.
    was_begun = report.settled or await begun_rollback(connection.temporal, mission_id) is not None
    return report if was_begun else None


def _terminated(result: MissionResult) -> MissionResult:
    error = result.error or "it was stopped from outside"
    return result.model_copy(update={"status": MissionStatus.TERMINATED, "error": error})
