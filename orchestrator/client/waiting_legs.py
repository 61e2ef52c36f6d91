"""What legs wait for: the open cards and questions, of one leg or of all that run."""

from collections.abc import AsyncIterator

from orchestrator.client.connection import Connection
from orchestrator.core import errors
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus, LegWaiting


async def waiting_of(connection: Connection, leg_workflow: str) -> LegWaiting | None:
    """What a leg waits for; None when there is no such leg, or it is over."""
    if not await connection.is_running(leg_workflow, missing=False):
        return None
    return await connection.query(leg_workflow, names.WAITING_QUERY, LegWaiting)


async def waiting_legs(connection: Connection, status: LegStatus) -> AsyncIterator[LegWaiting]:
    """What each running leg in this status waits for."""
    query = (
        f"WorkflowType = '{names.LEG_WORKFLOW}' AND ExecutionStatus = 'Running' "
        f"AND {names.STATUS_ATTRIBUTE} = '{status.value}'"
    )
    with connection.explaining():
        async for execution in connection.temporal.list_workflows(query):
            waiting = await waiting_of(connection, execution.id)
            if waiting is not None:
                yield waiting


def leg_of(confirmation_id: str) -> str:
    """The workflow id of the leg that a confirmation or a question belongs to.

    Raises:
        CardUnknown: the id is not made like one.
    """
    leg = names.leg_of_confirmation(confirmation_id)
    if not leg:
        raise errors.CardUnknown(confirmation_id, "this is no id of a confirmation or a question")
    return leg
