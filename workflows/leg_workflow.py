"""One leg of a mission: select tools, plan one step, do it, until the goal is reached or lost."""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    FailureError,
    is_cancelled_exception,
)

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import DecisionEnvelope, DecisionReceipt
    from orchestrator.messages import names
    from orchestrator.messages.hand_over import HandedOver, HandOverAsked
    from orchestrator.messages.leg import (
        AnswerInput,
        FoundTools,
        LegInput,
        LegResult,
        LegStatus,
        LegWaiting,
        ReserveOutput,
        SpendingHold,
    )
    from orchestrator.messages.leg_progress import LegProgress
    from orchestrator.messages.model_trouble import ModelPause, ResumeInput
    from orchestrator.messages.shared_limits import ShareOutput
    from orchestrator.messages.step import PlanStepOutput
    from orchestrator.messages.thought import Thought
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import (
        FINISH,
        AskUser,
        CallTool,
        CallTools,
        DiscoverTools,
        Dropped,
        Finish,
        GiveUp,
        HandOver,
        StepContext,
    )
    from orchestrator.routing.selection import Selection
    from workflows import calls
    from workflows.approval import Approvals
    from workflows.call import Caller
    from workflows.failures import LOST, LegLost, LegSkipped, first_words, usage_of
    from workflows.finds import tell_mission
    from workflows.hand_overs import Handing
    from workflows.keeping import PATCH as KEPT
    from workflows.keeping import Keeping
    from workflows.leg_limits import LegLimits, LimitSpent, in_time
    from workflows.leg_view import leg_result, step_context
    from workflows.lineage import check_leg
    from workflows.model_pause import ModelPauses
    from workflows.progress import Progress
    from workflows.questions import Questions
    from workflows.reservations import Reservations
    from workflows.swift import SWIFT
    from workflows.thinking import Thinking


