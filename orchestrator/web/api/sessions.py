"""Sessions: start, show, begin a call, its outcome, complete, roll back."""

import asyncio
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, Field
from temporalio.client import WorkflowExecutionStatus

from orchestrator.adapters.temporal.search_attributes import REQUESTER
from orchestrator.client.session_handle import SessionHandle
from orchestrator.client.start import check_call
from orchestrator.core.budget import Money
from orchestrator.core.errors import SessionError
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.mission import MISSION_ID_PATTERN
from orchestrator.messages.mission_policy import MissionPolicy
from orchestrator.messages.session import (
    KEY_PATTERN,
    LONGEST_IDLE,
    EndSession,
    OnIdle,
    SessionCall,
    SessionResult,
)
from orchestrator.web.api.tools import catalog_of
from orchestrator.web.api_operations import KEYED, Answered, Call, Operations, derived_id
from orchestrator.web.people import Person, Right
from orchestrator.web.problem_details import ProblemError
from orchestrator.web.sight import forbidden
from orchestrator.web.views import SessionStatus, SessionView
from orchestrator.web.web_service import Service

_LONGEST_WAIT_S: Final = 50
_ENDS: Final[dict[str, Any]] = {
    "also": ((HTTPStatus.ACCEPTED, "it ends, and is not over yet"),),
    "problems": (HTTPStatus.CONFLICT,),
    "timeout_s": _LONGEST_WAIT_S + 60.0,
}
api: Final = Operations("sessions")


class OpenSession(Record):
    """The terms of a session."""

    session_id: str | None = Field(
        default=None, pattern=MISSION_ID_PATTERN, description="None: derived from the key, or new"
    )
    budget: Money | None = Field(default=None, description="limit of the total price of its calls")
    policy: MissionPolicy | None = Field(
        default=None, description="as of a mission; None: that of the service"
    )
    idle_limit: timedelta = Field(
        default=timedelta(hours=1),
        ge=timedelta(seconds=1),
        le=LONGEST_IDLE,
        description="in seconds: one that nobody touches for so long ends as `on_idle` says",
    )
    on_idle: OnIdle = Field(default="rollback", description="what happens then")


class BeginCall(Record):
    """A call to begin."""

    tool: str = Field(max_length=200, description="its name in the catalog")
    arguments: JsonObject = Field(
        default_factory=dict, description="personal values as handles: pii:traveler_email"
    )
    reason: str = Field(default="", max_length=2_000, description="for people who read its card")
    key: str | None = Field(
        default=None,
        pattern=f"^{KEY_PATTERN}$",
        description="names the call: begun again, it is made once; None: the Idempotency-Key",
    )


class CallBegun(Record):
    """A call that was begun, before anybody is asked and anything is sent."""

    call_id: str


class WaitQuery(BaseModel):
    """How long to wait for an outcome."""

    wait_s: float = Field(
        default=20,
        ge=0,
        le=_LONGEST_WAIT_S,
        description="seconds after which a call that is under way is returned as it is",
    )


class RollBackSession(Record):
    """Why a session is rolled back."""

    reason: str = Field(default="asked for", max_length=2_000, description="for the record")


class SessionEnding(Record):
    """The end of a session."""

    session_id: str
    result: SessionResult | None = Field(
        default=None, description="what stands; None: it ends, and its effects are being settled"
    )


@api.post("/sessions", Right.START, status=HTTPStatus.CREATED, **KEYED)
async def start_session(call: Call[OpenSession, None]) -> Answered[SessionView]:
    """Start a session of guarded calls."""
    terms = call.body
    handle = await call.service.client.session(
        budget=terms.budget,
        requester=call.person.subject,
        policy=terms.policy,
        idle_limit=terms.idle_limit,
        on_idle=terms.on_idle,
        session_id=derived_id(call, "session", given=terms.session_id),
    )
    view = await seen_session(call.service, call.person, handle.session_id)
    return Answered(view, headers={"Location": f"/api/v1/sessions/{handle.session_id}"})


@api.get("/sessions/{session_id}")
async def show_session(call: Call[None, None]) -> SessionView:
    """Return a session as it is now."""
    return await seen_session(call.service, call.person, call.part("session_id"))


