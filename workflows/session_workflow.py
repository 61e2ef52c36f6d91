"""A session: one saga whose calls come as updates, from a loop that runs anywhere.

An update never waits for a card or a provider, as the server has room for ten of one workflow.
`begin` returns the id of a call, the memo lists the calls that have an outcome, and `outcome`
returns one.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from pydantic import Field
from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import SessionError, ToolNotFound
    from orchestrator.core.record import Record
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegWaiting
    from orchestrator.messages.session import (
        CallQuery,
        EndSession,
        SessionCall,
        SessionCallRef,
        SessionOffer,
        SessionResult,
        SessionStatus,
        SessionTerms,
        SessionWatch,
        WantedCall,
    )
    from orchestrator.messages.step import OfferOutput
    from orchestrator.workflows.failures import first_words, refuse
    from orchestrator.workflows.guarded_call import ToolCallFailed
    from orchestrator.workflows.saga_desk import Desk
    from orchestrator.workflows.tool_saga import SagaState, ToolSaga
    from orchestrator.workflows.waiting import until

MOST_CALLS: Final = 500
"""The most calls of one session: its ledger, its memo and its histories stay within the limits."""
LARGEST_ARGUMENTS: Final = 100_000
"""Characters of a call's arguments."""
_MOST_BODIES: Final = 300_000
"""Characters of the answers that a session holds for late readers, the newest ones."""


class SessionState(Record):
    """The state of a session that survives continue-as-new."""

    calls: tuple[SessionCall, ...] = ()
    saga: SagaState = Field(default_factory=SagaState)
    touched: datetime
    watchers: tuple[SessionWatch, ...] = ()


class SessionInput(SessionTerms):
    """The terms of a session, with its state in a previous run."""

    before: SessionState | None = None


class _Saga(ToolSaga):
    """The saga of a session, which also shows that the session is parked."""

    parked = ""

    @property
    def waits(self) -> dict[str, LegWaiting]:
        shown = {"idle": LegWaiting(stalled=self.parked)} if self.parked else {}
        return {**super().waits, **shown}


