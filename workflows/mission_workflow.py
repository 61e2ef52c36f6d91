"""A mission from goal to result: plan, run the legs, and roll back when one of them is lost.

Invariant: when a mission ends, every obligation of its legs belongs to a mission that succeeded,
was rolled back, or is held open by its rollback for an operator.
"""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError

with workflow.unsafe.imports_passed_through():
    from orchestrator.adapters.temporal.search_attributes import search_attributes
    from orchestrator.confirmation.models import DecisionEnvelope, DecisionReceipt
    from orchestrator.core.budget import Money
    from orchestrator.core.errors import MissionIdTaken
    from orchestrator.core.limits import Used, out_of_time
    from orchestrator.messages import names
    from orchestrator.messages.begin import BeginInput
    from orchestrator.messages.hand_over import HandOverAsked, HandOverInput, HandOverPlan
    from orchestrator.messages.leg import (
        AnswerInput,
        FoundTools,
        LegInput,
        LegResult,
        LegState,
        LegStatus,
        LegWaiting,
        OverchargeNews,
        ReserveInput,
    )
    from orchestrator.messages.leg_terms import LegTerms
    from orchestrator.messages.mission import (
        AcceptedMission,
        MissionInput,
        MissionRequest,
        MissionResult,
        MissionStatus,
        final_status,
        request_digest,
    )
    from orchestrator.messages.mission_policy import CatalogPin
    from orchestrator.messages.news import LegNews
    from orchestrator.messages.other_plan import does_the_same, renamed
    from orchestrator.messages.plan_preview import BegunPlan
    from orchestrator.messages.replanned import (
        Replanned,
        may_be_tried_otherwise,
        replanning_after,
    )
    from orchestrator.messages.rollback import RollbackReport
    from orchestrator.messages.shared_limits import ShareInput
    from orchestrator.messages.unserved import unserved_of
    from orchestrator.planning.models import CHAINING, LegPlan, MissionPlan
    from orchestrator.saga.ledger import Ledger
    from orchestrator.saga.orders import Order, covered_orders
    from workflows import calls, telling, ui
    from workflows.failures import LOST, first_words, refuse, usage_of
    from workflows.finds import SharedFinds
    from workflows.hand_overs import HandOvers, failed_result
    from workflows.leg_news import PATCH, NewsOfLegs
    from workflows.lineage import check_mission
    from workflows.mission_limits import MissionLimits
    from workflows.mission_page import MissionPage
    from workflows.mission_view import MissionView, unserved_reason
    from workflows.own_rollback import OwnRollback
    from workflows.plan_talk import PATCH as PLAN_PATCH
    from workflows.plan_talk import PlanTalk
    from workflows.reservations import BudgetReservations
    from workflows.spending_holds import SpendingHolds
    from workflows.swift import SWIFT
    from workflows.waiting import finish_despite_cancel, until


class MissionLost(Exception):
    """The mission cannot reach its goal, for a reason of its own and not of a leg."""


