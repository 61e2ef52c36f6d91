"""Sessions: their idle limit, new runs, and replay, with activities of a fake world."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from orchestrator.client.waits import waits_in
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages import names
from orchestrator.messages.session import (
    CallQuery,
    EndSession,
    SessionCall,
    SessionCallRef,
    SessionResult,
    SessionTerms,
    WantedCall,
)
from orchestrator.runtime.worker import workflow_runner
from orchestrator.saga.outcome import ToolOutcome
from orchestrator.testing import eventually
from orchestrator.workflows import ALL_WORKFLOWS
from orchestrator.workflows import session_workflow as code
from tests.fakes import states_of
from tests.workflow.replays import replays_at_every_task
from tests.world import FakeWorld

NO_ROOM = ToolOutcome(kind="rejected", status=409, reason="no room")
LONG = 60
"""Events after which a new run is suggested."""


class Session:
    """A session on a worker, driven by its updates."""

    def __init__(self, env: WorkflowEnvironment, queue: str) -> None:
        self.env = env
        self.queue = queue
        self.handle: WorkflowHandle[Any, Any]

    async def start(self, **terms: Any) -> Session:
        self.handle = await self.env.client.start_workflow(
            names.SESSION_WORKFLOW,
            SessionTerms(**terms),
            id=f"session-{uuid4().hex[:8]}",
            task_queue=self.queue,
            result_type=SessionResult,
        )
        return self

    async def _send(self, update: str, message: Record, kind: type) -> Any:
        newest = self.env.client.get_workflow_handle(self.handle.id)
        return await newest.execute_update(update, message, result_type=kind)

    async def begin(self, tool: str, key: str, **arguments: Any) -> str:
        wanted = WantedCall(tool=tool, arguments=arguments, key=key)
        call_id: str = await self._send(names.BEGIN_UPDATE, wanted, str)
        return call_id

    async def look(self, call_id: str) -> SessionCall:
        call: SessionCall = await self._send(
            names.OUTCOME_UPDATE, CallQuery(call_id=call_id), SessionCall
        )
        return call

    async def outcome(self, call_id: str) -> SessionCall:
        """Wait for the memo to have it, as handles do."""
        newest = self.env.client.get_workflow_handle(self.handle.id)

        async def is_noted() -> bool:
            memo = (await newest.describe()).raw_info.memo.fields
            return f"{names.OUTCOME_MEMO}{call_id}" in memo

        await eventually(is_noted)
        return await self.look(call_id)

    async def made(self, tool: str, key: str, **arguments: Any) -> SessionCall:
        return await self.outcome(await self.begin(tool, key, **arguments))

    async def end(self, how: Any) -> SessionResult:
        try:
            await self._send(names.END_UPDATE, EndSession(how=how), str)
        except RPCError as lost:  # the test server forgets an update whose workflow has ended
            if lost.status is not RPCStatusCode.NOT_FOUND:
                raise
        result: SessionResult = await self.handle.result()
        return result


@pytest.fixture
async def session(workflow_env: WorkflowEnvironment, world: FakeWorld) -> AsyncIterator[Session]:
    """A worker for one."""
    queue = f"sessions-{uuid4().hex[:8]}"
    async with Worker(
        workflow_env.client,
        task_queue=queue,
        workflows=ALL_WORKFLOWS,
        activities=world.activities(),
        workflow_runner=workflow_runner(),
    ):
        yield Session(workflow_env, queue)


async def test_calls_are_made_and_stand(session: Session, world: FakeWorld) -> None:
    """A failed one is not the session's end; all of it replays."""
    await session.start()
    world.answer("book_car", NO_ROOM)
    flight = await session.made("book_flight", "flight")
    car = await session.made("book_car", "car")
    result = await session.end("complete")

    assert (flight.outcome, car.outcome, car.reason) == ("succeeded", "rejected", "no room")
    assert result.status == "completed"
    assert states_of(result.ledger) == {"book_flight": "committed", "book_car": "void"}
    assert not world.grants.unfinished(after="", most=10)
    assert await replays_at_every_task(session.handle) > 3


async def test_a_rollback_settles_what_was_sent_and_cancels_it(
    session: Session, world: FakeWorld
) -> None:
    """A call whose answer is on its way is not abandoned."""
    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    await session.start()
    call_id = await session.begin("book_flight", "flight")
    await booking.reached()
    ending = asyncio.create_task(session.end("rollback"))
    await asyncio.sleep(0.5)
    begun_late = session.begin("book_hotel", "hotel")
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await begun_late
    booking.release()
    result = await ending

    assert isinstance(refused.value.cause, ApplicationError)
    assert refused.value.cause.type == "SessionOver"
    assert result.status == "rolled_back"
    assert states_of(result.ledger) == {"book_flight": "cancelled"}
    assert [one.outcome for one in result.calls if one.call_id == call_id] != [""]