@api.post("/sessions/{session_id}/calls", Right.START, status=HTTPStatus.ACCEPTED, **KEYED)
async def begin_call(call: Call[BeginCall, None]) -> Answered[CallBegun]:
    """Begin a call, which may wait for a card."""
    handle = await _changeable(call, "begin calls in it")
    check_call(call.body.tool, call.body.arguments, await catalog_of(call.service.settings))
    key = call.body.key or derived_id(call, "call", also=handle.session_id)
    call_id = await handle.begin(
        call.body.tool, call.body.arguments, reason=call.body.reason, key=key
    )
    there = f"/api/v1/sessions/{handle.session_id}/calls/{call_id}"
    return Answered(CallBegun(call_id=call_id), headers={"Location": there})


@api.get("/sessions/{session_id}/calls/{call_id}", timeout_s=_LONGEST_WAIT_S + 30.0)
async def show_call(call: Call[None, WaitQuery]) -> SessionCall:
    """Return a call, when it has an outcome or the time to wait is over."""
    session_id, call_id = call.part("session_id"), call.part("call_id")
    await seen_session(call.service, call.person, session_id)
    handle = call.service.client.session_handle(session_id)
    return await handle.settled(call_id, within=timedelta(seconds=call.query.wait_s))


@api.post("/sessions/{session_id}/complete", Right.START, **_ENDS)
async def complete_session(call: Call[None, WaitQuery]) -> Answered[SessionEnding]:
    """End a session: what it made stands."""
    handle = await _changeable(call, "complete it")
    return await _ended(handle, EndSession(how="complete"), call.query.wait_s)


@api.post("/sessions/{session_id}/rollback", Right.START, **_ENDS)
async def roll_back_session(call: Call[RollBackSession, WaitQuery]) -> Answered[SessionEnding]:
    """Cancel all that a session made."""
    handle = await _changeable(call, "roll it back")
    end = EndSession(how="rollback", reason=call.body.reason)
    return await _ended(handle, end, call.query.wait_s)


async def _changeable(call: Call[Any, Any], what: str) -> SessionHandle:
    """Return a session that the caller sees and may change, else raise what they lack."""
    session_id = call.part("session_id")
    view = await seen_session(call.service, call.person, session_id)
    if not call.person.may_change(view.requester):
        raise forbidden(call.person, f"{what}: {session_id} is a session of somebody else")
    return call.service.client.session_handle(session_id)


async def seen_session(service: Service, person: Person, session_id: str) -> SessionView:
    """Return a session as it is now; SessionError: there is none, or the person does not see it."""
    handle = service.client.session_handle(session_id)
    unknown = SessionError(session_id, "there is no such session", code="SessionUnknown")
    try:
        found = await handle.described()
    except SessionError:
        raise unknown from None
    requester = found.typed_search_attributes.get(REQUESTER) or ""
    if not person.sees_all and not person.owns(requester):
        raise unknown
    status: SessionStatus = "open"
    if found.status is WorkflowExecutionStatus.COMPLETED:
        status = (await handle.result()).status
    elif found.status is not WorkflowExecutionStatus.RUNNING:
        status = "stopped"
    return SessionView(
        session_id=session_id, saga_id=await handle.saga_id(), status=status, requester=requester
    )


async def _ended(handle: SessionHandle, end: EndSession, wait_s: float) -> Answered[SessionEnding]:
    """Ask a session to end, and wait for it; one that ended in another way is a conflict."""
    await handle.ask_to_end(end)
    try:
        async with asyncio.timeout(wait_s):
            result = await handle.result()
    except TimeoutError:
        return Answered(SessionEnding(session_id=handle.session_id), HTTPStatus.ACCEPTED)
    wanted = "completed" if end.how == "complete" else "rolled_back"
    if result.status != wanted:
        why = "it was completed, and what it made stands"
        if result.status == "rolled_back":
            why = f"all that it made was rolled back: {result.reason}"
        detail = f"session {handle.session_id}: {why}"
        raise ProblemError(HTTPStatus.CONFLICT, detail, code="SessionOver")
    return Answered(SessionEnding(session_id=handle.session_id, result=result))