@workflow.defn(name=names.LEG_WORKFLOW)
class LegWorkflow:
    """Runs one leg for one agent."""

    @workflow.init
    def __init__(self, leg: LegInput) -> None:
        """Take up the state of the run before, or an empty one."""
        self._progress = Progress(leg, self.waiting)
        self._approvals = Approvals(self._progress)
        self._questions = Questions(self._progress)
        self._handing = Handing(self._progress)
        self._reservations = Reservations(self._progress)
        self._limits = LegLimits(self._progress)
        self._pauses = ModelPauses(self._progress)
        self._thinking = Thinking(self._progress, self._pauses, self._questions, self._planned)
        self._caller = Caller(
            self._progress, self._limits, self._reservations, self._approvals, self._questions
        )

    @workflow.run
    async def run(self, leg: LegInput) -> LegResult:
        """Reach the leg's goal.

        Raises:
            ApplicationError: LegFailed, its details the same LegResult that a success returns;
                LegUnowned when no mission started it.
        """
        check_leg(leg)
        self._progress.begin(workflow.now())
        try:
            await in_time(self._reach_goal(), self._limits)
        except LegSkipped as skipped:
            self._progress.end(LegStatus.SKIPPED, error=str(skipped))
        except LegLost as lost:
            if isinstance(lost, LimitSpent):
                self._progress.reach(lost.limit)
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

    # -- the loop ---------------------------------------------------------------------------------

    async def _reach_goal(self) -> None:
        if self._progress.leg.leg.is_planned_by_rules and workflow.patched(SWIFT):
            self._progress.is_swift = True
        if self._progress.is_swift or workflow.patched(KEPT):
            self._progress.keeping = Keeping()
        self._progress.show(LegStatus.RUNNING)
        while self._progress.state.status is LegStatus.RUNNING:
            if workflow.info().is_continue_as_new_suggested():
                await self._drain()
                workflow.continue_as_new(self._progress.leg)
            await self._limits.check()
            await self._take_step()

    async def _take_step(self) -> None:
        self._progress.begin_step()
        prepared = None
        if self._progress.is_swift:
            thought = await self._thought()
            planned, prepared = thought.planned, thought.prepared
        else:
            context = step_context(self._progress.leg)
            selection = await calls.select_tools(context, self._progress)
            self._progress.forward(selection)
            planned = await self._thinking.next_step(selection)
        if planned.unusable is not None:
            await self._thinking.spend(planned.unusable)
            return
        self._progress.go_on_from(planned.conversation)
        await self._carry_out(planned, prepared)
        self._drop(planned.dropped)

    async def _thought(self) -> Thought:
        """The step, thought through at once."""
        thought = await self._thinking.whole_step()
        self._progress.forward(thought.selection)
        self._progress.count_usage(thought.planned.usage)
        return thought

    async def _carry_out(self, planned: PlanStepOutput, prepared: PreparedCall | None) -> None:
        match planned.decision:
            case CallTool() as wanted if planned.refusal is not None:
                self._progress.observe(wanted, outcome="refused", error=planned.refusal)
                self._progress.record(f"call {wanted.tool}", "refused", planned.refusal)
            case CallTool() as wanted:
                await self._caller.call(wanted, prepared)
            case CallTools(calls=several):
                await self._caller.call_all(several)
            case DiscoverTools(query=query):
                await self._discover(query)
            case AskUser() as wanted:
                await self._questions.ask(wanted)
            case HandOver() as wanted_of_another:
                await self._handing.hand_over(wanted_of_another)
            case Finish(summary=said) if planned.refusal is not None:
                claimed = CallTool(tool=FINISH, arguments={"summary": said})
                self._progress.observe(claimed, outcome="refused", error=planned.refusal)
                self._progress.record(FINISH, "refused", planned.refusal)
            case Finish(summary=summary, table=table, conditions=conditions):
                self._progress.record(FINISH, "done")
                self._progress.end(
                    LegStatus.SUCCEEDED,
                    summary=summary,
                    table=table,
                    unproved=planned.unproved,
                    unheld=planned.unheld,
                    follow_ups=planned.follow_ups,
                    conditions=conditions,
                )
            case GiveUp(reason=reason):
                self._give_up(reason)

    async def _planned(self, context: StepContext, selection: Selection) -> PlanStepOutput:
        """What the planner decides; what that took is counted, whatever comes of it."""
        with self._limits.thinking():
            try:
                planned = await calls.plan_step(context, selection, self._progress)
            except ActivityError as error:
                self._progress.count_usage(usage_of(error))
                raise
            self._progress.count_usage(planned.usage)
        return planned

    def _drop(self, dropped: Sequence[Dropped]) -> None:
        """Tell the planner what of its answer was not done; a leg that has ended needs no word."""
        if self._progress.state.status is not LegStatus.RUNNING:
            return
        first = self._progress.state.part + 1
        for part, one in enumerate(dropped, first):
            self._progress.begin_part(part)
            outcome = "refused" if one.is_refused else "dropped"
            wanted = CallTool(tool=one.tool, arguments=one.arguments)
            self._progress.observe(wanted, outcome=outcome, error=one.why)
            self._progress.record(f"call {one.tool}", outcome, one.why)

    def _give_up(self, reason: str) -> None:
        """End the leg; one that a person refused to let undo something undoes nothing else."""
        keeps = self._caller.keeps_what_was_to_go
        self._progress.record("give up", "skipped" if keeps else "lost", reason)
        raise LegSkipped(f"left out: {reason}") if keeps else LegLost(reason)

    async def _discover(self, query: str) -> None:
        found = await calls.discover_tools(self._progress.leg, query)
        self._progress.discover(found)
        self._progress.observe(
            CallTool(tool="tools.discover", arguments={"query": query}),
            outcome="discovered",
            body=list(found),
        )
        self._progress.record(f"discover {query!r}", f"{len(found)} found")
        await tell_mission(self._progress.leg.leg.leg_id, found)

    # -- what people and the mission send in ------------------------------------------------------

    @workflow.update(name=names.DECIDE_UPDATE)
    async def decide(self, envelope: DecisionEnvelope) -> DecisionReceipt:
        """Take a decision on the open card: approve, amend or reject."""
        return await self._approvals.take(envelope.decision)

    @decide.validator
    def check_decision(self, envelope: DecisionEnvelope) -> None:
        """Refuse what is not a decision on the open card, before it enters history."""
        self._approvals.gate.check(envelope.decision)

    @workflow.update(name=names.ANSWER_UPDATE)
    async def answer(self, answer: AnswerInput) -> str:
        """Take the answer to the open question."""
        await self._questions.take(answer)
        return answer.question_id

    @answer.validator
    def check_answer(self, answer: AnswerInput) -> None:
        """Refuse what does not answer the open question, before it enters history."""
        self._questions.check(answer)

    @workflow.update(name=names.RESUME_UPDATE)
    async def resume(self, wanted: ResumeInput) -> ModelPause:
        """Take a person's word on the pause: retry now, another model, or give up."""
        return await self._pauses.take(wanted)

    @resume.validator
    def check_resume(self, wanted: ResumeInput) -> None:
        """Refuse a word on a pause that the leg is not in, before it enters history."""
        self._pauses.check(wanted)

    @workflow.signal(name=names.RESERVED_SIGNAL)
    def budget_reserved(self, answer: ReserveOutput) -> None:
        """The mission's answer to a reservation."""
        self._reservations.take(answer)

    @workflow.signal(name=names.SHARED_SIGNAL)
    async def limits_shared(self, answer: ShareOutput) -> None:
        """The mission's answer to what the leg may use, or that it wants back what it granted."""
        await self._limits.take(answer)

    @workflow.signal(name=names.HOLD_SIGNAL)
    def hold_spending(self, hold: SpendingHold) -> None:
        """The mission's word on whether this leg may spend."""
        self._progress.hold_spending(hold.held)

    @workflow.signal(name=names.FOUND_SIGNAL)
    def found_tools(self, found: FoundTools) -> None:
        """What another leg's search found: the next step may use it, as far as the walls go."""
        self._progress.discover(found.tools)

    @workflow.signal(name=names.HANDED_OVER_SIGNAL)
    def handed_over(self, answer: HandedOver) -> None:
        """What came of a part that this leg handed to another agent."""
        self._handing.take(answer)

    # -- what can be seen -------------------------------------------------------------------------

    @workflow.query(name=names.RESULT_QUERY)
    def result(self) -> LegResult:
        """The leg as it stands; after its end, as it ended."""
        return leg_result(self._progress.leg).model_copy(update={"pause": self._pauses.pause})

    @workflow.query(name=names.HANDING_OVER_QUERY)
    def handing_over(self) -> list[HandOverAsked]:
        """What it wants another agent to do just now: its mission makes sure of it."""
        return self._handing.open

    @workflow.query(name=names.WAITING_QUERY)
    def waiting(self) -> LegWaiting:
        """What the leg waits for: a person, or the provider of its model."""
        return LegWaiting(
            card=self._approvals.gate.card,
            question=self._questions.question,
            pause=self._pauses.pause,
            held_up=self._progress.state.held_up,
        )

    def hold_up(self, why: str) -> None:
        """Show why it waits for what workers keep of its mission; empty: it no longer does."""
        self._progress.hold_up(why)

    @workflow.query(name=names.PROGRESS_QUERY)
    def progress(self) -> LegProgress:
        """Where it is, step by step: what watchers make events of."""
        return self._progress.as_watched()
