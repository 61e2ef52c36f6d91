"""Run a leg of a mission: think, then act, until the goal is reached or lost.

The leg's state holds its phase, from which a new run of the mission continues: the leg thinks,
carries out a decision (with its open card or question), pauses for its model, or has ended.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.record import JsonObject
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import names
    from orchestrator.messages.leg import (
        Acting,
        HandOverAsked,
        LegInput,
        LegResult,
        LegStatus,
    )
    from orchestrator.messages.step import DiscoverInput, DiscoverOutput, PlanStepOutput
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import (
        FINISH,
        HAND_OVER,
        AskUser,
        CallTool,
        CallTools,
        DiscoverTools,
        Dropped,
        Finish,
        GiveUp,
        HandOver,
        StepGoal,
    )
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.orders import left_to_do
    from orchestrator.workflows import running
    from orchestrator.workflows.again_rules import SameAgainRules
    from orchestrator.workflows.approval import Approvals
    from orchestrator.workflows.call import Caller
    from orchestrator.workflows.failures import WORK_FAILURES, LegFailed, LegSkipped, first_words
    from orchestrator.workflows.hand_overs import HandOver as HandOverToMission
    from orchestrator.workflows.leg_view import effects_of_leg, is_served, leg_result
    from orchestrator.workflows.mission_budget import MissionBudget
    from orchestrator.workflows.mission_limits import LegLimits, LimitSpent, MissionLimits, in_time
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.questions import Questions
    from orchestrator.workflows.scope import work_for
    from orchestrator.workflows.thinking import ModelPauses, Thinking


@dataclass(frozen=True)
class SharedByLegs:
    """Objects that the legs of one mission share."""

    budget: MissionBudget
    limits: MissionLimits
    hand_over: HandOverToMission
    ledger: Callable[[], Ledger]
    """Returns the ledgers of all legs, merged."""
    changed: Callable[[], None]
    """Publishes the mission's state again."""
    rules: SameAgainRules
    """Rules that people made with approvals, for later calls of any leg."""
    is_winding_down: Callable[[], bool]
    """True if no leg may begin a step, because the mission is about to continue as a new run."""


