"""Guarded tool calls of any workflow: calls run as approved, and a failure cancels all of them.

    @workflow.defn
    class Trip:
        @workflow.run
        async def run(self, offer_id: str) -> str:
            async with ToolSaga(requester="ana@example.com") as saga:
                flight = await saga.call("flight_book_offer", {"offer_id": offer_id})
                await saga.call("hotel_book_room", {...})  # fails for good: the flight is cancelled
            return flight["booking_id"]

A mission makes the calls of its legs through the same `Caller`, and rolls back in the same way.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import Field, JsonValue
from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import ConfirmationCard, DecisionRecord
    from orchestrator.core.budget import Money, Spend
    from orchestrator.core.errors import UsageError
    from orchestrator.core.record import JsonObject, Record
    from orchestrator.messages import names
    from orchestrator.messages.hold import (
        FailedCall,
        Hold,
        HoldRecord,
        rolls_back_at,
        why_not_repaired,
    )
    from orchestrator.messages.leg import LegInput, LegState, LegWaiting
    from orchestrator.messages.mission_policy import CatalogPin, MissionPolicy, OnFailure
    from orchestrator.messages.observed import MODES, OBSERVED, Mode, ObservedRun
    from orchestrator.messages.receipts import Receipt, receipts_of
    from orchestrator.messages.rollback import RollbackReport
    from orchestrator.messages.session import KEY_PATTERN
    from orchestrator.messages.step import OfferedTool, OfferInput, OfferOutput
    from orchestrator.planning.models import CODE, AgentProfile, CallTool, Fact, LegPlan
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.obligation import ObligationState
    from orchestrator.saga.orders import Order
    from orchestrator.workflows import calls, running, ui
    from orchestrator.workflows.failures import WORK_FAILURES, first_words
    from orchestrator.workflows.guarded_call import GuardedCall, ToolCallFailed
    from orchestrator.workflows.leg_view import MergedLedger, facts_of
    from orchestrator.workflows.mission_budget import MissionBudget
    from orchestrator.workflows.mission_hold import (
        question_before_rollback,
        record_of,
        rejected_for_good,
    )
    from orchestrator.workflows.mission_limits import MissionLimits
    from orchestrator.workflows.own_rollback import OwnRollback
    from orchestrator.workflows.saga_desk import MISUSED, Desk, desk_of_run, misused
    from orchestrator.workflows.scope import work_for
    from orchestrator.workflows.waiting import finish_despite_cancel

    if TYPE_CHECKING:
        from agents import FunctionTool

        from orchestrator.workflows.pydantic_ai_tools import GuardedToolset

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,29}")
_KEY: Final = re.compile(KEY_PATTERN)
_FAILURES: Final = (FailureError, TimeoutError, asyncio.CancelledError)
"""The exceptions that fail a workflow; any other fails its task, which is tried again."""
_END: Final = "end"
"""The id of the question about an exception that leaves the block; calls have other ids."""
_BEFORE: Final = "before"
"""The leg under which a budget counts the spending of earlier runs of the workflow."""
_MOST_FACTS: Final = 50
_MOST_FACT_CHARACTERS: Final = 100_000
"""Limit of the earlier answers passed to the preparation of a call: history holds each of them."""


class SagaState(Record):
    """The state of a saga that survives continue-as-new; pass `saga.state` to the next run."""

    number: int = Field(default=0, description="number of calls without a key")
    keys: tuple[str, ...] = Field(default=(), description="keys of its calls")
    ledger: Ledger = Field(default_factory=Ledger)
    taken: Spend = Field(default_factory=Spend, description="spending of the budget")
    facts: tuple[Fact, ...] = Field(default=(), description="answers, for the cards of later calls")
    decisions: tuple[DecisionRecord, ...] = ()
    observed: bool | None = Field(default=None, description="not guarded; None: no call was made")
    doubt: str = Field(
        default="",
        description="a call and the reason why all is rolled back, even if its failure is caught",
    )


class SagaDecision(NamedTuple):
    """A person's decision on a failure: its effects are kept, or (None) rolled back."""

    error: BaseException
    kept: frozenset[str] | None
    """The ids of the obligations that stood when it was decided."""


