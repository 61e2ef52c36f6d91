"""What legs wait for, and missions before their legs: the open cards and questions of people."""

import asyncio
import logging
from collections.abc import Iterator, Sequence

from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.temporal.search_attributes import STATUS
from orchestrator.client.connection import Connection
from orchestrator.client.side_by_side import Asked, ask_all
from orchestrator.core import errors
from orchestrator.messages import names
from orchestrator.messages.leg import LegStatus, LegWaiting
from orchestrator.messages.open_waits import UnaskedLeg, Waiting, urgency

_LOG = logging.getLogger(__name__)
_WAITING = (
    LegStatus.AWAITING_CONFIRMATION,
    LegStatus.AWAITING_ANSWER,
    LegStatus.AWAITING_MODEL,
)


async def waiting_of(connection: Connection, leg_workflow: str) -> LegWaiting | None:
    """What a leg waits for; None when there is no such leg, or it is over."""
    if not await connection.is_running(leg_workflow, missing=False):
        return None
    return await connection.query(leg_workflow, names.WAITING_QUERY, LegWaiting)


async def all_waiting(connection: Connection) -> Waiting:
    """What every leg and mission waits for; those that cannot be asked hide no other.

    A mission waits under the same words as a leg, when its plan is to be asked about.
    """
    wanted = ", ".join(f"'{status.value}'" for status in _WAITING)
    query = (
        f"WorkflowType IN ('{names.LEG_WORKFLOW}', '{names.MISSION_WORKFLOW}') "
        f"AND ExecutionStatus = 'Running' AND {names.STATUS_ATTRIBUTE} IN ({wanted})"
    )
    with connection.explaining():
        legs = [leg async for leg in connection.temporal.list_workflows(query)]
    return await _ask(connection, legs)


async def waiting_in(connection: Connection, leg_workflows: Sequence[str]) -> Waiting:
    """What legs of these ids wait for, those that run."""
    found = await asyncio.gather(*(_running(connection, leg) for leg in leg_workflows))
    return await _ask(connection, [leg for leg in found if leg is not None])


async def _running(connection: Connection, leg_workflow: str) -> WorkflowExecution | None:
    """A leg that is under way; None when it is over, or is just being started."""
    try:
        leg = await connection.describe(leg_workflow)
    except errors.MissionNotFound:
        return None
    return leg if leg.status is WorkflowExecutionStatus.RUNNING else None


async def _ask(connection: Connection, legs: Sequence[WorkflowExecution]) -> Waiting:
    async def waiting(leg: WorkflowExecution) -> LegWaiting | None:
        return await connection.query(leg.id, names.WAITING_QUERY, LegWaiting)

    asked = await ask_all(connection, legs, waiting)
    told = [one.answer for one in asked if one.answer is not None]
    cards = (one.card for one in told if one.card is not None)
    questions = (one.question for one in told if one.question is not None)
    return Waiting(
        cards=tuple(sorted(cards, key=urgency)),
        questions=tuple(sorted(questions, key=urgency)),
        pauses=tuple(one.pause for one in told if one.pause is not None),
        unasked=tuple(_unasked(asked)),
    )


def _unasked(asked: Sequence[Asked[LegWaiting]]) -> Iterator[UnaskedLeg]:
    for one in asked:
        if one.silence:
            yield UnaskedLeg(
                leg=one.execution.id,
                mission_id=names.mission_of(one.execution.id),
                task_queue=one.execution.task_queue,
                status=one.execution.typed_search_attributes.get(STATUS) or "",
                why=one.silence,
            )


def warn_of_unasked(waiting: Waiting) -> None:
    """Say in the log what a list leaves out that has no place for it.

    Raises:
        LegUnasked: there is nothing in it at all, so that it would say that nothing waits.
    """
    for one in waiting.unasked:
        _LOG.warning("%s could not be asked what it waits for: %s", one.leg, one.why)
    if waiting.unasked and not (waiting.cards or waiting.questions or waiting.pauses):
        first = waiting.unasked[0]
        raise errors.LegUnasked(first.task_queue, first.leg, first.why)


def leg_of(confirmation_id: str) -> str:
    """The workflow id of the leg that a confirmation or a question belongs to.

    Raises:
        CardUnknown: the id is not made like one.
    """
    leg = names.leg_of_confirmation(confirmation_id)
    if not leg:
        raise errors.CardUnknown(confirmation_id, "this is no id of a confirmation or a question")
    return leg