@workflow.defn(name=names.SESSION_WORKFLOW)
class SessionWorkflow:
    """Makes guarded calls until it is completed, rolled back, or idle for too long."""

    @workflow.init
    def __init__(self, given: SessionInput) -> None:
        before = given.before
        self._terms = terms = given.terms
        self._calls = {one.call_id: one for one in before.calls} if before else {}
        self._touched = before.touched if before else workflow.now()
        self._watchers = list(before.watchers) if before else []
        self._saga = _Saga(
            names.SESSION_SAGA,
            budget=terms.budget,
            requester=terms.requester,
            policy=terms.policy,
            state=before.saga if before else None,
        )
        self._is_open = False
        self._end: EndSession | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._signals: list[asyncio.Task[None]] = []
        self._known_tools: set[str] = set()
        Desk()

    @workflow.run
    async def run(self, given: SessionInput) -> SessionResult:
        """Serve the calls, and return what stands.

        A cancel request rolls back as well; the workflow then ends as cancelled.
        """
        status: SessionStatus = "completed"
        reason = ""
        try:
            async with self._saga:
                await self._serve()
        except ApplicationError as lost:  # the request to roll back, or a call in doubt at the end
            status, reason = "rolled_back", lost.message
        await workflow.wait_condition(workflow.all_handlers_finished)
        await asyncio.gather(*self._signals)
        return SessionResult(
            session_id=workflow.info().workflow_id,
            saga_id=self._saga.saga_id,
            status=status,
            reason=reason,
            calls=_bounded(self._calls.values()),
            ledger=self._saga.ledger,
        )

    async def _serve(self) -> None:
        """Make calls until the session is ended.

        Raises:
            ApplicationError: it is to be rolled back.
        """
        self._is_open = True
        for call_id in self._calls:
            self._start(call_id)
        try:
            end = await self._ended()
        except asyncio.CancelledError:
            self._end = EndSession(how="rollback")  # no call begins meanwhile
            await self._stop_calls()
            raise
        if end.how == "rollback":
            await self._stop_calls()
            raise ApplicationError(end.reason or "somebody asked for it", type="SessionRolledBack")

    # -- calls ------------------------------------------------------------------------------------

    @workflow.update(name=names.BEGIN_UPDATE)
    async def begin(self, wanted: WantedCall) -> str:
        """Begin a call, unless a call of its key exists; return its id."""
        self._touched = workflow.now()
        if wanted.tool not in self._known_tools:
            try:
                await self._saga.offered([wanted.tool], "")
            except ActivityError as error:
                cause = error.cause
                if isinstance(cause, ApplicationError) and cause.type == ToolNotFound.__name__:
                    raise self._refused("ToolUnknown", cause.message) from error
                raise
            self._known_tools.add(wanted.tool)
            self.check_begin(wanted)  # others may have begun calls meanwhile
        call_id = _call_id(wanted)
        if call_id not in self._calls:
            self._calls[call_id] = SessionCall(
                call_id=call_id, tool=wanted.tool, digest=wanted.digest, wanted=wanted
            )
            self._start(call_id)
        return call_id

    @begin.validator
    def check_begin(self, wanted: WantedCall) -> None:
        """Refuse a call that the session cannot make, before it enters history."""
        known = self._calls.get(_call_id(wanted))
        if known is not None and known.digest == wanted.digest:
            return
        if known is not None:
            raise self._refused(
                "KeyTaken",
                f"the key {wanted.key!r} belongs to a call of {known.tool} with other arguments; "
                "give each call a key of its own",
            )
        self._check_not_over()
        if len(self._calls) >= MOST_CALLS:
            raise self._refused(
                "SessionFull",
                f"it has made {MOST_CALLS} calls; complete it, and go on in another session",
            )
        if len(str(wanted.arguments)) > LARGEST_ARGUMENTS:
            raise self._refused(
                "ArgumentsTooLarge",
                f"the arguments of {wanted.tool} have more than {LARGEST_ARGUMENTS:,} characters; "
                "give a reference, such as an id or a URL, in place of the content",
            )
        if "*" in wanted.tool or "?" in wanted.tool or "[" in wanted.tool:
            raise self._refused("ToolUnknown", f"{wanted.tool!r} is no name of a tool")

    def _start(self, call_id: str) -> None:
        """Start a call that was begun and not started; a new run starts those of its past."""
        if self._is_open and (wanted := self._calls[call_id].wanted) is not None:
            self._update(call_id, wanted=None)
            self._tasks[call_id] = asyncio.create_task(self._make(call_id, wanted))

    async def _make(self, call_id: str, wanted: WantedCall) -> None:
        try:
            body = await self._saga.call(
                wanted.tool, wanted.arguments, reason=wanted.reason, key=wanted.key
            )
        except ToolCallFailed as failed:
            self._update(
                call_id,
                outcome=failed.outcome,
                reason=failed.reason,
                hint=failed.hint,
                body=failed.body,
            )
        except ActivityError as error:  # it could not be prepared, so nothing was sent
            self._update(call_id, outcome="refused", reason=first_words(error))
        except asyncio.CancelledError:
            self._update(call_id, outcome="cancelled", reason="the session was ended")
        else:
            self._update(call_id, outcome="succeeded", body=body)
        del self._tasks[call_id]
        self._touched = workflow.now()
        self._calls = {one.call_id: one for one in _bounded(self._calls.values())}
        workflow.upsert_memo({f"{names.OUTCOME_MEMO}{call_id}": self._calls[call_id].outcome})
        for one in [one for one in self._watchers if one.call_id == call_id]:
            self._watchers.remove(one)
            self._notify(one)

    def _update(self, call_id: str, **changes: object) -> None:
        self._calls[call_id] = self._calls[call_id].model_copy(update=changes)

    @workflow.update(name=names.OUTCOME_UPDATE)
    def outcome(self, asked: CallQuery) -> SessionCall:
        """Return a call, with its outcome if it has one."""
        self._touched = workflow.now()
        return self._calls[asked.call_id]

    @outcome.validator
    def check_outcome(self, asked: CallQuery) -> None:
        """Refuse the id of no call."""
        if asked.call_id not in self._calls:
            reason = f"it has no call {asked.call_id!r}; give an id of `begin`"
            raise self._refused("CallUnknown", reason)

    @workflow.update(name=names.OFFER_UPDATE)
    async def offer(self, wanted: SessionOffer) -> OfferOutput:
        """Return tools to show to an agent."""
        self._touched = workflow.now()
        try:
            return OfferOutput(tools=tuple(await self._saga.offered(wanted.tools, wanted.request)))
        except ActivityError as error:
            raise self._refused("ToolUnknown", first_words(error)) from error

    # -- watchers ---------------------------------------------------------------------------------

    @workflow.signal(name=names.WATCH_SIGNAL)
    def watch(self, wanted: SessionWatch) -> None:
        """Signal a workflow when a call has its outcome, which may be now."""
        call = self._calls.get(wanted.call_id)
        if call is None or call.outcome:
            self._notify(wanted)
        else:
            self._watchers.append(wanted)

    def _notify(self, watcher: SessionWatch) -> None:
        task = asyncio.create_task(self._signal(watcher))
        self._signals.append(task)
        task.add_done_callback(self._signals.remove)

    async def _signal(self, watcher: SessionWatch) -> None:
        call = self._calls.get(watcher.call_id)
        if call is None:
            call = SessionCall(
                call_id=watcher.call_id,
                tool="",
                digest="",
                outcome="invalid",
                reason=f"the session has no call {watcher.call_id!r}; give an id of `begin`",
            )
        handle = workflow.get_external_workflow_handle(watcher.workflow_id)
        with contextlib.suppress(FailureError):  # it waits no longer
            await handle.signal(names.CALL_SETTLED_SIGNAL, call)

    # -- end --------------------------------------------------------------------------------------

    @workflow.update(name=names.END_UPDATE)
    def end(self, wanted: EndSession) -> str:
        """End the session, and return how; the workflow's result says what stands."""
        self._end = wanted
        return wanted.how

    @end.validator
    def check_end(self, wanted: EndSession) -> None:
        """Refuse to complete a session with calls under way."""
        if self._end is not None and self._end.how == wanted.how:
            return
        self._check_not_over()
        if wanted.how == "complete" and self._tasks:
            raise self._refused(
                "SessionBusy",
                f"{len(self._tasks)} calls are under way ({', '.join([*self._tasks][:3])}); "
                "wait for their outcomes, or roll the session back",
            )

    async def _ended(self) -> EndSession:
        """Wait until the session is ended, by somebody or by its idle limit."""
        while self._end is None:
            if self._is_ready_for_new_run():
                self._continue_as_new()
            due = self._touched + self._terms.idle_limit
            if self._tasks:
                await workflow.wait_condition(lambda: self._end is not None or not self._tasks)
            elif workflow.now() < due:
                with contextlib.suppress(TimeoutError):
                    await workflow.wait_condition(
                        lambda: self._end is not None or self._is_ready_for_new_run(),
                        timeout=until(due),
                        timeout_summary="the session's idle limit",
                    )
            elif self._terms.on_idle == "park":
                await self._parked(due)
            else:
                reason = f"nobody has touched the session for {self._terms.idle_limit}"
                self._end = EndSession(how="rollback", reason=reason)
        return self._end

    async def _parked(self, due: datetime) -> None:
        """Show that nobody uses the session, until somebody does."""
        session_id, before = workflow.info().workflow_id, self._touched
        self._saga.parked = (
            f"nobody has used the session {session_id} since {before:%Y-%m-%d %H:%M} UTC; go on "
            "with it, complete it, or roll it back"
        )
        self._saga.changed()
        await workflow.wait_condition(
            lambda: self._end is not None or self._touched != before or bool(self._tasks)
        )
        self._saga.parked = ""
        self._saga.changed()

    async def _stop_calls(self) -> None:
        """Cancel the calls under way; those that were sent are settled."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)

    def _is_ready_for_new_run(self) -> bool:
        """Return True if the server suggests a new run, and nothing is in flight in this one."""
        in_flight = self._tasks or self._signals or not workflow.all_handlers_finished()
        return workflow.info().is_continue_as_new_suggested() and not in_flight

    def _continue_as_new(self) -> None:
        state = SessionState(
            calls=_bounded(self._calls.values()),
            saga=self._saga.state,
            touched=self._touched,
            watchers=tuple(self._watchers),
        )
        memo = {
            f"{names.OUTCOME_MEMO}{call_id}": call.outcome
            for call_id, call in self._calls.items()
            if call.outcome
        }
        memo[names.TERMS_MEMO] = self._terms.digest
        workflow.continue_as_new(SessionInput(**dict(self._terms), before=state), memo=memo)

    def _check_not_over(self) -> None:
        if self._end is not None:
            raise self._refused("SessionOver", "it is over; start another with client.session()")

    def _refused(self, code: str, reason: str) -> ApplicationError:
        return refuse(SessionError(workflow.info().workflow_id, reason, code=code))


@workflow.defn(name=names.SESSION_CALL_WORKFLOW)
class SessionCallWorkflow:
    """Waits for the outcome of a call of a session, for a Nexus operation."""

    def __init__(self) -> None:
        self._call: SessionCall | None = None

    @workflow.run
    async def run(self, asked: SessionCallRef) -> SessionCall:
        """Return the call with its outcome, whatever it is.

        Raises:
            ApplicationError: the session is over.
        """
        session = workflow.get_external_workflow_handle(asked.session_id)
        watch = SessionWatch(call_id=asked.call_id, workflow_id=workflow.info().workflow_id)
        try:
            await session.signal(names.WATCH_SIGNAL, watch)
        except FailureError as gone:
            reason = "it is over, or never was; start one with the operation `open`"
            raise refuse(SessionError(asked.session_id, reason, code="SessionOver")) from gone
        await workflow.wait_condition(lambda: self._call is not None)
        if self._call is None:
            raise RuntimeError("the wait has no outcome")
        return self._call

    @workflow.signal(name=names.CALL_SETTLED_SIGNAL)
    def call_settled(self, call: SessionCall) -> None:
        """Take the outcome."""
        self._call = call


def _call_id(wanted: WantedCall) -> str:
    return f"key-{wanted.key}"


def _bounded(calls: Iterable[SessionCall]) -> tuple[SessionCall, ...]:
    """Return the calls, of which only the newest have bodies."""
    left, found = _MOST_BODIES, []
    for call in reversed(list(calls)):
        left -= 0 if call.body is None else len(str(call.body))
        if left < 0 and call.body is not None:
            call = call.model_copy(update={"body": None, "is_body_dropped": True})
        found.append(call)
    return tuple(reversed(found))
