"""One leg of a mission: select tools, plan one step, do it, until the goal is reached or lost."""

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import DecisionEnvelope, DecisionReceipt
    from orchestrator.messages import names
    from orchestrator.messages.leg import (
        AnswerInput,
        LegInput,
        LegResult,
        LegState,
        LegStatus,
        LegWaiting,
        Question,
        ReserveOutput,
    )
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import AskUser, CallTool, DiscoverTools, Finish, GiveUp
    from orchestrator.routing.selection import Selection
    from workflows import calls
    from workflows.asking import Asking, NotConfirmed
    from workflows.failures import LOST, first_words
    from workflows.leg_view import leg_result, step_context
    from workflows.permission import CallRefused, permit
    from workflows.progress import Progress
    from workflows.questions import Inquiry
    from workflows.reservations import Reservations
    from workflows.sending import is_in_doubt, send


class LegLost(Exception):
    """The leg cannot reach its goal; its text is the first error of the mission."""


@workflow.defn(name=names.LEG_WORKFLOW)
class LegWorkflow:
    """Runs one leg for one agent."""

    @workflow.init
    def __init__(self, leg: LegInput) -> None:
        """Take up the state of the run before, or an empty one."""
        self._progress = Progress(leg, self.waiting)
        self._asking = Asking(self._progress)
        self._inquiry = Inquiry()
        self._reservations = Reservations(self._progress)

    @workflow.run
    async def run(self, _leg: LegInput) -> LegResult:
        """Reach the leg's goal.

        Raises:
            ApplicationError: LegFailed, its details the same LegResult that a success returns.
        """
        try:
            await self._work()
        except LegLost as lost:
            self._progress.end(LegStatus.FAILED, error=str(lost))
        except LOST as error:
            if is_cancelled_exception(error):
                self._progress.end(LegStatus.CANCELLED, error="cancelled")
                await self._drain()
                raise
            if not isinstance(error, FailureError):
                raise
            self._progress.end(LegStatus.FAILED, error=first_words(error))
        await self._drain()
        result = self.result()
        if result.status is LegStatus.FAILED:
            raise ApplicationError(
                result.error or "the leg failed",
                result,
                type=names.LEG_FAILED,
                non_retryable=True,
            )
        return result

    async def _drain(self) -> None:
        """Let updates that are still being handled finish: their senders get an answer."""
        await workflow.wait_condition(workflow.all_handlers_finished)

    @property
    def _leg(self) -> LegInput:
        return self._progress.leg

    @property
    def _state(self) -> LegState:
        return self._progress.state

    # -- the loop ---------------------------------------------------------------------------------

    async def _work(self) -> None:
        self._progress.show(LegStatus.RUNNING)
        while self._state.status is LegStatus.RUNNING:
            if self._state.step >= self._leg.leg.agent.max_steps:
                raise LegLost(f"the leg took {self._state.step} steps without reaching its goal")
            if workflow.info().is_continue_as_new_suggested():
                await self._drain()
                workflow.continue_as_new(self._leg)
            await self._take_step()

    async def _take_step(self) -> None:
        self._progress.begin_step()
        context = step_context(self._leg)
        selection = await calls.select_tools(context)
        planned = await calls.plan_step(context, selection)
        self._progress.count_usage(planned.usage)
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
                self._progress.record(selection, "finish", "done")
                self._progress.end(LegStatus.SUCCEEDED, summary=summary)
            case GiveUp(reason=reason):
                self._progress.record(selection, "give up", "lost", reason)
                raise LegLost(reason)

    def _check_calls_left(self) -> None:
        """Only calls that were sent count: discovery, questions and refused calls are free."""
        if self._state.tool_calls >= self._leg.leg.agent.max_tool_calls:
            raise LegLost(
                f"the leg made {self._state.tool_calls} tool calls without reaching its goal"
            )

    # -- what a step can do -----------------------------------------------------------------------

    async def _call(self, wanted: CallTool, selection: Selection) -> None:
        did = f"call {wanted.tool}"
        prepared = await self._prepare(wanted, selection)
        if prepared.call is None:
            self._not_sent(wanted, selection, "invalid", "; ".join(prepared.problems))
            return
        try:
            allowed = await permit(prepared, reservations=self._reservations, asking=self._asking)
        except CallRefused as refused:
            self._not_sent(wanted, selection, "refused", str(refused))
            return
        except NotConfirmed as expired:
            self._progress.record(selection, did, "expired", str(expired))
            raise LegLost(str(expired)) from expired
        outcome = await send(allowed, self._progress)
        why = outcome.reason or outcome.contract_breach
        self._progress.record(selection, did, outcome.kind, why, at=outcome.answered_at)
        if is_in_doubt(allowed, outcome):
            raise LegLost(
                f"whether {wanted.tool} took effect is unknown ({outcome.reason}); "
                "rollback finds out"
            )

    async def _prepare(self, wanted: CallTool, selection: Selection) -> PreparedCall:
        """The call, once the PII vault holds all that it needs."""
        while True:
            prepared = await calls.prepare_call(self._leg, wanted.tool, wanted.arguments)
            if not prepared.missing_personal:
                return prepared
            await self._ask_to_store(wanted.tool, prepared.missing_personal, selection)

    def _not_sent(self, wanted: CallTool, selection: Selection, outcome: str, reason: str) -> None:
        """Tell the planner, who may think of something else."""
        self._progress.observe(wanted, outcome=outcome, error=reason)
        self._progress.record(selection, f"call {wanted.tool}", outcome, reason)

    async def _discover(self, query: str, selection: Selection) -> None:
        found = await calls.discover_tools(query, self._leg.catalog.digest)
        self._progress.discover(found)
        self._progress.observe(
            CallTool(tool="tools.discover", arguments={"query": query}),
            outcome="discovered",
            body=list(found),
        )
        self._progress.record(selection, f"discover {query!r}", f"{len(found)} found")

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
        leg = self._leg
        self._inquiry.open(
            Question(
                question_id=leg.call_id,
                mission_id=leg.mission_id,
                leg_id=leg.leg.leg_id,
                question=asked.question,
                fields=asked.fields,
                personal=personal,
                expires_at=workflow.now() + leg.policy.answer_expiry,
            )
        )
        self._progress.show(LegStatus.AWAITING_ANSWER)
        if not await self._inquiry.is_answered():
            self._progress.record(selection, "ask the user", "expired")
            raise LegLost(f"nobody answered in time: {asked.question}")
        self._progress.show(LegStatus.RUNNING)
        self._progress.record(selection, "ask the user", "answered")

    # -- what people and the mission send in ------------------------------------------------------

    @workflow.update(name=names.DECIDE_UPDATE)
    async def decide(self, envelope: DecisionEnvelope) -> DecisionReceipt:
        """Take a decision on the open card: approve, amend or reject."""
        return await self._asking.take(envelope.decision)

    @decide.validator
    def check_decision(self, envelope: DecisionEnvelope) -> None:
        """Refuse what is not a decision on the open card, before it enters history."""
        self._asking.check(envelope.decision)

    @workflow.update(name=names.ANSWER_UPDATE)
    async def answer(self, answer: AnswerInput) -> str:
        """Take the answer to the open question."""
        await self._inquiry.is_open(answer.question_id)
        self._progress.learn(self._inquiry.take(answer))
        return answer.question_id

    @answer.validator
    def check_answer(self, answer: AnswerInput) -> None:
        """Refuse what does not answer the open question, before it enters history."""
        self._inquiry.check(answer)

    @workflow.signal(name=names.RESERVED_SIGNAL)
    def budget_reserved(self, answer: ReserveOutput) -> None:
        """The mission's answer to a reservation."""
        self._reservations.take(answer)

    # -- what can be seen -------------------------------------------------------------------------

    @workflow.query(name=names.RESULT_QUERY)
    def result(self) -> LegResult:
        """The leg as it stands; after its end, as it ended."""
        return leg_result(self._leg)

    @workflow.query(name=names.WAITING_QUERY)
    def waiting(self) -> LegWaiting:
        """What the leg waits for a person to do."""
        return LegWaiting(card=self._asking.card, question=self._inquiry.question)