class Leg:
    """Runs one leg for one agent, as a task of its mission's workflow."""

    def __init__(self, leg: LegInput, shared: SharedByLegs) -> None:
        """Take the leg's terms, and the state of the previous run, if there was one."""
        self._shared = shared
        self.progress = Progress(leg, shared.changed, shared.budget, shared.ledger)
        self.approvals = Approvals(self.progress, shared.rules)
        self.questions = Questions(self.progress)
        self.limits = LegLimits(self.progress, shared.limits)
        self.pauses = ModelPauses(self.progress)
        self._thinking = Thinking(self.progress, self.limits, self.pauses)
        self._caller = Caller(self.progress, self.limits, self.approvals, self.questions)
        self._is_between_steps = False
        self._is_handing_over = False
        self._is_suspended = False

    @property
    def leg_id(self) -> str:
        """Return the leg's id in the plan."""
        return self.progress.leg.leg.leg_id

    @property
    def task_queue(self) -> str | None:
        """Return the task queue of the leg's agent; None: the mission's task queue."""
        return self.progress.leg.leg.agent.task_queue

    @property
    def is_at_rest(self) -> bool:
        """True if a new run can continue from the leg's state: no activity is in flight."""
        card = self.approvals.gate.card is not None
        waits = card or self.questions.question is not None or self.pauses.is_waiting
        state = self.progress.state
        thought_is_stalled = bool(state.stalled) and state.acting is None
        return waits or thought_is_stalled or self._is_between_steps or self._is_handing_over

    async def run(self) -> None:
        """Reach the leg's goal; the result says how the leg ended.

        Raises:
            asyncio.CancelledError: the leg was cancelled, and its call in flight is settled; or the
                leg was suspended.
        """
        work_for(self)
        self.progress.begin(workflow.now())
        try:
            await in_time(self._reach_goal(), self.limits)
        except LegSkipped as skipped:
            self.progress.end(LegStatus.SKIPPED, error=str(skipped))
        except LimitSpent as spent:
            self.progress.update(limit=spent.limit)
            if is_served(self.progress.leg):
                said = f"all that was ordered is done; {spent}"
                self.progress.end(LegStatus.SUCCEEDED, summary=said)
            else:
                self.progress.end(LegStatus.FAILED, error=str(spent))
        except LegFailed as lost:
            self.progress.end(LegStatus.FAILED, error=str(lost))
        except WORK_FAILURES as error:
            if self._is_suspended:
                raise asyncio.CancelledError from error
            if is_cancelled_exception(error):
                self.progress.end(LegStatus.CANCELLED, error="cancelled")
                raise
            if not isinstance(error, FailureError):
                raise
            self.progress.end(LegStatus.FAILED, error=first_words(error))

    def result(self) -> LegResult:
        """Return the leg's current result; after its end, its final result."""
        return leg_result(self.progress.leg)

    def suspend(self) -> LegInput:
        """Return the leg's state for a new run; cancelling its task then has no effect."""
        self._is_suspended = True
        self.progress.is_suspended = True
        self.approvals.gate.suspend()
        return self.progress.leg

    def stall(self, why: str) -> None:
        """Show why the leg waits for state that workers are missing; empty: no longer waiting."""
        self.progress.stall(why)

    async def _reach_goal(self) -> None:
        state = self.progress.state
        if state.acting is not None:
            await self._act(state.acting)
        elif state.pause is not None or state.stalled:
            self.progress.stall("")
            await self._think_and_act()
        else:
            self.progress.show(LegStatus.RUNNING)
        while self.progress.is_under_way:
            if self._shared.is_winding_down():
                self._is_between_steps = True
                await workflow.wait_condition(lambda: not self._shared.is_winding_down())
                self._is_between_steps = False
            self.limits.check()
            self.progress.begin_step()
            await self._think_and_act()

    async def _think_and_act(self) -> None:
        thought = await self._thinking.next_step()
        self.progress.forward(thought.selection)
        if thought.planned.unusable is None and thought.planned.conversation:
            self.progress.update(conversation=thought.planned.conversation)
        await self._act(Acting(planned=thought.planned, prepared=thought.prepared))

    async def _act(self, acting: Acting) -> None:
        self.progress.update(acting=acting)
        if acting.planned.unusable is not None:
            await self._thinking.spend(acting.planned.unusable)
        else:
            await self._carry_out(acting.planned, acting.prepared)
            self._drop(acting.planned.dropped)
        self.progress.update(acting=None)

    async def _carry_out(self, planned: PlanStepOutput, prepared: PreparedCall | None) -> None:
        match planned.decision:
            case CallTool() as wanted if planned.refusal is not None:
                self.progress.observe(wanted, outcome="refused", error=planned.refusal)
                self.progress.record(f"call {wanted.tool}", "refused", planned.refusal)
            case CallTool() as wanted:
                waited = await self._until_due(wanted)
                await self._caller.call(wanted, None if waited else prepared)
            case CallTools(calls=several):
                await self._caller.call_all(several)
            case DiscoverTools(query=query):
                leg = self.progress.leg
                found = await running.run(
                    names.DISCOVER_TOOLS,
                    DiscoverInput(
                        query=query, catalog_digest=leg.catalog.digest, agent=leg.leg.agent.wall
                    ),
                    result_type=DiscoverOutput,
                    summary=markdown_summary(f"discover {query!r}"),
                    **running.LOCAL,
                )
                known = self.progress.state.discovered
                self.progress.update(discovered=tuple(dict.fromkeys([*known, *found.tools])))
                searched = CallTool(tool="tools.discover", arguments={"query": query})
                self.progress.observe(searched, outcome="discovered", body=list(found.tools))
                self.progress.record(f"discover {query!r}", f"{len(found.tools)} found")
            case AskUser() as wanted:
                await self.questions.ask(wanted)
            case HandOver() as part:
                await self._hand_over(part)
            case StepGoal() as part:
                await self._until_due(part)
                await self._hand_over(part)
            case Finish(summary=said) if planned.refusal is not None:
                claimed = CallTool(tool=FINISH, arguments={"summary": said})
                self.progress.observe(claimed, outcome="refused", error=planned.refusal)
                self.progress.record(FINISH, "refused", planned.refusal)
            case Finish(summary=summary, table=table, conditions=conditions, outputs=outputs):
                self.progress.record(FINISH, "done")
                self.progress.end(
                    LegStatus.SUCCEEDED,
                    summary=summary,
                    table=table,
                    unproved=planned.unproved,
                    unverified_ids=planned.unverified_ids,
                    follow_ups=planned.follow_ups,
                    conditions=conditions,
                    outputs=outputs,
                )
            case GiveUp(reason=reason):
                # A leg whose cancel a person refused cancels nothing else.
                keeps = self._caller.keeps_effects
                self.progress.record("give up", "skipped" if keeps else "lost", reason)
                raise LegSkipped(f"left out: {reason}") if keeps else LegFailed(reason)

    async def _until_due(self, wanted: CallTool | StepGoal) -> bool:
        """Wait as long as a written workflow wants before a call; return True if it wanted to."""
        if not wanted.after_s:
            return False
        acting = self.progress.state.acting
        due = acting.due if acting is not None else None
        if due is None:
            due = workflow.now() + timedelta(seconds=wanted.after_s)
            self.progress.act_further(due=due, prepared=None)
        if (left := due - workflow.now()) > timedelta():
            self.progress.record(f"wait before {wanted.step_id}", f"until {due:%Y-%m-%d %H:%M:%S}")
            self._is_between_steps = True
            try:
                await workflow.sleep(
                    left, summary=markdown_summary(f"until the step {wanted.step_id} is due")
                )
            finally:
                self._is_between_steps = False
        return True

    def _drop(self, dropped: Sequence[Dropped]) -> None:
        """Report the calls dropped from a model's answer to the planner, if the leg goes on."""
        if not self.progress.is_under_way:
            return
        first = self.progress.state.part + 1
        for part, one in enumerate(dropped, first):
            self.progress.begin_part(part)
            outcome = "refused" if one.is_refused else "dropped"
            if not one.is_left_out:
                wanted = CallTool(tool=one.tool, arguments=one.arguments)
                self.progress.observe(wanted, outcome=outcome, error=one.why)
            self.progress.record(f"call {one.tool}", outcome, one.why)

    async def _hand_over(self, part: HandOver | StepGoal) -> None:
        """Have another leg do a part, and record its result for the next step."""
        leg, goal = self.progress.leg, part if isinstance(part, StepGoal) else None
        orders = left_to_do(leg.leg.orders, effects_of_leg(leg)) if goal is None else goal.orders
        asked = HandOverAsked(
            hand_over_id=leg.call_id,
            leg_id=self.leg_id,
            agent=part.agent,
            goal=part.goal,
            orders=orders,
            output_schema=None if goal is None else goal.output_schema,
            inputs={} if goal is None else goal.inputs,
        )
        self._is_handing_over = True
        answer = await self._shared.hand_over(asked)
        self._is_handing_over = False
        if answer.outcome == "ended":
            self.progress.learn_facts(answer.leg_id, answer.facts)
        shown: JsonObject = {"agent": asked.agent, "goal": asked.goal, "leg": answer.leg_id}
        call = CallTool(tool=HAND_OVER, arguments=shown)
        is_done = answer.status is LegStatus.SUCCEEDED
        outcome = "handed_over" if is_done else "refused"
        if goal is not None:  # the step of a workflow has the leg's outputs
            if answer.status is LegStatus.FAILED:
                outcome = "rejected"  # it left no effect, so that the workflow may try it again
            error = answer.why or None
            self.progress.observe(call, outcome=outcome, error=error, body=answer.outputs)
            self.progress.record("reach the goal", outcome.replace("_", " "), error)
            return
        did = f"hand over to {part.agent}"
        if is_done:
            self.progress.observe(call, outcome=outcome, body={"summary": answer.summary})
            self.progress.record(did, "done")
        else:
            self.progress.observe(call, outcome=outcome, error=answer.why)
            self.progress.record(did, outcome, answer.why)
