"""The rollbacks that wait for an operator: from the moment when they have parked something."""

from temporalio.client import WorkflowExecution

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.client.connection import Connection
from orchestrator.client.side_by_side import Asked, ask_all
from orchestrator.core import errors
from orchestrator.messages import names
from orchestrator.messages.parked import ParkedRollback, parked_of
from orchestrator.messages.rollback import ResolveInput, RollbackReport


async def parked_rollbacks(connection: Connection) -> list[ParkedRollback]:
    """Every open rollback with something parked, and every one that cannot be asked.

    All that are open are asked, whatever their search attribute says: they are few, and it may be a
    moment behind. Those that are over hold nothing open.
    """
    query = f"WorkflowType = '{names.ROLLBACK_WORKFLOW}' AND ExecutionStatus = 'Running'"
    with connection.explaining():
        open_ones = [one async for one in connection.temporal.list_workflows(query)]

    async def report(one: WorkflowExecution) -> RollbackReport:
        return await connection.query(one.id, names.REPORT_QUERY, RollbackReport)

    told = map(_told, await ask_all(connection, open_ones, report))
    return [one for one in told if one.waiting or one.unread]


async def resolve_parked(connection: Connection, decision: ResolveInput) -> RollbackReport:
    """Decide on a parked obligation.

    Raises:
        ObligationNotParked: it is not, or no more; with who decided on it before.
        NoWorker: nobody would take it, so that it was not sent; or nobody answered in time.
    """
    wanted = decision.obligation_id
    rollback_id = names.rollback_workflow_id(names.mission_of(wanted))
    try:
        return await connection.update(
            rollback_id, names.RESOLVE_UPDATE, decision, RollbackReport, about=wanted
        )
    except errors.CardUnknown as closed:
        # Maybe the last answer was lost, or another operator was quicker: what came of it?
        try:
            report = await connection.query(rollback_id, names.REPORT_QUERY, RollbackReport)
        except errors.OrchestratorError:
            raise closed from None
        raise errors.ObligationNotParked(wanted, report.why_not_parked(wanted)) from None


def _told(asked: Asked[RollbackReport]) -> ParkedRollback:
    report, execution = asked.answer, asked.execution
    if report is None:
        return ParkedRollback(
            mission_id=names.mission_of(execution.id),
            unread=asked.silence,
            task_queue=execution.task_queue,
            shown_status=execution.typed_search_attributes.get(STATUS) or "",
        )
    return ParkedRollback(
        **dict(report), waiting=parked_of(report), task_queue=execution.task_queue
    )