async def test_a_call_in_doubt_is_never_left_behind(session: Session, world: FakeWorld) -> None:
    """A session that is completed with one is rolled back, and says so."""
    world.answer("send_parcel", ApplicationError("gone", type=names.PROVIDER_BUSY))
    await session.start()
    parcel = await session.made("send_parcel", "parcel")
    result = await session.end("complete")

    assert parcel.outcome == "unknown"
    assert result.status == "rolled_back"
    assert [o.tool for o in world.compensated()] == ["send_parcel"]


async def test_an_open_card_is_no_idle_time(session: Session, world: FakeWorld) -> None:
    """The limit counts from the end of the last call."""
    await session.start(idle_limit=timedelta(hours=1))
    await session.made("book_flight", "flight")
    ticket = await session.begin("buy_ticket", "ticket", seat="12A")
    await session.env.sleep(timedelta(hours=5))
    waiting = await waits_in(await session.handle.describe())
    assert len(waiting.cards) == 1
    assert not (await session.look(ticket)).outcome
    await session.env.sleep(timedelta(hours=20))
    result: SessionResult = await session.handle.result()

    assert [one.outcome for one in result.calls] == ["succeeded", "expired"]
    assert result.status == "rolled_back"
    assert states_of(result.ledger)["book_flight"] == "cancelled"


async def test_a_parked_session_makes_nothing_undone(session: Session, world: FakeWorld) -> None:
    """It waits until somebody goes on with it."""
    await session.start(idle_limit=timedelta(hours=1), on_idle="park")
    await session.made("book_flight", "flight")
    await session.env.sleep(timedelta(hours=30))
    (why,) = (await waits_in(await session.handle.describe())).stalled
    await session.made("book_hotel", "hotel")

    assert session.handle.id in why
    assert not (await waits_in(await session.handle.describe())).stalled
    assert (await session.end("complete")).status == "completed"
    assert not world.compensated()


async def test_a_new_run_has_the_calls_and_the_ledger(
    session: Session, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outcomes of finished calls are read there, and a key begins no second call."""
    monkeypatch.setattr(
        workflow.Info,
        "is_continue_as_new_suggested",
        lambda info: info.get_current_history_length() > LONG,
    )
    await session.start()
    first = await session.made("book_flight", "flight")
    for number in range(6):
        await session.made("find_flights", f"look-{number}")
    newest = session.env.client.get_workflow_handle(session.handle.id)
    described = await newest.describe()
    run_id = described.run_id

    assert run_id != session.handle.first_execution_run_id
    assert await described.memo_value(names.TERMS_MEMO) == SessionTerms().digest
    assert await session.look(first.call_id) == first
    assert await session.begin("book_flight", "flight") == first.call_id
    result = await session.end("rollback")
    assert [o.tool for o in world.compensated()] == ["book_flight"]
    assert len(result.calls) == 7
    runs = [session.handle.first_execution_run_id, run_id]
    handles = [session.env.client.get_workflow_handle(session.handle.id, run_id=r) for r in runs]
    assert (await handles[0].describe()).status is WorkflowExecutionStatus.CONTINUED_AS_NEW
    assert await replays_at_every_task(*handles) > 3


async def test_a_session_has_an_end(
    session: Session, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes so many calls, and holds the answers of the newest ones."""
    monkeypatch.setattr(code, "MOST_CALLS", 3)
    monkeypatch.setattr(code, "_MOST_BODIES", 10)
    await session.start()
    calls = [await session.made("find_flights", f"look-{number}") for number in range(3)]
    with pytest.raises(WorkflowUpdateFailedError) as full:
        await session.begin("find_flights", "one-more")
    oldest = await session.look(calls[0].call_id)

    assert isinstance(full.value.cause, ApplicationError)
    assert full.value.cause.type == "SessionFull"
    assert oldest.outcome == "succeeded"
    assert oldest.is_body_dropped
    assert (await session.end("complete")).status == "completed"


async def test_a_workflow_waits_for_a_call(session: Session, world: FakeWorld) -> None:
    """The session signals it, also where the call had its outcome before."""
    booking = world.hold(names.INVOKE_TOOL, "book_flight")
    await session.start(on_idle="park")  # the server skips time while results are awaited
    call_id = await session.begin("book_flight", "flight")
    early = await _waiting(session, call_id)
    await booking.reached()
    booking.release()
    seen: SessionCall = await early.result()
    late: SessionCall = await (await _waiting(session, call_id)).result()
    unknown: SessionCall = await (await _waiting(session, "key-nothing")).result()
    await session.end("complete")

    assert seen == late
    assert seen.outcome == "succeeded"
    assert unknown.outcome == "invalid"
    with pytest.raises(Exception, match="Workflow execution failed"):
        await (await _waiting(session, call_id)).result()


async def _waiting(session: Session, call_id: str) -> WorkflowHandle[Any, Any]:
    asked: JsonObject = SessionCallRef(session_id=session.handle.id, call_id=call_id).model_dump()
    return await session.env.client.start_workflow(
        names.SESSION_CALL_WORKFLOW,
        asked,
        id=f"waiting-{uuid4().hex[:6]}",
        task_queue=session.queue,
        result_type=SessionCall,
    )
