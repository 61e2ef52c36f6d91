"""Sagas and sessions next to missions: those that run or wait, and the account of one."""

import asyncio
from typing import Final, Literal

from pydantic import Field
from temporalio.client import WorkflowExecution, WorkflowExecutionStatus

from orchestrator.adapters.storage.protocols import GrantBook
from orchestrator.adapters.temporal.rollbacks import described
from orchestrator.adapters.temporal.search_attributes import AGENT, MODE
from orchestrator.client.connection import Connection
from orchestrator.client.mission_list import Family, MissionSummary, Wait, waits_for
from orchestrator.client.mission_state import find_report
from orchestrator.client.session_handle import SessionHandle
from orchestrator.client.waits import waits_in
from orchestrator.core.errors import MissionNotFound, SessionError
from orchestrator.core.record import Record
from orchestrator.messages import names
from orchestrator.messages.observed import SEARCHED_AS
from orchestrator.saga.ledger import Ledger

_RUNNING: Final = WorkflowExecutionStatus.RUNNING
_SESSIONS: Final = f"WorkflowType = '{names.SESSION_WORKFLOW}'"
_SAGAS: Final = (
    f"ExecutionStatus = 'Running' AND {names.AGENT_ATTRIBUTE} IS NOT NULL "
    f"AND WorkflowType NOT IN ('{names.MISSION_WORKFLOW}', '{names.SESSION_WORKFLOW}')"
)
_PREFIX: Final = names.saga_attribute("")
SagaKind = Literal["saga", "session"]


class SagaAccount(Record):
    """A saga, or the saga of a session: its state, and all obligations that it made."""

    mission_id: str = Field(description="the id that was asked for")
    kind: SagaKind
    saga_id: str
    workflow_id: str = Field(default="", description="empty: the server no longer knows it")
    status: str
    waits_for: tuple[Wait, ...] = ()
    ledger: Ledger = Field(default_factory=Ledger)


async def list_sagas(connection: Connection, *, limit: int) -> list[MissionSummary]:
    """Return the newest sessions, and the sagas that wait for somebody, newest first.

    A saga that waits for nobody leaves no mark for searches, which would cost it an event.
    """
    temporal = connection.temporal

    async def session(one: WorkflowExecution) -> MissionSummary:
        # Lists do not name the first run, of which the saga's id is derived.
        saga_id = await SessionHandle(connection, one.id).saga_id()
        rollback = temporal.get_workflow_handle(names.rollback_workflow_id(saga_id))
        is_rolled_back = one.status is not _RUNNING and await described(rollback) is not None
        status = _status(one, is_rolled_back=is_rolled_back)
        return await _summary(one, one.id, "session", status, f"the saga {saga_id}")

    with connection.explaining():
        sessions = [one async for one in temporal.list_workflows(_SESSIONS, limit=limit)]
        sagas = [one async for one in temporal.list_workflows(_SAGAS, limit=limit)]
    found = list(await asyncio.gather(*map(session, sessions)))
    for one in sagas:
        shown = one.typed_search_attributes.get(AGENT) or ()
        marks = [shown] if isinstance(shown, str) else shown
        for saga_id in [m.removeprefix(_PREFIX) for m in marks if m.startswith(_PREFIX)]:
            what = f"{one.workflow_type} {one.id}"
            found.append(await _summary(one, saga_id, "saga", "running", what))
    return sorted(found, key=lambda one: one.started_at, reverse=True)[:limit]


async def saga_account(connection: Connection, grants: GrantBook, named: str) -> SagaAccount:
    """Return the account of a session by its id, or of a saga. See `MissionClient.saga`."""
    session = SessionHandle(connection, named)
    saga_id = named
    found: WorkflowExecution | None = None
    kind: SagaKind = "saga"
    try:
        found = await session.described()
        saga_id, kind = await session.saga_id(), "session"
    except SessionError:
        if names.may_be_saga(named):
            query = f"{names.AGENT_ATTRIBUTE} = '{names.saga_attribute(named)}'"
            with connection.explaining():
                found = await anext(connection.temporal.list_workflows(query, limit=1), None)
    ledger = await asyncio.to_thread(grants.ledger, saga_id, concluded=True)
    report = await find_report(connection, saga_id)
    if found is None and report is None and not ledger.obligations:
        raise MissionNotFound(named)
    waits: tuple[Wait, ...] = ()
    if found is not None and found.status is _RUNNING:
        waits = tuple(waits_for(found, await waits_in(found), Family()))
    return SagaAccount(
        mission_id=named,
        kind=kind,
        saga_id=saga_id,
        workflow_id=found.id if found is not None else "",
        status=_status(found, is_rolled_back=report is not None),
        waits_for=waits,
        ledger=ledger if report is None else ledger.written(*report.ledger.obligations),
    )


async def _summary(
    one: WorkflowExecution, mission_id: str, kind: SagaKind, status: str, goal: str
) -> MissionSummary:
    waits = await waits_in(one)
    return MissionSummary(
        mission_id=mission_id,
        kind=kind,
        status=status,
        goal=goal,
        started_at=one.start_time,
        observed=one.typed_search_attributes.get(MODE) == SEARCHED_AS,
        waits_for=tuple(waits_for(one, waits, Family())) if one.status is _RUNNING else (),
    )


def _status(found: WorkflowExecution | None, *, is_rolled_back: bool) -> str:
    if found is not None and found.status is _RUNNING:
        return "running"
    if is_rolled_back:
        return "rolled_back"
    return found.status.name.lower() if found is not None and found.status else "completed"
