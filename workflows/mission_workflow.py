"""Run a mission from goal to result: plan, run the legs, and roll back if a leg is lost.

Invariant: when a mission ends, every obligation of its legs belongs to a mission that succeeded,
was rolled back, or is held open by its rollback for an operator.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import DecisionEnvelope, DecisionReceipt
    from orchestrator.confirmation.same_again import AgainRecord, RevokeAgain
    from orchestrator.core.errors import OrchestratorError, QuestionError
    from orchestrator.core.limits import Used, out_of_time
    from orchestrator.messages import names
    from orchestrator.messages.failure_details import ModelPause, ResumeInput
    from orchestrator.messages.hold import why_not_repaired
    from orchestrator.messages.leg import AnswerInput, LegStatus, MissionProgress
    from orchestrator.messages.mission import (
        MISSION_ID_PATTERN,
        AcceptedMission,
        BegunPlan,
        MissionInput,
        MissionResult,
        MissionStatus,
        as_sent,
        begin_of,
        final_status,
        request_digest,
    )
    from orchestrator.messages.observed import ObservedRun
    from orchestrator.messages.receipts import unserved_of
    from orchestrator.messages.rollback import RollbackReport
    from orchestrator.planning.models import CHAINING
    from orchestrator.workflows import calls, logs, running, ui
    from orchestrator.workflows.confirmation import ConfirmationGate
    from orchestrator.workflows.failures import (
        WORK_FAILURES,
        first_words,
        refuse,
        usage_of,
    )
    from orchestrator.workflows.leg_task import Leg
    from orchestrator.workflows.legs import MissionLegFailed
    from orchestrator.workflows.mission_display import MissionDisplay
    from orchestrator.workflows.mission_hold import (
        failure_of,
        question_before_rollback,
        raisable,
        raised,
        rejected_for_good,
        repaired,
    )
    from orchestrator.workflows.own_rollback import OwnRollback
    from orchestrator.workflows.questions import QuestionDesk
    from orchestrator.workflows.running_mission import RunningMission
    from orchestrator.workflows.scope import work_for
    from orchestrator.workflows.waiting import finish_despite_cancel, until


class MissionLost(Exception):
    """The mission cannot reach its goal, for a reason that is not the failure of a leg."""


@workflow.defn(name=names.MISSION_WORKFLOW)
class MissionWorkflow:
    """Runs one mission."""

    task_queue: Final = None
    """Of the mission's own activities; None: the workflow's own."""

    @workflow.init
    def __init__(self, mission: MissionInput) -> None:
        self._mission = RunningMission(mission, lambda: self._display.changed())
        self._display = MissionDisplay(self._mission, lambda: self.observer)
        self._rollback = OwnRollback(self._mission.mission_id, mission.request.requester)
        self._is_kept = False
        """True if a person has decided that the effects of a failed mission stand."""
        self.observer: Callable[[], None] | None = None
        """Called after each change that is shown, where a reader replays the mission's history."""

    @workflow.run
    async def run(self, _mission: MissionInput) -> MissionResult:
        """Reach the goal.

        Raises:
            ApplicationError: MissionFailed, its details the same MissionResult a success returns;
                MissionMisnamed under the id of a rollback.
            asyncio.CancelledError: a person cancelled the mission.
        """
        mission = self._mission
        if not re.fullmatch(MISSION_ID_PATTERN, mission.mission_id):
            named = f"{mission.mission_id!r} is no id of a mission"
            wanted = "letters, digits, '-' and '_', at most 80 of them"
            raise refuse(OrchestratorError(f"{named}: {wanted}", code="MissionMisnamed"))
        try:
            if mission.request.observe:
                self._note_observed()
            if mission.carried is None:
                mission.show(MissionStatus.PLANNING)
                mission.catalog = await calls.pin_catalog()
                plan = await self._plan_of(mission.request.goal)
                if mission.talk.is_asked_about(plan):
                    await mission.talk.settle(plan, mission.catalog, self._plan_of)
                legs = len(mission.plan.legs)
                logs.write("the mission begins with %d legs", legs, legs=legs)
                mission.show(MissionStatus.RUNNING)
            else:
                mission.legs.run()
                mission.changed()
            while not await self._has_reached_end() and await self._is_repaired():
                pass  # the legs go on from where they failed
        except WORK_FAILURES as error:
            self._note_error(error)
            await finish_despite_cancel(self._roll_back())
        else:
            # The mission's effects stand from here on; a cancel request comes too late.
            if not mission.request.observe:
                await finish_despite_cancel(self._rollback.let_stand(mission.live_ledger()))
        if not workflow.all_handlers_finished():
            await finish_despite_cancel(workflow.wait_condition(workflow.all_handlers_finished))
        return self._conclude()

    async def _has_reached_end(self) -> bool:
        if self._mission.hold.question is not None:
            return False
        try:
            await self._run_legs()
        except WORK_FAILURES as error:
            if not self._is_held(error):
                raise
            return False
        return True

    # -- on hold ----------------------------------------------------------------------------------

    def _is_held(self, error: BaseException) -> bool:
        """Open a hold after a failure; return False if the mission is rolled back at once."""
        mission, request = self._mission, self._mission.request
        asks = (request.on_failure or request.policy.on_failure) == "ask"
        if not asks or mission.is_cancelled or workflow.cancellation_reason() is not None:
            return False
        failed = error.result if isinstance(error, MissionLegFailed) else None
        if failed is not None and rejected_for_good(failed.decisions):
            return False
        leg = mission.legs.lost.get(failed.leg_id) if failed is not None else None
        ledger = mission.live_ledger()
        time = out_of_time(mission.longest, workflow.now() - mission.started_at, of="the mission")
        hold = failure_of(failed, leg, mission.error or "", why_not_repaired(ledger))
        question = question_before_rollback(
            raisable(hold, failed.limit if failed is not None else time, mission.plan),
            ledger,
            question_id=names.hold_id(mission.mission_id, len(mission.hold.records) + 1),
            mission_id=mission.mission_id,
            limit=mission.plan.hold_limit or request.policy.hold_limit,
        )
        if question is None:
            return False
        mission.plan_handed_over()  # a repair starts these legs
        mission.hold.open(question)
        mission.show(MissionStatus.ON_HOLD)
        return True

    async def _is_repaired(self) -> bool:
        """Wait for the end of the hold; return True if the mission goes on, False if it is kept."""
        mission = self._mission
        question = mission.hold.question
        try:
            answer = await mission.hold.until_decided(mission.is_ready_for_new_run)
            while answer is None:
                await self._continue_as_new()
        except asyncio.CancelledError:
            mission.is_cancelled = workflow.cancellation_reason() is not None
            raise
        if question is None or question.hold is None or answer.decision in ("roll back", "expired"):
            raise MissionLost(mission.error or "")
        if answer.decision == "keep":
            self._is_kept = True
            return False
        mission.error = None
        if answer.limit:
            mission.plan, time = raised(mission.plan, question.hold, answer.limit)
            mission.deadline = time or mission.deadline
            mission.limits.take_plan(mission.plan.limits, Used())
        for result in mission.legs.results.values():
            mission.keep(result)
        limits = {"limits": mission.plan.leg_limits}
        lost = [repaired(leg, question.hold, answer) for leg in mission.legs.lost.values()]
        mission.show(MissionStatus.RUNNING)
        mission.legs.reopen((leg.model_copy(update=limits) for leg in lost), mission.shared)
        return True

    async def _plan_of(self, goal: str) -> BegunPlan:
        mission, request = self._mission, self._mission.request
        wanted = begin_of(
            request,
            mission_id=mission.mission_id,
            goal=goal,
            now=mission.talk.said_at,
            catalog_digest=mission.catalog.digest,
            used=mission.limits.total,
        )
        asks = request.model is not None or request.planner not in (None, CHAINING)
        try:
            # Without a model it takes no time, and can run as a local activity.
            run = running.run_locally if mission.catalog.by_rules and not asks else running.run
            plan = await run(
                names.SPLIT_GOAL,
                wanted,
                result_type=BegunPlan,
                summary="split the goal into legs",
                **running.SPLITTING,
            )
        except ActivityError as error:
            mission.limits.count(usage_of(error))
            raise
        mission.limits.take_plan(plan.limits, Used(usage=plan.usage))
        mission.plan = plan
        return plan

    # -- legs -------------------------------------------------------------------------------------

    async def _run_legs(self) -> None:
        """Run each leg once the legs it depends on have succeeded; a lost leg stops all."""
        mission, legs = self._mission, self._mission.legs
        left = until(mission.started_at + mission.longest)
        late = asyncio.create_task(workflow.sleep(left, summary="the mission's deadline"))
        try:
            mission.start_ready()
            while not legs.are_done(mission.plan):
                await workflow.wait_condition(
                    lambda: (
                        bool(mission.hand_overs.new)
                        or legs.has_ended_one
                        or late.done()
                        or mission.is_ready_for_new_run()
                    )
                )
                if mission.hand_overs.new:
                    mission.plan_handed_over()
                    mission.start_ready()
                elif legs.has_ended_one:
                    result = legs.take_ended()
                    mission.keep(result)
                    is_lost = result.status is LegStatus.FAILED
                    if is_lost and not mission.hand_overs.failed_harmlessly(result):
                        raise MissionLegFailed(result)
                    legs.lost.pop(result.leg_id, None)
                    mission.changed()
                    mission.start_ready()
                elif late.done():
                    raise MissionLost(mission.late_because)
                else:
                    await self._continue_as_new()
        except WORK_FAILURES as error:
            late.cancel()  # a mission that succeeds ends with its timer
            self._note_error(error)
            await legs.stop()
            raise

    async def _continue_as_new(self) -> None:
        self._display.show()
        carried = await self._mission.suspend()
        workflow.continue_as_new(MissionInput(request=self._mission.request, carried=carried))

    # -- rollback and result ----------------------------------------------------------------------

    async def _roll_back(self) -> None:
        """Roll back; even if the ledger is empty, a reset may have made the legs forget effects."""
        mission = self._mission
        if mission.request.observe:
            self._note_observed(mission.error or "")
            return
        if mission.legs.were_started:
            mission.show(MissionStatus.ROLLING_BACK)
        mission.ledger = await self._rollback.run(mission.error or "", mission.live_ledger())

    def _note_observed(self, failed: str = "") -> None:
        """Note for lists and reports that nothing is guarded here, and on what terms."""
        request = self._mission.request
        noted = ObservedRun(
            policy=request.policy,
            budget=request.budget,
            requester=request.requester,
            failed=failed,
            ended=bool(failed),
        )
        ui.note_observed(self._mission.mission_id, noted, before=None)

    def _conclude(self) -> MissionResult:
        mission = self._mission
        if mission.ledger is None:
            mission.ledger = mission.live_ledger()
        mission.finished_at = workflow.now()
        failed = mission.error is not None and not self._is_kept
        if mission.error is None:
            # Not a failure: the effects were ordered and approved, and stand.
            missing = unserved_of(mission.plan, mission.legs.results.values(), mission.ledger)
            if missing:
                listed = "; ".join(map(str, missing))
                mission.error = f"not all that was asked for was done: {listed}"
        mission.status = final_status(
            failed=failed,
            cancelled=mission.is_cancelled,
            ledger=mission.ledger,
            incomplete=not failed and mission.error is not None,
            observed=mission.request.observe,
        )
        self._display.show()
        result = as_sent(self.result())
        logs.mission_ended(mission.status, mission.started_at)
        if mission.is_cancelled:
            raise asyncio.CancelledError
        if mission.error is not None:
            kind = names.MISSION_FAILED if failed else names.MISSION_INCOMPLETE
            raise ApplicationError(mission.error, result, type=kind, non_retryable=True)
        return result

    def _note_error(self, error: BaseException) -> None:
        """Store the first error: a later one never hides it."""
        mission = self._mission
        if mission.error is not None:
            return
        mission.is_cancelled = workflow.cancellation_reason() is not None
        mission.error = "cancelled" if mission.is_cancelled else first_words(error)

    # -- updates and signals ----------------------------------------------------------------------

    @workflow.update(name=names.DECIDE_UPDATE)
    async def decide(self, envelope: DecisionEnvelope) -> DecisionReceipt:
        """Take a decision on an open card of the plan or of a leg."""
        decision = envelope.decision
        if (leg := self._leg_of(decision.confirmation_id)) is None:
            return await self._mission.talk.decide(decision)
        work_for(leg)
        return await leg.approvals.take(decision)

    @decide.validator
    def check_decision(self, envelope: DecisionEnvelope) -> None:
        """Refuse a decision that is not on an open card, before it enters the history."""
        decision = envelope.decision
        leg = self._leg_of(decision.confirmation_id)
        if leg is not None:
            leg.approvals.check(decision)
        elif self._is_of_plan(decision.confirmation_id):
            self._mission.talk.gate.check(decision)
        else:
            result = self._mission.legs.results.get(names.leg_of(decision.confirmation_id))
            ConfirmationGate(result.decisions if result is not None else ()).check(decision)

    @workflow.update(name=names.REVOKE_UPDATE)
    def revoke_again(self, wanted: RevokeAgain) -> AgainRecord:
        """Revoke a rule for later calls; calls that it approved and that were sent stand."""
        return self._mission.rules.revoke(wanted, workflow.now())

    @revoke_again.validator
    def check_revocation(self, wanted: RevokeAgain) -> None:
        """Refuse to revoke what is no rule in force, before it enters the history."""
        self._mission.rules.check_revocation(wanted)

    @workflow.update(name=names.ANSWER_UPDATE)
    async def answer(self, answer: AnswerInput) -> str:
        """Take the answer to an open question about the plan or of a leg."""
        await self._desk_of(answer).take(answer)
        return answer.question_id

    @answer.validator
    def check_answer(self, answer: AnswerInput) -> None:
        """Refuse an answer to no open question, before it enters the history."""
        self._desk_of(answer).check(answer)

    def _desk_of(self, answer: AnswerInput) -> QuestionDesk:
        if (leg := self._leg_of(answer.question_id)) is not None:
            return leg.questions
        is_of_plan = self._is_of_plan(answer.question_id)
        return self._mission.talk.questions if is_of_plan else self._mission.hold

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
            why = "no leg waits for its model under that id"
            raise refuse(QuestionError(wanted.pause_id, why, code="PauseUnknown"))
        leg.pauses.check(wanted)

    def _leg_of(self, asked: str) -> Leg | None:
        return self._mission.legs.under_way.get(names.leg_of(asked))

    def _is_of_plan(self, asked: str) -> bool:
        return names.is_of_plan(asked, self._mission.mission_id)

    @workflow.signal(name=names.ROLLBACK_SETTLED_SIGNAL)
    def rollback_settled(self, report: RollbackReport) -> None:
        """Note that the rollback has tried everything; the rest is parked."""
        self._rollback.hear(report)

    # -- visible state ----------------------------------------------------------------------------

    def accepted(self) -> AcceptedMission:
        """Return the request's digest and the result of planning."""
        mission = self._mission
        return AcceptedMission(
            mission_id=mission.mission_id,
            plan=mission.plan,
            catalog=mission.catalog,
            request_digest=request_digest(mission.request),
            refusal=None if mission.plan.legs else mission.error,
        )

    def result(self) -> MissionResult:
        """Return the current result document; final once the mission is over."""
        return self._display.result()

    def progress(self) -> MissionProgress:
        """Return the progress of each leg, step by step: watchers make events of it."""
        under_way = self._mission.legs.under_way
        return MissionProgress(legs={k: leg.progress.as_watched() for k, leg in under_way.items()})

    def stall(self, why: str) -> None:
        """Show why the mission waits for state that workers are missing; empty: no wait."""
        self._mission.stalled = why
        self._mission.changed()