class ToolSaga:
    """Tool calls of a workflow, each prepared, confirmed, recorded, sent and settled.

    The block ends when every call is settled. An exception that leaves it, a cancel request
    included, starts a rollback workflow and waits until each obligation is cancelled or parked;
    then the exception is raised again. `continue_as_new` rolls nothing back: pass `state` to the
    next run. The worker needs an `OrchestratorPlugin`, or is made with `workflows=[...]`
    (`run_worker`).
    """

    task_queue: Final = None
    """Of the saga's activities; None: the workflow's own."""

    def __init__(
        self,
        name: str = "saga",
        *,
        budget: Money | None = None,
        requester: str = "",
        policy: MissionPolicy | None = None,
        read_only: bool = False,
        mode: Mode | None = None,
        on_failure: OnFailure | None = None,
        state: SagaState | None = None,
    ) -> None:
        """Prepare a saga; nothing is sent before its first call.

        Args:
            name: distinguishes the sagas of one workflow; lower-case letters, digits, `_` and `-`.
            budget: limit of the total price of its calls; None: no limit.
            requester: the person who asks for the calls, for rules on approvers.
            policy: of confirmations, waits and spending; it may only tighten the worker's.
            read_only: True if calls with consequences are refused.
            mode: `observe` to make every call as it is, and only record what a guard would have
                done, where the workers allow that; None: that of `state`, else of the plugin.
            on_failure: `ask`: a failure after effects is asked about before it is raised, and
                before all is rolled back; None: as the policy says.
            state: `state` of the previous run.

        Raises:
            ApplicationError: the name is not valid, or the mode is not that of the previous run.
            UsageError: the caller is not a workflow.
        """
        if not _NAME.fullmatch(name):
            raise misused(f"{name!r} is no name of a saga: it has to match {_NAME.pattern}")
        if not workflow.in_workflow():
            raise UsageError(
                "a ToolSaga is of a Temporal workflow: make it in the workflow's run method; "
                "elsewhere, MissionClient starts a mission"
            )
        info = workflow.info()
        self.saga_id: Final = names.saga_id(name, info.workflow_id, info.first_execution_run_id)
        """Id of the saga in `rollback show`, and prefix of its card ids."""
        self._budget = MissionBudget(budget)
        self._limits = MissionLimits(dict)
        self._requester = requester
        self._policy = policy or MissionPolicy()
        self._read_only = read_only
        self._on_failure: Final = on_failure or self._policy.on_failure
        self._decision: SagaDecision | None = None
        self._before = state or SagaState()
        self._state = self._before
        self._observed = self._is_observed(mode, state)
        self._is_fresh = state is None
        self._noted: ObservedRun | None = None
        if state is not None:
            self._budget.resume({_BEFORE: state.taken}, {})
        self._limit = budget
        self._catalog: CatalogPin | None = None
        self._pinning = asyncio.Lock()
        self._under_way: dict[str, GuardedCall] = {}
        self._beginning = 0
        self._is_over = False
        self._ledger = MergedLedger(
            lambda: [
                self._state.ledger,
                *(call.progress.state.ledger for call in self._under_way.values()),
            ]
        )
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._failed: list[str] = []
        self._desk: Desk | None = None
        self._rollback = OwnRollback(self.saga_id, requester, workflow_id=info.workflow_id)
        self._rolled_back: Ledger | None = None

    def _is_observed(self, mode: Mode | None, state: SagaState | None) -> bool | None:
        """Return True in the mode `observe`; None if the worker decides.

        Raises:
            ApplicationError: the mode is not that of the earlier runs of the workflow.
        """
        if mode is not None and mode not in MODES:
            raise misused(f"{mode!r} is no mode of a saga; it has one of: {', '.join(MODES)}")
        before = None if state is None else state.observed
        if before is not None and mode is not None and before != (mode == "observe"):
            was = OBSERVED if before else "guarded"
            raise misused(
                f"the saga {self.saga_id} was {was} in the run before, and stays so to its "
                "end: leave the mode out where the state is passed"
            )
        return before if before is not None or mode is None else mode == "observe"

    # -- state ------------------------------------------------------------------------------------

    @property
    def mode(self) -> Mode | None:
        """Its mode; None before the first call, if the worker decides."""
        if self._observed is None:
            return None
        return "observe" if self._observed else "guard"

    @property
    def state(self) -> SagaState:
        """The state from which the next run of the workflow continues.

        Raises:
            ApplicationError: a call is under way, which the next run would not know.
        """
        if self.is_calling:
            raise misused(
                f"{len(self._under_way) + self._beginning} calls of the saga are under way: wait "
                "for them, then "
                "continue as new with its state"
            )
        return self._state.model_copy(update={"ledger": self.ledger})

    @property
    def ledger(self) -> Ledger:
        """The obligations that its calls left; after a rollback, their final states."""
        if self._rolled_back is not None:
            return self._rolled_back
        return self._ledger()

    @property
    def is_calling(self) -> bool:
        """True while a call is under way."""
        return bool(self._under_way) or self._beginning > 0

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """Proof of each consequence that stands."""
        return receipts_of(self.ledger)

    @property
    def cards(self) -> tuple[ConfirmationCard, ...]:
        """The cards that wait for a decision, in the order of their calls."""
        waiting = (call.progress.waiting.card for call in self._under_way.values())
        return tuple(card for card in waiting if card is not None)

    @property
    def waits(self) -> dict[str, LegWaiting]:
        """The waits of the calls under way, by the call's id in the saga."""
        waits = {leg_id: call.progress.waiting for leg_id, call in self._under_way.items()}
        return {leg_id: one for leg_id, one in waits.items() if one != LegWaiting()}

    # -- calls ------------------------------------------------------------------------------------

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, JsonValue] | None = None,
        *,
        reason: str = "",
        key: str | None = None,
        on_failure: OnFailure | None = None,
    ) -> JsonValue:
        """Make one call and return its answer; several may be under way at once.

        Args:
            tool: its name in the catalog.
            arguments: with personal values as handles.
            reason: the reason for the call, for the person who reads its card.
            key: names the call, in place of its number, so that a workflow that calls in another
                order after a reset keeps the idempotency key of each call. Unique in the saga.
            on_failure: `rollback`: the failure is raised at once, for a block that handles it;
                None: as the saga's.

        Raises:
            ToolCallFailed: the call was not made, or did not succeed.
            asyncio.CancelledError: a cancel request arrived. A call that was sent is settled all
                the same, and is in the ledger.
        """
        if self._desk is None or self._is_over:
            raise misused("calls are made inside of `async with ToolSaga(...) as saga`")
        leg_id = self._next_id(key)
        self._beginning += 1  # the end of the block waits for it
        try:
            pinned = await self._pinned()
        finally:
            self._beginning -= 1
        if self._is_over and not self._observed:
            raise misused(f"{tool} was not called: an exception has ended the block of the saga")
        earlier = workflow.info().continued_run_id
        if self._observed and earlier and self._is_fresh:  # a run before may have had this id
            leg_id = f"{leg_id}-{earlier[:8]}"
        made = self._new_call(self._terms(leg_id, tool, pinned))
        self._under_way[leg_id] = made
        if not self._observed and (task := asyncio.current_task()) is not None:
            self._tasks[leg_id] = task
        wanted = CallTool(tool=tool, arguments=dict(arguments or {}), reason=reason)
        asks = not self._observed and (on_failure or self._on_failure) == "ask"
        try:
            answer = await made.run(wanted, self._repair if asks else None)
        except WORK_FAILURES as error:
            unclear = isinstance(error, ToolCallFailed) and error.outcome == "unknown"
            undecided = leg_id in self._budget.overcharges
            if unclear or undecided or rejected_for_good(made.progress.state.decisions):
                why = first_words(error) or "nobody decided on its overcharge"
                self._state = self._state.model_copy(update={"doubt": f"{tool}: {why}"})
            self._settle(leg_id, made)
            if isinstance(error, ToolCallFailed):
                self._failed.append(f"{tool} was {error.outcome}")
            raise
        self._settle(leg_id, made)
        return answer

    def _new_call(self, terms: LegInput) -> GuardedCall:
        return GuardedCall(
            terms, self._budget, self._limits, changed=self.changed, ledger=lambda: self.ledger
        )

    # -- before a rollback ------------------------------------------------------------------------

    async def _repair(
        self, made: GuardedCall, wanted: CallTool, failed: ToolCallFailed
    ) -> CallTool:
        """Return the call to make after a failure, as a person decides.

        Raises:
            ToolCallFailed: the given one; all is rolled back or kept.
        """
        if rejected_for_good(made.progress.state.decisions):
            raise failed
        call = FailedCall(tool=wanted.tool, arguments=wanted.arguments)
        decided = await self._decide(made, Hold(error=failed.message, failed=call), failed)
        if decided is None or decided.decision != "repair":
            raise failed
        changed = {**wanted.arguments, **(decided.arguments or {})}
        return wanted.model_copy(update={"arguments": changed})

    async def _decide(
        self, asking: GuardedCall, hold: Hold, error: BaseException
    ) -> HoldRecord | None:
        """Ask about a failure; None: nothing stands, or only a rollback can find out what does."""
        ledger = self.ledger
        if why_not_repaired(ledger):
            return None
        limit = self._policy.hold_limit
        question = question_before_rollback(
            hold,
            ledger,
            question_id=names.hold_id(asking.progress.leg.call_id),
            mission_id=self.saga_id,
            limit=limit,
        )
        if question is None:
            return None
        asked_at = workflow.now()
        answer = await asking.questions.decide(
            question, lambda: rolls_back_at(self.ledger, asked_at, limit)
        )
        record = record_of(question, answer)
        if record.decision != "repair":
            known = frozenset(one.obligation_id for one in self.ledger.live())
            self._decision = SagaDecision(error, known if record.decision == "keep" else None)
        return record

    async def _decide_at_end(self, error: BaseException) -> None:
        """Ask about an exception that leaves the block, unless its failure was decided on."""
        is_misuse = isinstance(error, ApplicationError) and error.type == MISUSED
        over = workflow.cancellation_reason() is not None or is_cancelled_exception(error)
        if self._on_failure != "ask" or is_misuse or over or self._is_decided:
            return
        terms = self._terms(_END, "", await self._pinned())
        asking = self._new_call(terms)
        self._under_way[_END] = asking
        try:
            refusal = "the block of the saga has ended"
            await self._decide(asking, Hold(error=first_words(error), no_repair=refusal), error)
        finally:
            del self._under_way[_END]
            self.changed()

    @property
    def _is_decided(self) -> bool:
        """True if a person decided on all that stands now."""
        decided = self._decision
        return decided is not None and (
            decided.kept is None
            or all(one.obligation_id in decided.kept for one in self.ledger.live())
        )

    async def _pinned(self) -> CatalogPin:
        async with self._pinning:
            if self._catalog is None:
                self._catalog = pinned = await calls.pin_catalog()
                if self._observed is None:
                    self._observed = pinned.observes
                self._state = self._state.model_copy(update={"observed": self._observed})
                self._note()
            return self._catalog

    def _note(self, failed: str = "", *, ended: bool = False) -> None:
        """Note for lists and reports that the saga is not guarded, and on what terms."""
        if self._observed:
            noted = ObservedRun(
                policy=self._policy,
                budget=self._limit,
                requester=self._requester,
                failed=failed,
                ended=ended,
            )
            ui.note_observed(self.saga_id, noted, before=self._noted)
            self._noted = noted

    # -- for agents -------------------------------------------------------------------------------

    def toolset(self, *, tools: Sequence[str], prune: bool = True) -> "GuardedToolset":
        """Return tools for an agent of pydantic-ai, whose calls are calls of this saga.

        Args:
            tools: names, with * for any part: `flight_*`.
            prune: True if each request to the model has only the tools that fit it.
        """
        with workflow.unsafe.imports_passed_through():
            from orchestrator.workflows.pydantic_ai_tools import GuardedToolset

        return GuardedToolset(_ForAgents(self), tools, prune=prune)

    async def function_tools(
        self, *, tools: Sequence[str], request: str = ""
    ) -> "list[FunctionTool]":
        """Return tools for an agent of the OpenAI Agents SDK, whose calls are calls of this saga.

        Args:
            tools: names, with * for any part: `flight_*`.
            request: the request to the agent, which selects the tools that fit it; empty: all
                tools.
        """
        with workflow.unsafe.imports_passed_through():
            from orchestrator.workflows.openai_agents_tools import function_tools

        return await function_tools(_ForAgents(self), tools, request=request)

    async def offered(self, tools: Sequence[str], request: str) -> Sequence[OfferedTool]:
        """Return the tools to offer to an agent, for frameworks without a method above."""
        digest = (await self._pinned()).digest
        wanted = OfferInput(catalog_digest=digest, tools=tuple(tools), request=request)
        offered = await running.run_locally(
            names.OFFER_TOOLS,
            wanted,
            result_type=OfferOutput,
            summary="choose the tools that an agent is offered",
            **running.LOCAL,
        )
        return offered.tools

    def _next_id(self, key: str | None) -> str:
        if key is None:
            number = self._state.number + 1
            self._state = self._state.model_copy(update={"number": number})
            return f"call-{number}"
        if not _KEY.fullmatch(key) or key in self._state.keys:
            raise misused(
                f"{key!r} names no call: a key has to match {_KEY.pattern} and is used once"
            )
        self._state = self._state.model_copy(update={"keys": (*self._state.keys, key)})
        return f"key-{key}"

    def _terms(self, leg_id: str, tool: str, catalog: CatalogPin) -> LegInput:
        order = Order(tools=(tool,))
        return LegInput(
            mission_id=self.saga_id,
            origin=workflow.info().first_execution_run_id,
            mission_goal="",
            leg=LegPlan(
                leg_id=leg_id,
                goal="",
                agent=AgentProfile(name=workflow.info().workflow_type),
                orders=(order,),
                planned_by=CODE,
            ),
            facts=self._state.facts,
            budget=self._limit,
            policy=self._policy,
            read_only=self._read_only,
            observe=bool(self._observed),
            covered=(order,),
            requester=self._requester,
            catalog=catalog,
            started_at=workflow.now(),
            state=LegState(),
        )

    def _settle(self, leg_id: str, made: GuardedCall) -> None:
        """Store the ledger, spending and answers of a call that is over."""
        self._under_way.pop(leg_id, None)
        self._tasks.pop(leg_id, None)
        done = made.progress.leg
        self._budget.settle(leg_id, done.state.taken)
        self._budget.release(leg_id)
        self._state = self._state.model_copy(
            update={
                "ledger": Ledger.merged([self._state.ledger, done.state.ledger]),
                "taken": Spend.total([self._state.taken, done.state.taken]),
                "decisions": (*self._state.decisions, *done.state.decisions),
            }
        )
        if not self._observed:  # its calls have no cards
            kept: list[Fact] = []
            left = _MOST_FACT_CHARACTERS
            for fact in reversed((*self._state.facts, *facts_of(done))[-_MOST_FACTS:]):
                left -= len(fact.model_dump_json())
                if left < 0:
                    break
                kept.append(fact)
            facts = tuple(reversed(kept))
            self._state = self._state.model_copy(update={"facts": facts})
        self.changed()

    def changed(self) -> None:
        """Show the current waits of the saga."""
        if self._desk is not None:
            self._desk.show()

    # -- beginning and end ------------------------------------------------------------------------

    async def __aenter__(self) -> "ToolSaga":
        """Register the saga at the workflow's desk, where people decide on its cards."""
        desk = desk_of_run()
        if desk.was_observed and self._is_fresh:
            if self._observed is False:
                raise misused(
                    f"an earlier run of the workflow was {OBSERVED}, and it stays so to its end: "
                    "leave the mode of the saga out, or start another workflow"
                )
            self._observed = True
        desk.begin(self)
        self._desk = desk
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Settle the calls under way; roll back if an exception leaves the block.

        Raises:
            ToolCallFailed: the outcome of a call is unknown, and all calls were rolled back.
            ApplicationError: all calls were rolled back for an exception that Temporal does not
                take for a failure, such as a KeyError. Retrying the workflow task until the code
                is fixed would then find a rollback in the history that the fixed code never
                starts.
        """
        if error is not None and not isinstance(error, WORK_FAILURES):
            return  # continue-as-new, or a worker that evicts the run: nothing has failed
        _, cancelled = await finish_despite_cancel(self._settle_all(error))
        if error is not None and not cancelled and not self._observed and self.ledger.live():
            try:
                await self._decide_at_end(error)
            except asyncio.CancelledError:
                cancelled = True
        _, cancelled_later = await finish_despite_cancel(self._end(error))
        if (cancelled or cancelled_later) and error is None and self._rolled_back is None:
            raise asyncio.CancelledError
        if error is not None and self._rolled_back is not None and not isinstance(error, _FAILURES):
            raise ApplicationError(
                first_words(error), type=type(error).__name__, non_retryable=True
            ) from error

    async def _settle_all(self, error: BaseException | None) -> None:
        if error is not None:
            self._is_over = True
            for task in self._tasks.values():
                task.cancel()
        while self.is_calling:
            await workflow.wait_condition(lambda: not self.is_calling)
        self._is_over = True

    async def _end(self, error: BaseException | None) -> None:
        work_for(self)
        if self._observed:
            self._note("" if error is None else first_words(error), ended=True)
            await self._close()
            return
        decided, lost = self._decision, error
        if error is None:  # the block may have caught a failure for which all is rolled back
            doubts = (o for o in self.ledger.obligations if o.state is ObligationState.INTENDED)
            if (doubt := next(doubts, None)) is not None:
                reason = "whether it took effect is unknown; all was rolled back"
                lost = ToolCallFailed(doubt.tool, "unknown", reason)
            elif decided is not None and decided.kept is None:
                lost = decided.error
            elif self._state.doubt and self.ledger.live() and not self._is_decided:
                tool, _, why = self._state.doubt.partition(": ")
                lost = ToolCallFailed(tool, "unknown", f"{why}; all was rolled back")
        kept = decided is not None and decided.kept is not None and self._is_decided
        if lost is not None and (error is None or not kept):
            self._rolled_back = await self._rollback.run(first_words(lost), self.ledger)
        else:
            if error is None and self._failed and self.ledger.live():
                workflow.logger.warning(
                    "the saga %s stands although %s, for its block caught that: let ToolCallFailed "
                    "leave the block where all is to be cancelled",
                    self.saga_id,
                    ", ".join(self._failed),
                )
            await self._rollback.let_stand(self.ledger)
        await self._close()
        if error is None and lost is not None:
            raise lost

    async def _close(self) -> None:
        if (desk := self._desk) is not None:
            # Not the workflow's own handlers, because the block may run in one of them.
            await workflow.wait_condition(lambda: desk.is_idle)
            desk.end(self)
        self._desk = None

    def stall(self, why: str) -> None:
        """Ignore the reason why the saga's end waits for state: the log of `calls` has it."""

    def call_of(self, asked: str) -> GuardedCall | None:
        """Return the call under way that a card or a question belongs to."""
        return self._under_way.get(names.leg_of(asked))

    @property
    def decisions(self) -> tuple[DecisionRecord, ...]:
        """The decisions of people on the saga's calls."""
        return self._state.decisions

    def hear(self, report: RollbackReport) -> None:
        """Take a rollback's signal, which means that there is a report to read."""
        self._rollback.hear(report)


class _ForAgents:
    """The calls of a saga for an agent, whose model may recover from a failure: nobody is asked."""

    def __init__(self, saga: ToolSaga) -> None:
        self._saga = saga
        self.offered: Final = saga.offered

    async def call(self, tool: str, arguments: JsonObject, *, reason: str = "") -> JsonValue:
        """Make one call and return its answer."""
        return await self._saga.call(tool, arguments, reason=reason, on_failure="rollback")
