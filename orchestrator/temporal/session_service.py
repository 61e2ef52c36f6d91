"""The Nexus service of sessions, for workflows in any language: one operation for each verb.

Operations that wait are asynchronous: `call` and `outcome` are backed by a small workflow that the
session signals, `complete` and `rollback` by the session itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from nexusrpc import HandlerError, HandlerErrorType, OperationError, OperationErrorState
from nexusrpc.handler import StartOperationContext, service_handler, sync_operation
from temporalio import nexus
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.nexus import (
    TemporalNexusClient,
    TemporalOperationResult,
    TemporalStartOperationContext,
    temporal_operation,
)

from orchestrator.client.connection import Connection
from orchestrator.client.session_handle import SessionHandle, start_session
from orchestrator.core.errors import OrchestratorError, ServiceUnavailable
from orchestrator.messages import names
from orchestrator.messages.session import (
    BeginCall,
    EndSession,
    OpenSession,
    SessionCall,
    SessionCallRef,
    SessionRef,
    SessionResult,
)


@service_handler(name=names.SESSION_SERVICE)
class SessionService:
    """Handles the operations on a worker; the sessions run on its task queue."""

    @sync_operation
    async def open(self, ctx: StartOperationContext, wanted: OpenSession) -> SessionRef:
        """Start a session, or return the one of this id and these terms."""
        session_id = wanted.session_id or f"session-{ctx.request_id}"
        with _as_nexus_errors():
            handle = await start_session(_connection(), wanted.terms, session_id)
            return SessionRef(session_id=session_id, saga_id=await handle.saga_id())

    @sync_operation
    async def begin(self, ctx: StartOperationContext, wanted: BeginCall) -> SessionCallRef:
        """Begin a call."""
        with _as_nexus_errors():
            return await _begun(wanted, ctx.request_id)

    @temporal_operation
    async def outcome(
        self, ctx: TemporalStartOperationContext, client: TemporalNexusClient, asked: SessionCallRef
    ) -> TemporalOperationResult[SessionCall]:
        """Wait for the outcome of a call."""
        with _as_nexus_errors():
            return await _waited(client, asked)

    @temporal_operation
    async def call(
        self, ctx: TemporalStartOperationContext, client: TemporalNexusClient, wanted: BeginCall
    ) -> TemporalOperationResult[SessionCall]:
        """Begin a call, and wait for its outcome."""
        with _as_nexus_errors():
            return await _waited(client, await _begun(wanted, ctx.request_id))

    @temporal_operation
    async def complete(
        self, ctx: TemporalStartOperationContext, client: TemporalNexusClient, asked: SessionRef
    ) -> TemporalOperationResult[SessionResult]:
        """End a session whose calls stand."""
        with _as_nexus_errors():
            return await _ended(client, asked.session_id, EndSession(how="complete"))

    @temporal_operation
    async def rollback(
        self, ctx: TemporalStartOperationContext, client: TemporalNexusClient, asked: SessionRef
    ) -> TemporalOperationResult[SessionResult]:
        """End a session, and wait until its calls are cancelled or parked."""
        end = EndSession(how="rollback", reason=asked.reason)
        with _as_nexus_errors():
            return await _ended(client, asked.session_id, end)


def _connection() -> Connection:
    return Connection(nexus.client(), nexus.info().task_queue)


async def _begun(wanted: BeginCall, request_id: str) -> SessionCallRef:
    """Begin a call; Nexus sends a request again under one id, which is the call's default key."""
    call_id = await SessionHandle(_connection(), wanted.session_id).begin(
        wanted.tool, wanted.arguments, reason=wanted.reason, key=wanted.key or request_id
    )
    return SessionCallRef(session_id=wanted.session_id, call_id=call_id)


async def _waited(
    client: TemporalNexusClient, asked: SessionCallRef
) -> TemporalOperationResult[SessionCall]:
    call = await SessionHandle(_connection(), asked.session_id).look(asked.call_id)
    if call.outcome:
        return TemporalOperationResult.sync(call)
    return await client.start_workflow(
        names.SESSION_CALL_WORKFLOW,
        asked,
        id=names.session_wait_id(asked.session_id, asked.call_id),
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        result_type=SessionCall,
    )


async def _ended(
    client: TemporalNexusClient, session_id: str, end: EndSession
) -> TemporalOperationResult[SessionResult]:
    """Ask a session to end, and complete the operation with its result."""
    handle = SessionHandle(_connection(), session_id)
    await handle.ask_to_end(end)
    try:
        return await client.start_workflow(
            names.SESSION_WORKFLOW,
            id=session_id,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            result_type=SessionResult,
        )
    except WorkflowAlreadyStartedError:  # it is over, as most are by now
        return TemporalOperationResult.sync(await handle.result())


@contextmanager
def _as_nexus_errors() -> Iterator[None]:
    """Raise our errors as Nexus knows them: retried if a service is away, else final."""
    try:
        yield
    except ServiceUnavailable as away:
        raise HandlerError(str(away), type=HandlerErrorType.UNAVAILABLE) from away
    except OrchestratorError as refused:
        raise OperationError(str(refused), state=OperationErrorState.FAILED) from refused