@workflow.defn(name=names.MISSION_WORKFLOW)
class MissionWorkflow:
    """Runs one mission."""

    @workflow.init
    def __init__(self, mission: MissionInput) -> None:
        self._request = mission.request
        self._mission_id = workflow.info().workflow_id
        self._status = MissionStatus.PLANNING
        self._catalog = CatalogPin(digest="", size=0)
        self._plan = BegunPlan(legs=())
        self._results: dict[str, LegResult] = {}
        self._replanned: list[Replanned] = []
        self._started: list[str] = []
        self._ledger: Ledger | None = None
        self._error: str | None = None
        self._cancelled = False
        self._reservations = BudgetReservations(mission.request.budget)
        self._limits = MissionLimits(
            self._mission_id, self._under_way, lambda: self._error is not None
        )
        self._news = NewsOfLegs(self._mission_id)
        self._holds = SpendingHolds(self._mission_id, self._under_way)
        self._finds = SharedFinds(self._mission_id, self._under_way)
        self._hand_overs = HandOvers(
            self._mission_id,
            most=mission.request.policy.hand_overs,
            plan=self._leg_of_hand_over,
            running=self._under_way,
        )
        self._rollback = OwnRollback(self._mission_id, mission.request.requester)
        self._talk = PlanTalk(mission.request, show=self._show, draw=self._draw)
        self._finished = False
        self._is_swift = False
        self._shown: object = None
        self._held_up = ""

    @workflow.run
    async def run(self, _mission: MissionInput) -> MissionResult:
        """Reach the goal.

        Raises:
            ApplicationError: MissionFailed, its details the same MissionResult a success returns;
                MissionMisnamed under the id of something else.
            asyncio.CancelledError: a person cancelled it; the result is there to be queried.
        """
        check_mission()
        try:
            await self._pursue()
        except LOST as error:
            self._note_error(error)
            await finish_despite_cancel(self._roll_back())
        if not workflow.all_handlers_finished():
            await finish_despite_cancel(workflow.wait_condition(workflow.all_handlers_finished))
        return self._conclude()

    # -- the story --------------------------------------------------------------------------------

    async def _pursue(self) -> None:
        self._is_swift = workflow.patched(SWIFT)
        if self._is_swift:
            self._shown = self._page().searched_by  # as it was started
        self._show(MissionStatus.PLANNING)
        self._catalog = await calls.pin_catalog(here=self._is_swift)
        await self._begin(await self._plan_of(self._request.goal))
        try:
            await self._run_legs()
        except ChildWorkflowError as error:
            await self._begin(await self._planned_anew(error))
            await self._run_legs()

    async def _begin(self, plan: BegunPlan) -> None:
        """Let a plan begin, as people have it."""
        if self._talk.is_asked_about(plan) and workflow.patched(PLAN_PATCH):
            await self._talk.settle(plan, self._catalog, self._plan_of)
        telling.mission_planned(self._plan.legs)
        self._show(MissionStatus.RUNNING)

    async def _planned_anew(self, error: ChildWorkflowError) -> BegunPlan:
        """Another plan, once, where a leg failed before anything had happened.

        Raises:
            ChildWorkflowError: what it was told, where no other plan may be tried or there is none.
        """
        lost = failed_result(error)
        if lost is None or len(self._replanned) >= self._request.policy.replan:
            raise error
        self._error = None  # so that a cancel that comes now is the mission's end, and not this
        legs = (await calls.collect_legs(self._mission_id)).legs
        if not may_be_tried_otherwise(legs):
            raise error
        before = self._plan
        self._replanned.append(replanning_after(lost, legs, workflow.now()))
        self._show(MissionStatus.PLANNING)
        for leg in legs:
            self._limits.settle(leg)
        plan = await self._other_plan(before)
        if plan is None:
            self._plan = before
            self._replanned.pop()
            raise error
        for leg in legs:
            self._results[leg.leg_id] = leg
            self._reservations.settle(leg.leg_id, leg.taken)
        return plan

    async def _other_plan(self, before: MissionPlan) -> BegunPlan | None:
        """A plan that is not the same as the one before; None when there is none."""
        try:
            plan = await self._plan_of(self._talk.goal)
        except ActivityError:
            return None
        return None if does_the_same(before, plan) else plan

    async def _plan_of(self, goal: str) -> BegunPlan:
        """The plan of a goal, which is the mission's from then on."""
        wanted = BeginInput(
            mission_id=self._mission_id,
            goal=goal,
            inputs=self._request.inputs,
            now=self._talk.said_at,
            catalog_digest=self._catalog.digest,
            policy=self._request.policy,
            requester=self._request.requester,
            planner=self._request.planner,
            model=self._request.model,
            read_only=self._request.read_only,
            call=self._request.call,
            used=self._limits.total,
            failed_before=tuple(one.told for one in self._replanned),
        )
        try:
            plan = await calls.split_goal(wanted, here=self._splits_here())
        except ActivityError as error:
            self._limits.count(usage_of(error))
            raise
        if self._replanned:
            plan = renamed(plan, f"r{len(self._replanned)}-")
        self._limits.plan(plan.limits, Used(usage=plan.usage))
        self._plan = plan
        return plan

    def _splits_here(self) -> bool:
        """Whether the goal is split without a model."""
        asks = self._request.model is not None or self._request.planner not in (None, CHAINING)
        return self._is_swift and self._catalog.by_rules and not asks

    async def _run_legs(self) -> None:
        """Each leg as soon as those it depends on have succeeded; the first loss stops them all.

        One end is handled at a time, under one timer: two legs that end together lead to the same
        commands as two that end one after the other, however a replay groups their events.
        """
        running: dict[str, asyncio.Task[LegResult]] = {}
        ended: list[str] = []
        deadline = workflow.info().start_time + self._longest()
        late = asyncio.create_task(workflow.sleep(until(deadline), summary=ui.MISSION_DEADLINE))
        try:
            self._start_ready(running, ended)
            while any(leg.leg_id not in self._results for leg in self._plan.legs):
                await workflow.wait_condition(
                    lambda: bool(ended or self._hand_overs.new) or late.done()
                )
                if self._take_hand_overs():
                    self._start_ready(running, ended)
                    continue
                if not ended:
                    raise MissionLost(self._out_of_time())
                result = self._result_of(running, ended.pop(0))
                await self._hand_overs.ended(result)
                self._results[result.leg_id] = result
                self._reservations.settle(result.leg_id, result.taken)
                self._limits.settle(result)
                self._finds.keep(result.discovered)
                self._show(self._status)
                self._start_ready(running, ended)
        except LOST as error:
            self._note_error(error)
            for task in running.values():
                task.cancel()
            if running:
                await finish_despite_cancel(_all_done(list(running.values())))
            raise
        finally:
            late.cancel()

    def _longest(self) -> timedelta:
        """How long it may take in all."""
        limit = self._limits.limits.wall_clock
        deadline = self._request.policy.deadline
        return deadline if limit is None else min(limit, deadline)

    def _out_of_time(self) -> str:
        passed = workflow.now() - workflow.info().start_time
        limit = out_of_time(self._limits.limits.wall_clock, passed, of="the mission")
        return "the mission's deadline has passed" if limit is None else str(limit)

    def _result_of(self, running: dict[str, asyncio.Task[LegResult]], leg_id: str) -> LegResult:
        """How a leg ended; a part that was handed over may fail, where it has left nothing."""
        try:
            return running.pop(leg_id).result()
        except ChildWorkflowError as error:
            result = self._hand_overs.failed_harmlessly(leg_id, error)
            if result is None:
                raise
            return result

    def _take_hand_overs(self) -> bool:
        """Make legs of what was handed over; whether there was any."""
        new = tuple(one.leg for one in self._hand_overs.new if one.leg is not None)
        self._hand_overs.new.clear()
        if new:
            legs = (*self._plan.legs, *new)
            self._plan = self._plan.model_copy(update={"legs": legs})
        return bool(new)

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

    def _start_ready(self, running: dict[str, asyncio.Task[LegResult]], ended: list[str]) -> None:
        """Start what can start; each leg is noted in `ended`, in the order of history."""
        self._skip_dependents()
        for leg in self._ready():
            task = asyncio.create_task(self._run_leg(leg))
            task.add_done_callback(lambda _, leg_id=leg.leg_id: ended.append(leg_id))  # type: ignore[misc]
            running[leg.leg_id] = task
        ui.draw_mission(self._page())

    def _skip_dependents(self) -> None:
        """Leave out the legs that depend on one that was left out, and those that follow them."""
        skipped = [
            leg_id for leg_id, result in self._results.items() if result.status is LegStatus.SKIPPED
        ]
        for needed in skipped:
            for leg in self._plan.legs:
                if needed in leg.depends_on and leg.leg_id not in self._results:
                    why = f"left out: it depends on {needed}, which was left out"
                    self._results[leg.leg_id] = LegResult(
                        leg_id=leg.leg_id,
                        agent=leg.agent.name,
                        goal=leg.goal,
                        status=LegStatus.SKIPPED,
                        error=why,
                    )
                    skipped.append(leg.leg_id)

    def _ready(self) -> list[LegPlan]:
        """Legs to start now, in the plan's order."""
        ready = [
            leg
            for leg in self._plan.legs
            if leg.leg_id not in (*self._started, *self._results)
            and all(needed in self._results for needed in leg.depends_on)
        ]
        self._started += [leg.leg_id for leg in ready]
        return ready

    async def _run_leg(self, leg: LegPlan) -> LegResult:
        result: LegResult = await workflow.execute_child_workflow(
            names.LEG_WORKFLOW,
            LegInput(
                mission_id=self._mission_id,
                mission_goal=self._talk.goal,
                leg=leg,
                inputs=self._request.inputs,
                facts=tuple(f for needed in leg.depends_on for f in self._results[needed].facts),
                budget=self._request.budget,
                policy=self._request.policy,
                read_only=self._request.read_only,
                covered=self._covered(leg),
                requester=self._request.requester,
                limits=self._plan.leg_limits,
                shares_limits=self._limits.is_shared,
                catalog=self._catalog,
                started_at=self._talk.said_at,
                spending_held=self._holds.starts(leg.leg_id),
                state=LegState(discovered=self._finds.tools),
            ),
            id=names.leg_workflow_id(self._mission_id, leg.leg_id),
            task_queue=leg.agent.task_queue,
            result_type=LegResult,
            # A terminated mission asks its legs to stop: they settle the call they have on the way.
            parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
            search_attributes=search_attributes(
                self._mission_id,
                LegStatus.RUNNING,
                agent=leg.agent.name,
                requester=self._request.requester,
            ),
            static_summary=ui.summary(ui.LEG, agent=leg.agent.name, goal=leg.goal),
        )
        return result

    def _covered(self, leg: LegPlan) -> tuple[Order, ...]:
        """The orders of a leg that a standing approval may cover."""
        policy = self._request.policy.confirmation
        if leg.handed_over_by:
            asking = next(one for one in self._plan.legs if one.leg_id == leg.handed_over_by)
            return tuple(o for o in leg.orders if o.is_part_of(self._covered(asking)))
        if not self._plan.is_unproven or self._talk.is_approved or policy.unapproved_plans:
            return leg.orders
        orders = {one.leg_id: one.orders for one in self._plan.legs if not one.handed_over_by}
        return covered_orders(orders, self._request.orders).get(leg.leg_id, ())

    # -- when it is lost --------------------------------------------------------------------------

    async def _roll_back(self) -> None:
        """Collect what the legs left, and have a workflow that outlives this one roll it back."""
        if not self._started:
            return
        self._show(MissionStatus.ROLLING_BACK)
        collected = await calls.collect_legs(self._mission_id)
        self._results = {leg.leg_id: leg for leg in collected.legs}
        self._ledger = Ledger.merged(leg.ledger for leg in collected.legs)
        if not self._ledger.live():
            return
        report = await self._rollback.run(self._error or "", take_over=collected.last_rollback)
        self._ledger = report.ledger

    def _conclude(self) -> MissionResult:
        if self._ledger is None:
            self._ledger = Ledger.merged(r.ledger for r in self._results.values())
        self._finished = True
        failed = self._error is not None
        if not failed:
            # Not a loss: what was done was ordered and approved, and stands.
            missing = unserved_of(self._plan, self._results.values(), self._ledger)
            self._error = unserved_reason(missing)
        self._show(
            final_status(
                failed=failed,
                cancelled=self._cancelled,
                ledger=self._ledger,
                incomplete=not failed and self._error is not None,
            )
        )
        result = self.result()
        telling.mission_ended(self._status)
        if self._cancelled:
            raise asyncio.CancelledError
        if self._error is not None:
            kind = names.MISSION_FAILED if failed else names.MISSION_INCOMPLETE
            raise ApplicationError(self._error, result, type=kind, non_retryable=True)
        return result

    def _note_error(self, error: BaseException) -> None:
        """Keep the first error: a later one never hides it.

        A leg that somebody cancelled is a lost leg; only a cancel of the mission itself cancels it.
        """
        if self._error is not None:
            return
        self._cancelled = workflow.cancellation_reason() is not None
        self._error = "cancelled" if self._cancelled else first_words(error)

    # -- what comes in and what can be seen -------------------------------------------------------

    @workflow.update(name=names.TAKE_ON_UPDATE)
    def take_on(self, request: MissionRequest) -> AcceptedMission:
        """That a worker has it: answered before anything is planned."""
        return self.accepted()

    @workflow.update(name=names.PLAN_UPDATE)
    async def plan(self, request: MissionRequest) -> AcceptedMission:
        """What it is going to do, once that is known; or why it could not be planned."""
        await workflow.wait_condition(lambda: bool(self._plan.legs) or self._error is not None)
        return self.accepted()

    @take_on.validator
    @plan.validator
    def check_request(self, request: MissionRequest) -> None:
        """Refuse a request that this mission was not started with."""
        if request_digest(request) != request_digest(self._request):
            raise refuse(MissionIdTaken(self._mission_id))

    @workflow.query(name=names.ACCEPTED_QUERY)
    def accepted(self) -> AcceptedMission:
        """What was asked for, and what came of planning it."""
        return AcceptedMission(
            mission_id=self._mission_id,
            plan=self._plan,
            catalog=self._catalog,
            request_digest=request_digest(self._request),
            refusal=None if self._plan.legs else self._error,
        )

    @workflow.update(name=names.DECIDE_UPDATE)
    async def decide(self, envelope: DecisionEnvelope) -> DecisionReceipt:
        """Take a decision on the card of its plan."""
        return await self._talk.decide(envelope.decision)

    @decide.validator
    def check_decision(self, envelope: DecisionEnvelope) -> None:
        """Refuse what is not a decision on that card, before it enters history."""
        self._talk.gate.check(envelope.decision)

    @workflow.update(name=names.ANSWER_UPDATE)
    async def answer(self, answer: AnswerInput) -> str:
        """Take the answer to the question about its plan."""
        await self._talk.answer(answer)
        return answer.question_id

    @answer.validator
    def check_answer(self, answer: AnswerInput) -> None:
        """Refuse what does not answer it, before it enters history."""
        self._talk.check_answer(answer)

    @workflow.query(name=names.WAITING_QUERY)
    def waiting(self) -> LegWaiting:
        """What the mission itself waits for a person to do; its legs are asked themselves."""
        return self._talk.waiting

    @workflow.signal(name=names.ROLLBACK_SETTLED_SIGNAL)
    def rollback_settled(self, report: RollbackReport) -> None:
        """The rollback has tried everything; what it could not take back is parked with it."""
        self._rollback.hear(report)

    @workflow.signal(name=names.RESERVE_SIGNAL)
    async def reserve_budget(self, wanted: ReserveInput) -> None:
        """Reserve money for a leg's next call, or say why it does not fit.

        While an overcharge is to be decided on there is no answer, and after a loss there is none.
        """
        while self._holds.holds(wanted.leg_id):
            await workflow.wait_condition(
                lambda: not self._holds.holds(wanted.leg_id) or self._error is not None
            )
            if self._error is not None:
                return
        answer = self._reservations.reserve(wanted)
        handle = workflow.get_external_workflow_handle(
            names.leg_workflow_id(self._mission_id, wanted.leg_id)
        )
        try:
            await handle.signal(names.RESERVED_SIGNAL, answer)
        except ApplicationError:
            workflow.logger.info("the leg that asked for money is over")

    @workflow.signal(name=names.LEG_WAITS_SIGNAL)
    def leg_waits(self, news: LegNews) -> None:
        """A leg began or ceased to wait for a person: shown, and nothing else follows from it."""
        if not self._news.take(news, running=self._under_way()):
            return
        if self._is_swift or workflow.patched(PATCH):
            self._show(self._status)
        else:
            ui.draw_mission(self._page())

    @workflow.signal(name=names.SHARE_SIGNAL)
    async def share_limits(self, told: ShareInput) -> None:
        """A leg tells what it has used, and asks what it may use next."""
        await self._limits.take(told)

    @workflow.signal(name=names.OVERCHARGED_SIGNAL)
    async def overcharged(self, news: OverchargeNews) -> None:
        """A call of a leg cost more than was approved, or that was decided on."""
        self._reservations.settle(news.leg_id, news.spent)
        await self._holds.take(news)

    @workflow.signal(name=names.FOUND_SIGNAL)
    async def found_tools(self, found: FoundTools) -> None:
        """A leg's search found tools: the others may use them too."""
        await self._finds.take(found)

    @workflow.signal(name=names.HAND_OVER_SIGNAL)
    async def hand_over(self, asked: HandOverAsked) -> None:
        """A leg wants another agent to do a part of its goal, as a leg of its own."""
        approved = self._talk.is_approved
        await self._hand_overs.take(asked, self._plan, approved=approved)

    @workflow.query(name=names.BUDGET_LEFT_QUERY)
    def budget_left(self, asked: ReserveInput) -> list[Money]:
        """What is left of the budget for a leg; nothing when there is no budget."""
        left = self._reservations.left(asked)
        return [] if left is None else [left]

    @workflow.query(name=names.UNPRICED_QUERY)
    def unpriced(self, asked: ReserveInput) -> int:
        """How many calls of unknown price that does not count."""
        return self._reservations.unpriced(asked)

    @workflow.query(name=names.RESERVED_QUERY)
    def reserved(self, call_id: str) -> list[Money]:
        """What of the budget is set aside for a call; nothing when nothing is."""
        granted = self._reservations.granted(call_id)
        return [] if granted is None else [granted]

    @workflow.query(name=names.LEGS_QUERY)
    def legs(self) -> list[str]:
        """Ids of the legs that were started."""
        return self._started

    @workflow.query(name=names.LEG_TERMS_QUERY)
    def leg_terms(self, leg_id: str) -> list[LegTerms]:
        """On which terms a leg was started; none when this mission started no such leg."""
        return [
            LegTerms(
                leg=leg,
                inputs=self._request.inputs,
                budget=self._request.budget,
                policy=self._request.policy,
                catalog=self._catalog,
                read_only=self._request.read_only,
                covered=self._covered(leg),
            )
            for leg in self._plan.legs
            if leg.leg_id == leg_id and leg_id in self._started
        ]

    @workflow.query(name=names.RESULT_QUERY)
    def result(self) -> MissionResult:
        """The result document as it stands; final once the mission is over."""
        return MissionView(
            mission_id=self._mission_id,
            request=self._request,
            goal=self._talk.goal,
            answers=self._talk.answers,
            decisions=self._talk.decisions,
            plan_waits=self._talk.waiting,
            status=self._status,
            error=self._error,
            stopped=self._cancelled,
            catalog=self._catalog,
            plan=self._plan,
            replanned=tuple(self._replanned),
            started=self._started,
            results=self._results,
            planning=self._limits.before_legs.usage,
            ledger=self._ledger,
            started_at=workflow.info().start_time,
            finished_at=workflow.now() if self._finished else None,
            held_up="" if self._finished else self._held_up,
        ).result()

    def hold_up(self, why: str) -> None:
        """Show why it waits for what workers keep of it; empty: it no longer does."""
        self._held_up = why
        self._show(self._status)

    def _show(self, status: MissionStatus) -> None:
        """Move to this status, and show it."""
        self._status = status
        page = self._page()
        if self._is_swift and page.searched_by == self._shown:
            ui.draw_mission(page)
            return
        self._shown = page.searched_by
        ui.show_mission(page)

    def _draw(self) -> None:
        ui.draw_mission(self._page())

    def _page(self) -> MissionPage:
        news = self._news.of(self._under_way())
        return MissionPage(self.result(), budget=self._request.budget, news=news)

    def _under_way(self) -> list[str]:
        """Ids of the legs that were started and have not ended, as far as that is known."""
        if self._finished:
            return []
        return [leg_id for leg_id in self._started if leg_id not in self._results]


async def _all_done(tasks: list[asyncio.Task[LegResult]]) -> None:
    """Wait until each has ended, however; errors that follow from the first are not news."""
    await asyncio.gather(*tasks, return_exceptions=True)
