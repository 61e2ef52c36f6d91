"""Run a mission from goal to result: plan, run the legs, and roll back if a leg is lost.

Invariant: when a mission ends, every obligation of its legs belongs to a mission that succeeded,
was rolled back, or is held open by its rollback for an operator.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import DecisionEnvelope, DecisionReceipt
    from orchestrator.core.errors import MissionIdTaken, QuestionError
    from orchestrator.core.limits import Used, out_of_time
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import ModelPause, ResumeInput
    from orchestrator.messages.hold import why_not_repaired
    from orchestrator.messages.leg import (
        AnswerInput,
        LegInput,
        LegResult,
        LegState,
        LegStatus,
        LegWaiting,
        MissionProgress,
    )
    from orchestrator.messages.mission import (
        MISSION_ID_PATTERN,
        AcceptedMission,
        BegunPlan,
        CarriedMission,
        MissionInput,
        MissionRequest,
        MissionResult,
        MissionStatus,
        as_sent,
        final_status,
        request_digest,
    )
    from orchestrator.messages.mission_policy import BeginInput, CatalogPin
    from orchestrator.messages.observed import ObservedRun
    from orchestrator.messages.open_waits import Waiting, waiting_of_all
    from orchestrator.messages.plan_changes import (
        HandedOver,
        HandOverAsked,
        HandOverInput,
        HandOverPlan,
        Replanned,
        does_the_same,
        may_be_tried_otherwise,
        renamed,
        replanning_after,
    )
    from orchestrator.messages.receipts import unserved_of
    from orchestrator.messages.rollback import RollbackReport
    from orchestrator.planning.models import CHAINING, LegPlan
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.orders import Order, covered_orders
    from orchestrator.workflows import calls, logs, ui
    from orchestrator.workflows.confirmation import gate_of
    from orchestrator.workflows.failures import (
        LOST,
        first_words,
        mission_misnamed,
        refuse,
        usage_of,
    )
    from orchestrator.workflows.hand_overs import HandOvers
    from orchestrator.workflows.leg_task import Leg, SharedByLegs
    from orchestrator.workflows.legs import LegFailed, Legs
    from orchestrator.workflows.mission_budget import MissionBudget
    from orchestrator.workflows.mission_hold import (
        MissionHold,
        failure_of,
        question_before_rollback,
        raisable,
        raised,
        rejected_for_good,
        repaired,
    )
    from orchestrator.workflows.mission_limits import LegLimits, MissionLimits
    from orchestrator.workflows.mission_page import MissionPage
    from orchestrator.workflows.mission_view import MissionView, unserved_reason
    from orchestrator.workflows.own_rollback import OwnRollback
    from orchestrator.workflows.plan_talk import PlanTalk
    from orchestrator.workflows.scope import work_for
    from orchestrator.workflows.waiting import finish_despite_cancel, until


_MOST_FOUND: Final = 20
_ROLLS_BACK: Final = ("roll back", "expired")


class MissionLost(Exception):
    """The mission cannot reach its goal, for a reason that is not the failure of a leg."""


@workflow.defn(name=names.MISSION_WORKFLOW)
class MissionWorkflow:
    """Runs one mission."""

    @workflow.init
    def __init__(self, mission: MissionInput) -> None:
        info = workflow.info()
        # Anybody who may start workflows can claim any state: only a continued run has one.
        carried = mission.carried if info.continued_run_id else None
        request = mission.request
        self._request = request
        self._mission_id = info.workflow_id
        self._started_at = info.start_time if carried is None else carried.started_at
        self._status = MissionStatus.PLANNING
        self._catalog = CatalogPin(digest="", size=0) if carried is None else carried.catalog
        self._plan = BegunPlan(legs=()) if carried is None else carried.plan
        self._replanned: list[Replanned] = [] if carried is None else list(carried.replanned)
        self._ledger: Ledger | None = None
        self._error: str | None = None
        self._cancelled = False
        self._finished_at: datetime | None = None
        self._stalled = ""
        self._is_winding_down = False
        self._legs = Legs()
        self._budget = MissionBudget(request.budget)
        self._limits = MissionLimits(self._leg_limits, carried.planning if carried else None)
        self._hand_overs = HandOvers(
            most=request.policy.hand_overs,
            plan=self._leg_of_hand_over,
            results=lambda: self._legs.results,
            handed=carried.handed if carried else {},
        )
        self._shared = SharedByLegs(
            budget=self._budget,
            limits=self._limits,
            hand_over=self._hand_over,
            found=self._found,
            ledger=self._live_ledger,
            changed=self._changed,
            is_winding_down=lambda: self._is_winding_down,
        )
        self._found_tools: dict[str, None] = {}
        self._rollback = OwnRollback(self._mission_id, request.requester)
        self._talk = PlanTalk(
            request, show=self._show, draw=self._changed, began=self._started_at, carried=carried
        )
        self._hold = MissionHold(
            carried.hold if carried else None, carried.holds if carried else ()
        )
        self._is_kept = False
        self._deadline_raised = carried.deadline if carried else None
        self._carried = carried
        self._shown = ui.MissionAttributes(status=MissionStatus.PLANNING)
        self._shown_waits: dict[str, LegWaiting] = {}
        self._is_to_be_shown = False
        self.observer: Callable[[], None] | None = None
        """Called after each change that is shown, where a reader replays the mission's history."""
        if carried is not None:
            self._resume(carried)

    @workflow.run
    async def run(self, _mission: MissionInput) -> MissionResult:
        """Reach the goal.

        Raises:
            ApplicationError: MissionFailed, its details the same MissionResult a success returns;
                MissionMisnamed under the id of a rollback.
            asyncio.CancelledError: a person cancelled the mission.
        """
        if not re.fullmatch(MISSION_ID_PATTERN, self._mission_id):
            raise refuse(mission_misnamed(self._mission_id))
        try:
            await self._pursue()
        except LOST as error:
            self._note_error(error)
            await finish_despite_cancel(self._roll_back())
        else:
            # The mission's effects stand from here on; a cancel request comes too late.
            await finish_despite_cancel(self._stand())
        if not workflow.all_handlers_finished():
            await finish_despite_cancel(workflow.wait_condition(workflow.all_handlers_finished))
        return self._conclude()

    async def _stand(self) -> None:
        """Note that the mission's effects stand; roll back effects that a reset made it forget."""
        if self._request.observe:
            return
        abandoned = await calls.conclude_mission(self._mission_id, self._live_ledger())
        if abandoned.live():
            await self._rollback.run_abandoned(abandoned)

    # -- the story --------------------------------------------------------------------------------

    async def _pursue(self) -> None:
        if self._request.observe:
            self._note_observed()
        if self._carried is None:
            self._show(MissionStatus.PLANNING)
            self._catalog = await calls.pin_catalog(here=True)
            await self._begin(await self._plan_of(self._request.goal))
        else:
            self._legs.run()
            self._changed()
        while True:
            if self._hold.question is None:
                try:
                    await self._reach_end()
                    return
                except LOST as error:
                    if not self._is_held(error):
                        raise
            if not await self._is_repaired():
                return

    async def _reach_end(self) -> None:
        """Run the legs of the plan, and of another one where the first had no effect."""
        try:
            await self._run_legs()
        except LegFailed as failed:
            await self._begin(await self._replan(failed))
            await self._run_legs()

    async def _begin(self, plan: BegunPlan) -> None:
        """Begin a plan, after people have approved or changed it where that is required."""
        if self._talk.is_asked_about(plan):
            await self._talk.settle(plan, self._catalog, self._plan_of)
        logs.mission_planned(self._plan.legs)
        self._show(MissionStatus.RUNNING)

    def _resume(self, carried: CarriedMission) -> None:
        """Restore the previous run's state: the first update of this run may refer to it."""
        self._status = MissionStatus.RUNNING
        self._limits.take_plan(carried.plan.limits, Used())
        for result in carried.results:
            self._keep(result)
        self._budget.resume(carried.taken, carried.overcharges)
        if carried.hold is not None and carried.hold.hold is not None:
            self._status, self._error = MissionStatus.ON_HOLD, carried.hold.hold.error
            self._legs.lose(carried.legs)
        for leg in carried.legs if carried.hold is None else ():
            self._limits.record(leg.leg.leg_id, leg.state.used)
            self._note_found(leg.state.discovered)
            self._legs.resume(leg, self._shared)
        # The server may have taken over only a part of the attributes that the previous run set.
        self._shown = ui.UNKNOWN
        self._shown_waits = dict.fromkeys(self._all_waiting(), LegWaiting())

    async def _replan(self, failed: LegFailed) -> BegunPlan:
        """Make another plan, once, if a leg failed before it had any effect.

        Raises:
            LegFailed: the given failure, if no other plan may be tried or there is none.
        """
        legs = tuple(self._legs.results.values())
        spent = len(self._replanned) >= self._request.policy.replan
        if spent or not may_be_tried_otherwise(legs):
            raise failed
        self._error = None  # so that a cancel from here on counts as the mission's end
        before = self._plan
        self._replanned.append(replanning_after(failed.result, legs, workflow.now()))
        self._show(MissionStatus.PLANNING)
        try:
            plan = await self._plan_of(self._talk.goal)
        except ActivityError:
            plan = None
        if plan is None or does_the_same(before, plan):
            self._plan = before
            self._replanned.pop()
            raise failed
        self._legs.lost.clear()
        return plan

    # -- on hold ----------------------------------------------------------------------------------

    def _is_held(self, error: BaseException) -> bool:
        """Open a hold after a failure; return False if the mission is rolled back at once."""
        request = self._request
        asks = (request.on_failure or request.policy.on_failure) == "ask"
        if not asks or self._cancelled or workflow.cancellation_reason() is not None:
            return False
        failed = error.result if isinstance(error, LegFailed) else None
        if failed is not None and rejected_for_good(failed.decisions):
            return False
        leg = self._legs.lost.get(failed.leg_id) if failed is not None else None
        ledger = self._live_ledger()
        time = out_of_time(self._longest(), workflow.now() - self._started_at, of="the mission")
        hold = failure_of(failed, leg, self._error or "", why_not_repaired(ledger))
        question = question_before_rollback(
            raisable(hold, failed.limit if failed is not None else time, self._plan),
            ledger,
            question_id=names.hold_id(self._mission_id, len(self._hold.records) + 1),
            mission_id=self._mission_id,
            limit=self._plan.hold_limit or request.policy.hold_limit,
        )
        if question is None:
            return False
        self._plan_handed_over()  # a repair starts these legs
        self._hold.open(question)
        self._show(MissionStatus.ON_HOLD)
        return True

    async def _is_repaired(self) -> bool:
        """Wait for the end of the hold; return True if the mission goes on, False if it is kept.

        Raises:
            MissionLost: all is to be rolled back.
        """
        question = self._hold.question
        try:
            answer = await self._hold.until_over(self._is_ready_for_new_run)
            while answer is None:
                await self._continue_as_new()
        except asyncio.CancelledError:
            self._cancelled = workflow.cancellation_reason() is not None
            raise
        if question is None or question.hold is None or answer.decision in _ROLLS_BACK:
            raise MissionLost(self._error or "")
        if answer.decision == "keep":
            self._is_kept = True
            return False
        self._error = None
        if answer.limit:
            self._plan, time = raised(self._plan, question.hold, answer.limit)
            self._deadline_raised = time or self._deadline_raised
            self._limits.take_plan(self._plan.limits, Used())
        for result in self._legs.results.values():
            self._keep(result)
        limits = {"limits": self._plan.leg_limits}
        lost = [repaired(leg, question.hold, answer) for leg in self._legs.lost.values()]
        self._show(MissionStatus.RUNNING)
        self._legs.reopen((leg.model_copy(update=limits) for leg in lost), self._shared)
        return True

    async def _plan_of(self, goal: str) -> BegunPlan:
        """Plan a goal, and make the plan the mission's."""
        request = self._request
        wanted = BeginInput(
            mission_id=self._mission_id,
            goal=goal,
            inputs=request.inputs,
            now=self._talk.said_at,
            catalog_digest=self._catalog.digest,
            policy=request.policy,
            requester=request.requester,
            planner=request.planner,
            model=request.model,
            read_only=request.read_only,
            observe=request.observe,
            call=request.call,
            used=self._limits.total,
            failed_before=tuple(one.sentence for one in self._replanned),
        )
        asks = request.model is not None or request.planner not in (None, CHAINING)
        try:
            plan = await calls.split_goal(wanted, here=self._catalog.by_rules and not asks)
        except ActivityError as error:
            self._limits.count(usage_of(error))
            raise
        if self._replanned:
            plan = renamed(plan, f"r{len(self._replanned)}-")
        self._limits.take_plan(plan.limits, Used(usage=plan.usage))
        self._plan = plan
        return plan

    # -- legs -------------------------------------------------------------------------------------

    async def _run_legs(self) -> None:
        """Run each leg once the legs it depends on have succeeded; a lost leg stops all."""
        late = asyncio.create_task(self._deadline())
        try:
            self._start_ready()
            while not self._legs.are_done(self._plan):
                await workflow.wait_condition(
                    lambda: self._has_news() or late.done() or self._is_ready_for_new_run()
                )
                if self._hand_overs.new:
                    self._take_hand_overs()
                elif self._legs.has_ended_one:
                    self._take_ended()
                elif late.done():
                    raise MissionLost(self._out_of_time())
                else:
                    await self._continue_as_new()
        except LOST as error:
            self._note_error(error)
            await self._legs.stop()
            raise
        finally:
            late.cancel()

    def _has_news(self) -> bool:
        return bool(self._hand_overs.new) or self._legs.has_ended_one

    def _take_ended(self) -> None:
        """Handle the end of one leg.

        Raises:
            LegFailed: the leg failed, and the mission fails with it.
        """
        result = self._legs.take_ended()
        self._keep(result)
        if result.status is LegStatus.FAILED and not self._hand_overs.failed_harmlessly(result):
            raise LegFailed(result)
        self._legs.lost.pop(result.leg_id, None)
        self._changed()
        self._start_ready()

    def _keep(self, result: LegResult) -> None:
        self._legs.results[result.leg_id] = result
        self._budget.settle(result.leg_id, result.taken)
        self._budget.release(result.leg_id)
        self._limits.settle(result)
        self._note_found(result.discovered)

    async def _deadline(self) -> None:
        ends_at = self._started_at + self._longest()
        await workflow.sleep(until(ends_at), summary=ui.MISSION_DEADLINE)

    def _longest(self) -> timedelta:
        """Return the maximum duration of the mission."""
        limit = self._limits.limits.wall_clock
        deadline = self._deadline_raised or self._request.policy.deadline
        return deadline if limit is None else min(limit, deadline)

    def _out_of_time(self) -> str:
        passed = workflow.now() - self._started_at
        limit = out_of_time(self._limits.limits.wall_clock, passed, of="the mission")
        return "the mission's deadline has passed" if limit is None else str(limit)

    def _start_ready(self) -> None:
        if self._is_winding_down:
            return  # the new run starts them
        for leg in self._legs.ready(self._plan):
            self._legs.start(self._terms(leg), self._shared)
        self._changed()

    def _terms(self, leg: LegPlan) -> LegInput:
        request, results = self._request, self._legs.results
        return LegInput(
            mission_id=self._mission_id,
            origin=workflow.info().first_execution_run_id,
            mission_goal=self._talk.goal,
            leg=leg,
            inputs=request.inputs,
            facts=tuple(f for needed in leg.depends_on for f in results[needed].facts),
            budget=request.budget,
            policy=request.policy,
            read_only=request.read_only,
            observe=request.observe,
            covered=self._covered(leg),
            requester=request.requester,
            limits=self._plan.leg_limits,
            catalog=self._catalog,
            started_at=self._talk.said_at,
            state=LegState(discovered=tuple(self._found_tools)),
        )

    def _covered(self, leg: LegPlan) -> tuple[Order, ...]:
        """Return the orders of a leg that a standing approval may cover."""
        policy = self._request.policy.confirmation
        if leg.handed_over_by:
            asking = next(one for one in self._plan.legs if one.leg_id == leg.handed_over_by)
            return tuple(o for o in leg.orders if o.is_part_of(self._covered(asking)))
        if not self._plan.is_unproven or self._talk.is_approved or policy.unapproved_plans:
            return leg.orders
        orders = {one.leg_id: one.orders for one in self._plan.legs if not one.handed_over_by}
        return covered_orders(orders, self._request.orders).get(leg.leg_id, ())

    def _live_ledger(self) -> Ledger:
        return Ledger.merged(self._legs.ledgers())

    def _leg_limits(self) -> dict[str, LegLimits]:
        return {leg_id: leg.limits for leg_id, leg in self._legs.under_way.items()}

    def _found(self, leg_id: str, tools: Sequence[str]) -> None:
        """Let all legs use the tools that one leg's search found, within their allowed tools."""
        self._note_found(tools)
        self._legs.share_found(leg_id, tools)

    def _note_found(self, tools: Sequence[str]) -> None:
        """Store the newest tools that searches found: later legs start with these."""
        found = {**self._found_tools, **dict.fromkeys(tools)}
        self._found_tools = dict.fromkeys([*found][-_MOST_FOUND:])

    async def _hand_over(self, asked: HandOverAsked) -> HandedOver:
        approved = self._talk.is_approved
        return await self._hand_overs.hand_over(asked, self._plan, approved=approved)

    async def _leg_of_hand_over(self, asked: HandOverAsked, leg_id: str) -> HandOverPlan:
        asking = next(leg for leg in self._plan.legs if leg.leg_id == asked.leg_id)
        return await calls.plan_hand_over(
            HandOverInput(
                mission_id=self._mission_id,
                asked=asked,
                asking=asking,
                new_leg_id=leg_id,
                catalog_digest=self._catalog.digest,
            )
        )

    def _take_hand_overs(self) -> None:
        """Make legs of the planned hand-overs, and start them."""
        self._plan_handed_over()
        self._start_ready()

    def _plan_handed_over(self) -> None:
        new = tuple(one.leg for one in self._hand_overs.new if one.leg is not None)
        self._hand_overs.new.clear()
        self._plan = self._plan.model_copy(update={"legs": (*self._plan.legs, *new)})

    # -- continue as new --------------------------------------------------------------------------

    def _is_ready_for_new_run(self) -> bool:
        """Return True if the server suggests a new run, and nothing is in flight in this one."""
        if workflow.info().is_continue_as_new_suggested():
            self._is_winding_down = True
        at_rest = self._legs.are_at_rest and not self._hand_overs.is_planning
        return self._is_winding_down and at_rest and workflow.all_handlers_finished()

    async def _continue_as_new(self) -> None:
        """Continue in a new run, with the current legs, cards, questions and timers."""
        self._show_now()
        legs, results = await self._legs.suspend(), self._legs.results
        if (held := self._hold.question) is not None:
            legs = tuple(self._legs.lost.values())
            results = {k: one for k, one in results.items() if k not in self._legs.lost}
        carried = CarriedMission(
            started_at=self._started_at,
            catalog=self._catalog,
            plan=self._plan,
            goal=self._talk.goal,
            said_at=self._talk.said_at,
            answers=self._talk.answers,
            decisions=self._talk.decisions,
            replanned=tuple(self._replanned),
            planning=self._limits.planning,
            legs=legs,
            results=tuple(results.values()),
            taken=self._budget.taken,
            overcharges=self._budget.overcharges,
            handed=self._hand_overs.legs,
            hold=held,
            holds=self._hold.records,
            deadline=self._deadline_raised,
        )
        workflow.continue_as_new(MissionInput(request=self._request, carried=carried))

    # -- rollback and result ----------------------------------------------------------------------

    async def _roll_back(self) -> None:
        """Start a workflow that outlives this one and rolls back the effects of the legs.

        Even if the ledger is empty, a reset may have made the legs forget earlier effects.
        """
        if self._request.observe:
            self._note_observed(self._error or "")
            return
        if self._legs.were_started:
            self._show(MissionStatus.ROLLING_BACK)
        ledger = Ledger.merged(one.ledger for one in self._legs.results.values())
        if not ledger.live():
            abandoned = await calls.conclude_mission(self._mission_id, ledger)
            ledger = Ledger.united([ledger, abandoned])
        self._ledger = ledger
        if ledger.live():
            report = await self._rollback.run(self._error or "", ledger)
            self._ledger = report.ledger

    def _note_observed(self, failed: str = "") -> None:
        """Note for lists and reports that nothing is guarded here, and on what terms."""
        request = self._request
        noted = ObservedRun(
            policy=request.policy,
            budget=request.budget,
            requester=request.requester,
            failed=failed,
            ended=bool(failed),
        )
        ui.note_observed(self._mission_id, noted, before=None)

    def _conclude(self) -> MissionResult:
        if self._ledger is None:
            self._ledger = Ledger.merged(r.ledger for r in self._legs.results.values())
        self._finished_at = workflow.now()
        failed = self._error is not None and not self._is_kept
        if self._error is None:
            # Not a failure: the effects were ordered and approved, and stand.
            missing = unserved_of(self._plan, self._legs.results.values(), self._ledger)
            self._error = unserved_reason(missing)
        self._status = final_status(
            failed=failed,
            cancelled=self._cancelled,
            ledger=self._ledger,
            incomplete=not failed and self._error is not None,
            observed=self._request.observe,
        )
        self._show_now()
        result = as_sent(self.result())
        logs.mission_ended(self._status, self._started_at)
        if self._cancelled:
            raise asyncio.CancelledError
        if self._error is not None:
            kind = names.MISSION_FAILED if failed else names.MISSION_INCOMPLETE
            raise ApplicationError(self._error, result, type=kind, non_retryable=True)
        return result

    def _note_error(self, error: BaseException) -> None:
        """Store the first error: a later one never hides it."""
        if self._error is not None:
            return
        self._cancelled = workflow.cancellation_reason() is not None
        self._error = "cancelled" if self._cancelled else first_words(error)

    # -- updates and signals ----------------------------------------------------------------------

    @workflow.update(name=names.TAKE_ON_UPDATE)
    def take_on(self, request: MissionRequest) -> AcceptedMission:
        """Confirm that a worker has the mission, before anything is planned."""
        return self.accepted()

    @workflow.update(name=names.PLAN_UPDATE)
    async def plan(self, request: MissionRequest) -> AcceptedMission:
        """Return the mission's plan once it is known, or the reason why planning failed."""
        await workflow.wait_condition(lambda: bool(self._plan.legs) or self._error is not None)
        return self.accepted()

    @take_on.validator
    @plan.validator
    def check_request(self, request: MissionRequest) -> None:
        """Refuse a request that this mission was not started with."""
        if request_digest(request) != request_digest(self._request):
            raise refuse(MissionIdTaken(self._mission_id))

    @workflow.update(name=names.DECIDE_UPDATE)
    async def decide(self, envelope: DecisionEnvelope) -> DecisionReceipt:
        """Take a decision on an open card of the plan or of a leg."""
        decision = envelope.decision
        if (leg := self._leg_of(decision.confirmation_id)) is None:
            return await self._talk.decide(decision)
        work_for(leg)
        return await leg.approvals.take(decision)

    @decide.validator
    def check_decision(self, envelope: DecisionEnvelope) -> None:
        """Refuse a decision that is not on an open card, before it enters the history."""
        decision = envelope.decision
        leg = self._leg_of(decision.confirmation_id)
        if leg is not None:
            leg.approvals.gate.check(decision)
        elif self._is_of_plan(decision.confirmation_id):
            self._talk.gate.check(decision)
        else:
            result = self._legs.results.get(names.leg_of(decision.confirmation_id))
            gate_of(result.decisions if result is not None else ()).check(decision)

    @workflow.update(name=names.ANSWER_UPDATE)
    async def answer(self, answer: AnswerInput) -> str:
        """Take the answer to an open question about the plan or of a leg."""
        if (leg := self._leg_of(answer.question_id)) is not None:
            await leg.questions.take(answer)
        elif self._is_of_plan(answer.question_id):
            await self._talk.answer(answer)
        else:
            await self._hold.take(answer)
        return answer.question_id

    @answer.validator
    def check_answer(self, answer: AnswerInput) -> None:
        """Refuse an answer to no open question, before it enters the history."""
        leg = self._leg_of(answer.question_id)
        if leg is not None:
            leg.questions.check(answer)
        elif self._is_of_plan(answer.question_id):
            self._talk.check_answer(answer)
        else:
            self._hold.check(answer)

    @workflow.update(name=names.RESUME_UPDATE)
    async def resume(self, wanted: ResumeInput) -> ModelPause:
        """Take a person's decision on a paused leg: retry now, another model, or give up."""
        leg = self._leg_of(wanted.pause_id)
        if leg is None:
            raise refuse(QuestionError(wanted.pause_id, "its leg has ended", code="PauseUnknown"))
        work_for(leg)
        return await leg.pauses.take(wanted)

    @resume.validator
    def check_resume(self, wanted: ResumeInput) -> None:
        """Refuse a decision on a pause that no leg is in, before it enters the history."""
        leg = self._leg_of(wanted.pause_id)
        if leg is None:
            raise refuse(
                QuestionError(
                    wanted.pause_id, "no leg waits for its model under that id", code="PauseUnknown"
                )
            )
        leg.pauses.check(wanted)

    def _leg_of(self, asked: str) -> Leg | None:
        """Return the leg under way that a card, a question or a pause belongs to."""
        return self._legs.under_way.get(names.leg_of(asked))

    def _is_of_plan(self, asked: str) -> bool:
        return names.is_of_plan(asked, self._mission_id)

    @workflow.signal(name=names.ROLLBACK_SETTLED_SIGNAL)
    def rollback_settled(self, report: RollbackReport) -> None:
        """Note that the rollback has tried everything; the rest is parked."""
        self._rollback.hear(report)

    # -- visible state ----------------------------------------------------------------------------

    def accepted(self) -> AcceptedMission:
        """Return the request's digest and the result of planning."""
        return AcceptedMission(
            mission_id=self._mission_id,
            plan=self._plan,
            catalog=self._catalog,
            request_digest=request_digest(self._request),
            refusal=None if self._plan.legs else self._error,
        )

    def result(self) -> MissionResult:
        """Return the current result document; final once the mission is over."""
        return MissionView(
            mission_id=self._mission_id,
            request=self._request,
            goal=self._talk.goal,
            answers=self._talk.answers,
            decisions=self._talk.decisions,
            plan_waits=self._own_wait,
            holds=self._hold.records,
            status=self._status,
            error=self._error,
            stopped=self._cancelled,
            catalog=self._catalog,
            plan=self._plan,
            replanned=tuple(self._replanned),
            results=self._legs.all_results(),
            planning=self._limits.planning.usage,
            ledger=self._ledger,
            started_at=self._started_at,
            finished_at=self._finished_at,
            stalled="" if self._finished_at else self._stalled,
        ).result()

    def progress(self) -> MissionProgress:
        """Return the progress of each leg, step by step: watchers make events of it."""
        under_way = self._legs.under_way
        return MissionProgress(legs={k: leg.progress.as_watched() for k, leg in under_way.items()})

    def waits(self) -> Waiting:
        """Return the waits of the mission and its legs."""
        return waiting_of_all(self._all_waiting().values())

    def _all_waiting(self) -> dict[str, LegWaiting]:
        """Return the waits by leg id, with the mission's own wait under an empty id."""
        own = LegWaiting(stalled="" if self._finished_at else self._stalled)
        if self._finished_at is not None or self._status is MissionStatus.ROLLING_BACK:
            return {"": own} if own.stalled else {}
        own = self._own_wait.model_copy(update={"stalled": own.stalled})
        legs = {k: leg.progress.waiting for k, leg in self._legs.under_way.items()}
        return {k: one for k, one in {"": own, **legs}.items() if one != LegWaiting()}

    @property
    def _own_wait(self) -> LegWaiting:
        """Return the question or card of the mission itself: about its plan, or a hold."""
        held = self._hold.question
        return self._talk.waiting if held is None else LegWaiting(question=held)

    @property
    def task_queue(self) -> None:
        """Return the task queue of the mission's own activities: the workflow's."""
        return None

    def stall(self, why: str) -> None:
        """Show why the mission waits for state that workers are missing; empty: no wait."""
        self._stalled = why
        self._changed()

    def _show(self, status: MissionStatus) -> None:
        """Move to this status, and show it."""
        self._status = status
        self._changed()

    def _changed(self) -> None:
        """Show the mission again once the events of this workflow task are handled."""
        if not self._is_to_be_shown:
            self._is_to_be_shown = True
            asyncio.get_running_loop().call_soon(self._show_if_due)

    def _show_if_due(self) -> None:
        if self._is_to_be_shown:
            self._show_now()

    def _show_now(self) -> None:
        self._is_to_be_shown = False
        self._shown_waits = ui.note_waits(self._all_waiting(), before=self._shown_waits)
        page = self._page()
        self._shown = ui.note_mission(page, before=self._shown)
        workflow.set_current_details(page.markdown())
        if self.observer is not None:
            self.observer()

    def _page(self) -> MissionPage:
        under_way = self._legs.under_way
        waiting = {leg_id: leg.progress.waiting for leg_id, leg in under_way.items()}
        return MissionPage(self.result(), waiting=waiting)
