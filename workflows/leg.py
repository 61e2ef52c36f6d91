"""One leg of a mission: select tools, plan one step, do it, until the goal is reached or lost.

Invariant: a side effect is in the leg's ledger before its call is scheduled, and its outcome is in
the ledger before the leg ends, even when a cancel request arrives while the call is on its way.
"""

import asyncio
from datetime import datetime

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator import contracts
    from orchestrator.budget import Money, over_budget
    from orchestrator.confirm import DecisionEnvelope, DecisionReceipt, DecisionRecord, Reject
    from orchestrator.contracts import (
        AnswerInput,
        LegInput,
        LegState,
        LegWaiting,
        PreparedCall,
        PrepareInput,
        ReserveInput,
        ReserveOutput,
        ToolCall,
    )
    from orchestrator.mission import LegResult, LegStatus, Question, StepRecord
    from orchestrator.outcome import ToolOutcome
    from orchestrator.planning.decision import (
        AskUser,
        CallTool,
        DiscoverTools,
        Fact,
        Finish,
        GiveUp,
        Observation,
        StepContext,
    )
    from orchestrator.record import JsonObject
    from orchestrator.routing.selection import Selection
    from workflows import calls
    from workflows.asking import Asking, NotConfirmed
    from workflows.confirmation import grant_of
    from workflows.failures import LOST, first_words
    from workflows.leg_view import details
    from workflows.questions import Inquiry
    from workflows.waiting import finish_despite_cancel

_STATUS = SearchAttributeKey.for_keyword(contracts.STATUS_ATTRIBUTE)


class LegLost(Exception):
    """The leg cannot reach its goal; its text is the first error of the mission."""


