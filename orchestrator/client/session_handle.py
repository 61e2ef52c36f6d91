"""SessionHandle: guarded calls from a loop that runs anywhere, over a session by its id.

session = await client.session(requester="ana@example.com")
flight = await session.call("flight_book_offer", {"offer_id": ...}, reason="asked for")
await session.complete()  # or session.rollback()
"""

import asyncio
import re
import secrets
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import JsonValue, ValidationError
from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
)
from temporalio.common import (
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError

from orchestrator.adapters.temporal.search_attributes import REQUESTER, searchable
from orchestrator.client.connection import Connection, check_size, until_answered
from orchestrator.core import command_lines, errors
from orchestrator.core.record import Record
from orchestrator.core.shown_text import markdown_summary
from orchestrator.messages import names
from orchestrator.messages.mission import MISSION_ID_PATTERN
from orchestrator.messages.session import (
    CallQuery,
    EndSession,
    SessionCall,
    SessionOffer,
    SessionResult,
    SessionTerms,
    WantedCall,
)
from orchestrator.messages.step import OfferedTool, OfferOutput

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

T = TypeVar("T")
_RESTS_S: Final = (0.05, 1.0)
"""Shortest and longest pause between two looks for an outcome."""
_AT_ONCE: Final = 5
"""Updates that a client has under way: the server takes ten of a workflow, from all processes."""
_TAKEN_UP: Final = timedelta(seconds=15)
"""How long a worker may take to start a session."""
_BETWEEN_RUNS: Final = (0.1, 0.3, 1.0)
"""Pauses before an update is sent again that arrived when a new run was about to begin."""


class SessionHandle:
    """A session, identified by its id alone, so that any process can go on with it."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        """Take the connection; the server is not called yet."""
        self._connection = connection
        self.session_id = session_id
        self._slots = connection.update_slots(session_id, _AT_ONCE)

    # -- calls ------------------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, JsonValue] | None = None,
        *,
        reason: str = "",
        key: str | None = None,
    ) -> JsonValue:
        """Make one call and return its answer; several may be under way at once.

        Raises:
            ToolCallFailed: the call was not made, or did not succeed.
            SessionError: as for `begin`.
        """
        call_id = await self.begin(tool, arguments, reason=reason, key=key)
        await self._until_settled(call_id)
        return await self.outcome(call_id)

    async def begin(
        self,
        tool: str,
        arguments: Mapping[str, JsonValue] | None = None,
        *,
        reason: str = "",
        key: str | None = None,
    ) -> str:
        """Begin a call and return its id, before anybody is asked and anything is sent.

        Args:
            tool: its name in the catalog.
            arguments: with personal values as handles.
            reason: the reason for the call, for the person who reads its card.
            key: names the call: a loop that begins it again, perhaps in another process, gets the
                same id, and the call is made once. None: a random one.

        Raises:
            SessionError: the session is over or unknown, there is no such tool, or the key belongs
                to another call.
            NoWorker: no worker is there.
        """
        try:
            wanted = WantedCall(
                tool=tool,
                arguments=dict(arguments or {}),
                reason=reason,
                key=key or secrets.token_hex(8),
            )
        except ValidationError as invalid:
            first = invalid.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise errors.UsageError(f"this call cannot be begun: {place}: {first['msg']}") from None
        return await self._send(names.BEGIN_UPDATE, wanted, str)

    async def outcome(self, call_id: str) -> JsonValue:
        """Wait for the outcome of a call and return its answer.

        The call may come from another process, and at any time until the server forgets the
        session. A session holds the answers of its newest calls only.

        Raises:
            ToolCallFailed: the call was not made, or did not succeed.
            SessionError: the session is unknown or has no such call, or was stopped from outside.
        """
        from orchestrator.workflows.guarded_call import ToolCallFailed  # loads the workflows

        while not (call := await self.look(call_id)).outcome:
            await self._until_settled(call_id)
        if call.outcome == "succeeded":
            return call.body
        raise ToolCallFailed(call.tool, call.outcome, call.reason, hint=call.hint, body=call.body)

    async def look(self, call_id: str) -> SessionCall:
        """Return a call as it is now; its outcome is empty while it is under way."""
        try:
            return await self._send(names.OUTCOME_UPDATE, CallQuery(call_id=call_id), SessionCall)
        except errors.SessionError as over:
            if over.code != "SessionOver":
                raise
        for call in (await self.result()).calls:
            if call.call_id == call_id:
                return call
        raise self._error("CallUnknown", f"it has no call {call_id!r}; give an id of `begin`")

    async def settled(self, call_id: str, *, within: timedelta) -> SessionCall:
        """Return a call when it has an outcome, or as it is when a time is over."""
        call = await self.look(call_id)
        if call.outcome or not within:
            return call
        with suppress(TimeoutError):
            async with asyncio.timeout(within.total_seconds()):
                await self._until_settled(call_id)
        return await self.look(call_id)

    async def _until_settled(self, call_id: str) -> None:
        """Wait until the memo says that a call has an outcome, or the session is over.

        The memo is the server's: no worker is asked, and the history does not grow.
        """
        pause, longest = _RESTS_S
        while True:
            found = await until_answered(self.described)
            is_noted = f"{names.OUTCOME_MEMO}{call_id}" in found.raw_info.memo.fields
            if is_noted or found.status is not WorkflowExecutionStatus.RUNNING:
                return
            await asyncio.sleep(pause)
            pause = min(1.3 * pause, longest)

    # -- for agents -------------------------------------------------------------------------------

    async def tools(self, tools: Sequence[str], *, request: str = "") -> "list[BaseTool]":
        """Return tools for a graph or an agent of LangGraph, whose calls are calls of this session.

        A node that runs again after a crash makes no call twice: the id that the model gave to a
        call is its key. Names may have * for any part: `flight_*`. Of them, `request` selects those
        that fit the request to the agent; empty: all.
        """
        from orchestrator.client.langgraph_tools import session_tools  # needs the extra `langgraph`

        return session_tools(self, await self.offered(tools, request))

    async def offered(self, tools: Sequence[str], request: str = "") -> Sequence[OfferedTool]:
        """Return the tools to offer to an agent of any framework."""
        wanted = SessionOffer(tools=tuple(tools), request=request)
        return (await self._send(names.OFFER_UPDATE, wanted, OfferOutput)).tools

    # -- end --------------------------------------------------------------------------------------

    async def complete(self) -> SessionResult:
        """End the session: what it made stands.

        Raises:
            ToolCallFailed: the outcome of a call is unknown, and all calls were rolled back.
            SessionError: calls are under way, or the session was rolled back before.
        """
        await self.ask_to_end(EndSession(how="complete"))
        result = await self.result()
        if result.status == "completed":
            return result
        doubted = next((one for one in result.calls if one.outcome == "unknown"), None)
        if doubted is None:
            raise self._error("SessionOver", f"it was rolled back: {result.reason}")
        from orchestrator.workflows.guarded_call import ToolCallFailed  # loads the workflows

        raise ToolCallFailed(doubted.tool, "unknown", f"{doubted.reason}; all was rolled back")

    async def rollback(self, *, reason: str = "asked for") -> SessionResult:
        """Cancel all that the session made, and wait until everything is cancelled or parked.

        Calls under way are stopped; those that were sent are settled first.

        Raises:
            SessionError: the session was completed before.
        """
        await self.ask_to_end(EndSession(how="rollback", reason=reason))
        result = await self.result()
        if result.status != "rolled_back":
            raise self._error("SessionOver", "it was completed, and what it made stands")
        return result

    async def result(self) -> SessionResult:
        """Wait for the end of the session, and return what stands.

        Raises:
            SessionError: it is unknown, or was stopped from outside.
        """
        handle = self._connection.temporal.get_workflow_handle(
            self.session_id, result_type=SessionResult
        )
        await self.described()
        try:
            with self._connection.explaining(self.session_id):
                result: SessionResult = await handle.result()
        except WorkflowFailureError as failed:
            found = await self.described()
            how = found.status.name.lower() if found.status else "lost"
            show = command_lines.show_rollback(await self.saga_id())
            reason = f"it was {how} from outside; what it made is cancelled: see: {show}"
            raise self._error("SessionOver", reason) from failed
        return result

    async def ask_to_end(self, end: EndSession) -> None:
        """Ask the session to end; one that ends already, or has ended, is left as it is."""
        try:
            await self._send(names.END_UPDATE, end, str)
        except errors.SessionError as over:
            if over.code != "SessionOver":
                raise

    # -- updates ----------------------------------------------------------------------------------

    async def _send(self, name: str, message: Record, kind: type[T]) -> T:
        """Send an update; workers and servers that are replaced meanwhile are waited for."""
        await check_size(self._connection.temporal, message, what="the message")
        update_id = str(uuid.uuid4())

        async def send() -> T:
            return await self._connection.update(
                self.session_id, name, message, kind, about=self.session_id, update_id=update_id
            )

        for pause in (*_BETWEEN_RUNS, None):
            async with self._slots:
                try:
                    return await until_answered(send)
                except errors.CardUnknown:  # the workflow is over, unknown, or between two runs
                    found = await self.described()
            if found.status is not WorkflowExecutionStatus.RUNNING or pause is None:
                break
            await asyncio.sleep(pause)
        raise self._error("SessionOver", "it is over; start another with client.session()")

    async def saga_id(self) -> str:
        """Return the id of the session in its cards, and in `rollback show`."""
        info = (await self.described()).raw_description.workflow_execution_info
        return names.saga_id(names.SESSION_SAGA, self.session_id, info.first_run_id)

    async def described(self) -> WorkflowExecutionDescription:
        """Return the server's description of the session, or raise SessionError."""
        found: WorkflowExecutionDescription | None
        try:
            found = await self._connection.describe(self.session_id)
        except errors.MissionNotFound:
            found = None
        if found is None or found.workflow_type != names.SESSION_WORKFLOW:
            raise self._error(
                "SessionUnknown",
                "there is no such session; give the session_id of one that client.session() "
                "started, or start one",
            )
        return found

    def _error(self, code: str, reason: str) -> errors.SessionError:
        return errors.SessionError(self.session_id, reason, code=code)


async def start_session(
    connection: Connection, terms: SessionTerms, session_id: str | None = None
) -> SessionHandle:
    """Start a session, and return when a worker has it. See `MissionClient.session`."""
    made = session_id or f"session-{secrets.token_hex(5)}"
    if re.fullmatch(MISSION_ID_PATTERN, made) is None:
        raise errors.UsageError(
            f"{made!r} is no id of a session: letters, digits, '-' and '_', at most 80 of them"
        )
    await check_size(connection.temporal, terms, what="the session's terms")
    await connection.await_poller()
    handle = SessionHandle(connection, made)
    attributes: list[SearchAttributePair[Any]] = []
    if searchable(terms.requester):
        attributes.append(SearchAttributePair(REQUESTER, terms.requester))
    try:
        with connection.explaining():
            await connection.temporal.start_workflow(
                names.SESSION_WORKFLOW,
                terms,
                id=made,
                task_queue=connection.task_queue,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                memo={names.TERMS_MEMO: terms.digest},
                search_attributes=TypedSearchAttributes(attributes),
                static_summary=markdown_summary(
                    f"a session of {terms.requester}" if attributes else "a session"
                ),
            )
    except WorkflowAlreadyStartedError:
        there = await handle.described()
        if there.status is not WorkflowExecutionStatus.RUNNING:
            over = "it is over; choose another session id"
            raise errors.SessionError(made, over, code="SessionOver") from None
        if await there.memo_value(names.TERMS_MEMO, None) != terms.digest:
            taken = "it exists, with other terms; choose another session id"
            raise errors.SessionError(made, taken, code="SessionTaken") from None
    try:
        await connection.taken_up(made, within=_TAKEN_UP)
    except errors.NoAnswer:
        found = await handle.described()
        if (why := await connection.stuck(found)) is not None:
            raise why from None
        raise
    return handle