@workflow.defn(name=contracts.LEG_WORKFLOW)
class LegWorkflow:
    """Runs one leg for one agent."""

    @workflow.init
    def __init__(self, leg: LegInput) -> None:
        """Take up the state of the run before, or an empty one."""
        self._input = leg
        self._state: LegState = leg.state
        closed = {d.confirmation_id: d.kind for d in leg.state.decisions if d.kind != "amended"}
        self._asking = Asking(self, leg.policy.confirmation, closed)
        self._inquiry = Inquiry()
        self._reservations: dict[str, ReserveOutput] = {}

    @workflow.run
    async def run(self, _leg: LegInput) -> LegResult:
        """Reach the leg's goal.

        Raises:
            ApplicationError: LegFailed, its details the same LegResult that a success returns.
        """
        try:
            await self._work()
        except LegLost as lost:
            self._end(LegStatus.FAILED, error=str(lost))
        except LOST as error:
            if is_cancelled_exception(error):
                self._end(LegStatus.CANCELLED, error="cancelled")
                await self._drain()
                raise
            if not isinstance(error, FailureError):
                raise
            self._end(LegStatus.FAILED, error=first_words(error))
        await self._drain()
        result = self.result()
        if result.status is LegStatus.FAILED:
            raise ApplicationError(
                result.error or "the leg failed",
                result,
                type=contracts.LEG_FAILED,
                non_retryable=True,
            )
        return result

    # -- the loop ---------------------------------------------------------------------------------

    async def _work(self) -> None:
        self._show(LegStatus.RUNNING)
        while self._state.status is LegStatus.RUNNING:
            if self._state.step >= self._input.leg.agent.max_steps:
                raise LegLost(f"the leg took {self._state.step} steps without reaching its goal")
            if workflow.info().is_continue_as_new_suggested():
                await self._drain()
                workflow.continue_as_new(self._input.model_copy(update={"state": self._state}))
            await self._take_step()

    async def _take_step(self) -> None:
        self._update(step=self._state.step + 1)
        context = self._context()
        selection = await calls.select_tools(context)
        planned = await calls.plan_step(context, selection)
        self._update(usage=self._state.usage.plus(planned.usage))
        decision = planned.decision
        match decision:
            case CallTool():
                self._check_calls_left()
                await self._call(decision, selection)
            case DiscoverTools(query=query):
                await self._discover(query, selection)
            case AskUser():
                await self._ask(decision, selection)
            case Finish(summary=summary):
                self._record(selection, "finish", "done")
                self._update(summary=summary)
                self._end(LegStatus.SUCCEEDED)
            case GiveUp(reason=reason):
                self._record(selection, "give up", "lost", reason)
                raise LegLost(reason)

    def _check_calls_left(self) -> None:
        """Only calls that were sent count: discovery, questions and refused calls are free."""
        if self._state.tool_calls >= self._input.leg.agent.max_tool_calls:
            raise LegLost(
                f"the leg made {self._state.tool_calls} tool calls without reaching its goal"
            )

    def _context(self) -> StepContext:
        state, leg = self._state, self._input
        return StepContext(
            mission_id=leg.mission_id,
            leg_id=leg.leg.leg_id,
            step=state.step,
            mission_goal=leg.mission_goal,
            leg_goal=leg.leg.goal,
            agent=leg.leg.agent,
            inputs={**leg.inputs, **state.answers},
            facts=leg.facts,
            observations=state.observations,
            discovered=state.discovered,
            budget_left=self._budget_left(),
            # The mission's start, not this step's: "tomorrow" means the same in every leg.
            now=leg.started_at,
            catalog_digest=leg.catalog.digest,
        )

    def _budget_left(self) -> Money | None:
        budget = self._input.budget
        if budget is None:
            return None
        spent = self._state.spend.by_currency.get(budget.currency)
        left = budget.amount if spent is None else max(budget.amount - spent, budget.amount * 0)
        return Money(amount=left, currency=budget.currency)

    # -- what a step can do -----------------------------------------------------------------------

    async def _call(self, decision: CallTool, selection: Selection) -> None:
        prepared = await self._prepare(self._call_id(), decision.tool, decision.arguments)
        while prepared.missing_personal:
            await self._ask_to_store(decision.tool, prepared.missing_personal, selection)
            prepared = await self._prepare(self._call_id(), decision.tool, decision.arguments)
        if prepared.call is None:
            problems = "; ".join(prepared.problems)
            self._observe(decision, outcome="invalid", error=problems)
            self._record(selection, f"call {decision.tool}", "invalid", problems)
            return
        try:
            allowed, refusal = await self._allow(prepared)
        except NotConfirmed as expired:
            self._record(selection, f"call {decision.tool}", "expired", str(expired))
            raise LegLost(str(expired)) from expired
        if allowed is None:
            self._observe(decision, outcome="refused", error=refusal)
            self._record(selection, f"call {decision.tool}", "refused", refusal)
            return
        outcome = await self._invoke(allowed)
        self._record(
            selection,
            f"call {decision.tool}",
            outcome.kind,
            outcome.reason or outcome.contract_breach,
            at=outcome.answered_at,
        )
        if outcome.kind == "unknown" and (allowed.obligation or allowed.cancel) is not None:
            raise LegLost(
                f"whether {decision.tool} took effect is unknown ({outcome.reason}); "
                "rollback finds out"
            )

    async def _prepare(
        self, call_id: str, tool: str, arguments: JsonObject, *, asked: int = 1
    ) -> PreparedCall:
        return await calls.prepare_call(
            PrepareInput(
                call_id=call_id,
                mission_id=self._input.mission_id,
                leg_id=self._input.leg.leg_id,
                tool=tool,
                arguments=arguments,
                catalog_digest=self._input.catalog.digest,
                observations=self._state.observations,
                policy=self._input.policy,
                now=workflow.now(),
                round=asked,
            )
        )

    async def _allow(self, prepared: PreparedCall) -> tuple[PreparedCall | None, str | None]:
        """The call with its budget reserved and its grant, or why it may not be made."""
        refusal = await self._reserve(prepared)
        if refusal is not None:
            return None, refusal
        if prepared.card is None:
            return prepared, None
        verdict, granted = await self._asking.about(prepared)
        if isinstance(verdict, Reject):
            return None, f"{verdict.approver} rejected it: {verdict.reason}"
        assert granted.call is not None
        if granted.price != prepared.price:
            refusal = await self._reserve(granted)
            if refusal is not None:
                return None, refusal
        call = granted.call.model_copy(update={"grant": grant_of(verdict, workflow.now())})
        return granted.model_copy(update={"call": call}), None

    async def _invoke(self, allowed: PreparedCall) -> ToolOutcome:
        assert allowed.call is not None
        attempts = self._input.policy.call_attempts if allowed.repeatable else 1
        call = allowed.call
        if allowed.side_effect:
            deadline = workflow.now() + calls.longest_call(call, attempts)
            call = call.model_copy(update={"deadline": deadline})
        self._write_ahead(allowed)
        self._update(tool_calls=self._state.tool_calls + 1)
        outcome, cancelled = await finish_despite_cancel(calls.invoke_tool(call, attempts=attempts))
        self._settle(allowed, outcome)
        if cancelled:
            raise asyncio.CancelledError
        return outcome

    def _write_ahead(self, allowed: PreparedCall) -> None:
        """Note what this call may leave, or may undo, before it is sent."""
        assert allowed.call is not None
        if allowed.cancel is not None:
            cancel = allowed.cancel.model_copy(update={"written_at": workflow.now()})
            self._update(ledger=self._state.ledger.cancelling(cancel))
        if allowed.obligation is None:
            return
        attempts = self._input.policy.call_attempts if allowed.repeatable else 1
        obligation = allowed.obligation.model_copy(
            update={
                "written_at": workflow.now(),
                "deadline": workflow.now() + calls.longest_call(allowed.call, attempts),
                "confirmed_by": allowed.call.grant.approver if allowed.call.grant else None,
            }
        )
        self._update(ledger=self._state.ledger.written(obligation))

    def _settle(self, allowed: PreparedCall, outcome: ToolOutcome) -> None:
        assert allowed.call is not None
        ledger = self._state.ledger
        # Not workflow.now(): after a worker's death that may still be the time before it, and
        # rollback undoes in the order of these times.
        at = outcome.answered_at or workflow.now()
        if allowed.obligation is not None:
            written = ledger.obligation(allowed.obligation.obligation_id)
            self._update(ledger=ledger.written(written.answered(outcome, at=at)))
        if allowed.cancel is not None:
            sent = ledger.cancel(allowed.cancel.call_id)
            self._update(ledger=ledger.cancelling(sent.answered(outcome, at=at)))
        if outcome.kind == "succeeded" and allowed.spends:
            self._update(spend=self._state.spend.plus(outcome.price))
        decision = CallTool(tool=allowed.call.tool, arguments=allowed.call.arguments)
        self._observe(
            decision,
            outcome=outcome.kind,
            side_effect=allowed.side_effect,
            body=outcome.body,
            error=None if outcome.kind == "succeeded" else outcome.reason or outcome.kind,
            contract_breach=outcome.contract_breach,
            price=outcome.price,
        )

    async def _discover(self, query: str, selection: Selection) -> None:
        found = await calls.discover_tools(query, self._input.catalog.digest)
        known = (*self._state.discovered, *(t for t in found if t not in self._state.discovered))
        self._update(discovered=known)
        self._observe(
            CallTool(tool="tools.discover", arguments={"query": query}),
            outcome="discovered",
            body=list(found),
        )
        self._record(selection, f"discover {query!r}", f"{len(found)} found")

    async def _ask_to_store(
        self, tool: str, personal: tuple[str, ...], selection: Selection
    ) -> None:
        """Wait until a person says that the vault holds these fields; the values stay out of here.

        Whether it does is looked up, not believed.
        """
        commands = " and ".join(f"orchestrator pii set {name}" for name in personal)
        question = (
            f"{tool} needs {', '.join(personal)}, which the PII vault does not hold. Store it "
            f"({commands}), then answer this question without a value."
        )
        await self._ask(AskUser(question=question, fields={}), selection, personal=personal)

    async def _ask(
        self, asked: AskUser, selection: Selection, *, personal: tuple[str, ...] = ()
    ) -> None:
        """Wait for the answer; nobody answering in time is a terminal failure."""
        expires_at = workflow.now() + self._input.policy.answer_expiry
        self._inquiry.open(
            Question(
                question_id=self._call_id(),
                mission_id=self._input.mission_id,
                leg_id=self._input.leg.leg_id,
                question=asked.question,
                fields=asked.fields,
                personal=personal,
                expires_at=expires_at,
            )
        )
        self._show(LegStatus.AWAITING_ANSWER)
        if not await self._inquiry.is_answered():
            self._record(selection, "ask the user", "expired")
            raise LegLost(f"nobody answered in time: {asked.question}")
        self._show(LegStatus.RUNNING)
        self._record(selection, "ask the user", "answered")

    async def _reserve(self, prepared: PreparedCall) -> str | None:
        """Set the price aside in the mission's budget; why not, when it does not fit.

        The mission keeps the purse, so that legs running side by side cannot spend it twice.
        """
        if self._input.budget is None or prepared.price is None or not prepared.spends:
            return None
        parent = workflow.info().parent
        if parent is None:
            return over_budget(self._input.budget, self._state.spend, prepared.price)
        call_id = self._call_id()
        handle = workflow.get_external_workflow_handle(parent.workflow_id)
        await handle.signal(
            contracts.RESERVE_SIGNAL,
            ReserveInput(
                leg_id=self._input.leg.leg_id,
                call_id=call_id,
                spent=self._state.spend,
                price=prepared.price,
            ),
        )
        await workflow.wait_condition(lambda: call_id in self._reservations)
        return self._reservations.pop(call_id).refusal

    # -- what people and the mission send in ------------------------------------------------------

    @workflow.update(name=contracts.DECIDE_UPDATE)
    async def decide(self, envelope: DecisionEnvelope) -> DecisionReceipt:
        """Take a decision on the open card: approve, amend or reject."""
        return await self._asking.take(envelope.decision)

    @decide.validator
    def check_decision(self, envelope: DecisionEnvelope) -> None:
        """Refuse what is not a decision on the open card, before it enters history."""
        self._asking.check(envelope.decision)

    @workflow.update(name=contracts.ANSWER_UPDATE)
    async def answer(self, answer: AnswerInput) -> str:
        """Take the answer to the open question."""
        await self._inquiry.is_open(answer.question_id)
        values = self._inquiry.take(answer)
        self._update(answers={**self._state.answers, **values})
        return answer.question_id

    @answer.validator
    def check_answer(self, answer: AnswerInput) -> None:
        """Refuse what does not answer the open question, before it enters history."""
        self._inquiry.check(answer)

    @workflow.signal(name=contracts.RESERVED_SIGNAL)
    def budget_reserved(self, reservation: ReserveOutput) -> None:
        """The mission's answer to a reservation."""
        self._reservations[reservation.call_id] = reservation

    @workflow.query(name=contracts.RESULT_QUERY)
    def result(self) -> LegResult:
        """The leg as it stands; after its end, as it ended."""
        state, leg = self._state, self._input.leg
        return LegResult(
            leg_id=leg.leg_id,
            agent=leg.agent.name,
            goal=leg.goal,
            status=state.status,
            summary=state.summary,
            error=state.error,
            steps=state.steps,
            facts=self._facts(),
            ledger=state.ledger,
            spend=state.spend,
            usage=state.usage,
            decisions=state.decisions,
        )

    @workflow.query(name=contracts.WAITING_QUERY)
    def waiting(self) -> LegWaiting:
        """What the leg waits for a person to do."""
        return LegWaiting(card=self._asking.card, question=self._inquiry.question)

    # -- bookkeeping ------------------------------------------------------------------------------

    def _facts(self) -> tuple[Fact, ...]:
        """What the legs that depend on this one learn: its side effects, else its last find."""
        good = [o for o in self._state.observations if o.outcome == "succeeded"]
        chosen = [o for o in good if o.side_effect] or good[-1:]
        return tuple(
            Fact(
                source=f"{self._input.leg.leg_id}.{o.step}",
                tool=o.tool,
                side_effect=o.side_effect,
                title=self._title_of(o.step),
                arguments=o.arguments,
                body=o.body,
                price=o.price,
            )
            for o in chosen
        )

    def _title_of(self, step: int) -> str:
        wanted = contracts.call_id(self._input.mission_id, self._input.leg.leg_id, step)
        titles = [o.title for o in self._state.ledger.obligations if o.obligation_id == wanted]
        return titles[0] if titles else ""

    def _call_id(self) -> str:
        return contracts.call_id(self._input.mission_id, self._input.leg.leg_id, self._state.step)

    def _observe(self, decision: CallTool, *, outcome: str, **seen: object) -> None:
        observation = Observation.model_validate(
            {
                "step": self._state.step,
                "tool": decision.tool,
                "arguments": decision.arguments,
                "outcome": outcome,
                **seen,
            }
        )
        self._update(observations=(*self._state.observations, observation))

    def _record(
        self,
        selection: Selection,
        did: str,
        outcome: str,
        error: str | None = None,
        *,
        at: datetime | None = None,
    ) -> None:
        record = StepRecord(
            step=self._state.step,
            tools_forwarded=selection.tools,
            catalog_size=selection.catalog_size,
            band=selection.band,
            did=did,
            outcome=outcome,
            error=error,
            at=at or workflow.now(),
        )
        self._update(steps=(*self._state.steps, record))
        self._show(self._state.status)

    # -- what asking needs of its leg -------------------------------------------------------------

    async def prepare(self, call: ToolCall, arguments: JsonObject, *, asked: int) -> PreparedCall:
        """See `Asker`."""
        return await self._prepare(call.call_id, call.tool, arguments, asked=asked)

    def remember(self, record: DecisionRecord) -> None:
        """See `Asker`."""
        self._update(decisions=(*self._state.decisions, record))

    def waits(self, waiting: bool) -> None:
        """See `Asker`."""
        self._show(LegStatus.AWAITING_CONFIRMATION if waiting else LegStatus.RUNNING)

    def draw(self) -> None:
        """See `Asker`."""
        workflow.set_current_details(
            details(
                self._input.leg.goal,
                self._state,
                card=self._asking.card,
                question=self._inquiry.question,
            )
        )

    # -- its state --------------------------------------------------------------------------------

    def _update(self, **changes: object) -> None:
        self._state = self._state.model_copy(update=changes)

    def _end(self, status: LegStatus, *, error: str | None = None) -> None:
        self._update(error=error)
        self._show(status)

    def _show(self, status: LegStatus) -> None:
        """Make the status visible in the Temporal UI: search attribute and current details."""
        if status is not self._state.status or not self._state.steps:
            workflow.upsert_search_attributes([_STATUS.value_set(status.value)])
        self._update(status=status)
        self.draw()

    async def _drain(self) -> None:
        """Let updates that are still being handled finish: their senders get an answer."""
        await workflow.wait_condition(workflow.all_handlers_finished)
