"""Ask people about a plan, and for its approval, before any leg begins.

Invariant: no leg of a mission is started while its plan waits for a person, and none after a person
has stopped it or nobody answered.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import (
        Decision,
        DecisionReceipt,
        DecisionRecord,
        Grant,
        Reject,
        Respond,
        expiry_of,
    )
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegWaiting, Question
    from orchestrator.messages.mission import (
        BegunPlan,
        Came,
        CarriedMission,
        MissionRequest,
        MissionStatus,
        PlanAnswer,
    )
    from orchestrator.messages.mission_policy import CatalogPin
    from orchestrator.messages.plan_preview import (
        ANSWER,
        MOST_ROUNDS,
        UNANSWERED,
        PlanReview,
        PlanReviewInput,
        answer_fields,
        asks_first,
        plan_question,
        what_it_means,
    )
    from orchestrator.workflows import running
    from orchestrator.workflows.confirmation import ConfirmationGate
    from orchestrator.workflows.failures import first_words
    from orchestrator.workflows.questions import QuestionDesk


class PlanStopped(Exception):
    """The mission ends before it has any effect; the message is a sentence."""


Plan = Callable[[str], Awaitable[BegunPlan]]
"""Plans a restated goal, as of now."""


class PlanTalk:
    """Asks about one mission's plan, and takes people's answers."""

    def __init__(
        self,
        request: MissionRequest,
        *,
        show: Callable[[MissionStatus], None],
        draw: Callable[[], None],
        began: datetime,
        carried: CarriedMission | None = None,
    ) -> None:
        """Prepare without asking anything yet."""
        self._ends_at = began + request.policy.deadline
        """The mission's final deadline, which bounds every wait."""
        self._request = request
        self._mission_id = workflow.info().workflow_id
        self._show, self._draw = show, draw
        self.gate = ConfirmationGate(on_reminder=draw)
        self.questions = QuestionDesk("mission")
        self.goal = request.goal if carried is None else carried.goal
        """The goal as last restated."""
        self.said_at = began if carried is None else carried.said_at
        """The time of the restatement: the reference for `tomorrow` in the goal."""
        self.answers: tuple[PlanAnswer, ...] = () if carried is None else carried.answers
        self.decisions: tuple[DecisionRecord, ...] = () if carried is None else carried.decisions

    @property
    def waiting(self) -> LegWaiting:
        """Return the card or question of the mission itself that waits for a person."""
        return LegWaiting(card=self.gate.card, question=self.questions.question)

    @property
    def is_approved(self) -> bool:
        """True if somebody has approved exactly this plan on a card."""
        return any(decision.kind == "approved" for decision in self.decisions)

    async def settle(self, plan: BegunPlan, catalog: CatalogPin, replan: Plan) -> BegunPlan:
        """Return the plan that may begin, unchanged or as people have it made again.

        Raises:
            PlanStopped: somebody stopped it, nobody answered in time, or its goal was restated more
                often than is useful.
        """
        restated, problem = 0, ""
        while problem or self.is_asked_about(plan):
            if plan.needs_approval:
                came, text, by, named = await self._approved(plan, catalog, problem)
            else:
                came, text, by, named = await self._answered(plan, problem)
            answer = PlanAnswer(
                id=named, outcome=came, text=text, by=by, at=workflow.now(), doubts=plan.doubts
            )
            self.answers = (*self.answers, answer)
            if came == "go on":
                return plan
            if came == "expired":
                raise PlanStopped(f"nobody answered in time about its plan; {_NOTHING_DONE}")
            if came == "stop":
                why = f": {text}" if text else ""
                raise PlanStopped(
                    f"{by or 'somebody'} stopped it before it began{why}; {_NOTHING_DONE}"
                )
            if restated == MOST_ROUNDS:
                raise PlanStopped(
                    f"its goal was said otherwise {MOST_ROUNDS} times, and its plan was still "
                    f"asked about; {_NOTHING_DONE}: start it again"
                )
            restated += 1
            before, problem = (self.goal, self.said_at), ""
            self.goal, self.said_at = text, workflow.now()
            self._show(MissionStatus.PLANNING)
            try:
                plan = await replan(text)
            except ActivityError as error:
                if not isinstance(error.cause, ApplicationError):
                    raise
                self.goal, self.said_at = before
                problem = first_words(error)
        return plan

    def is_asked_about(self, plan: BegunPlan) -> bool:
        """Return True if people are asked before a plan begins."""
        return plan.needs_approval or asks_first(plan)

    async def _answered(self, plan: BegunPlan, problem: str) -> tuple[Came, str, str, str]:
        question = Question(
            question_id=names.plan_question_id(self._mission_id, len(self.answers) + 1),
            mission_id=self._mission_id,
            leg_id="",
            question=plan_question(plan, problem),
            fields=answer_fields(plan),
            expires_at=min(workflow.now() + self._request.policy.answer_expiry, self._ends_at),
            why="a part of its goal is not carried out as it stands",
            otherwise=UNANSWERED,
            asked_at=workflow.now(),
        )
        self.questions.open(question)
        self._show(MissionStatus.AWAITING_ANSWER)
        summary = markdown_summary(f"the question expires: {question.question}")
        await self.questions.until_over(question.expires_at, summary)
        answer = self.questions.close()
        said = "" if answer is None else str(answer.values[ANSWER])
        came: Came = "expired" if answer is None else what_it_means(said)
        self.questions.closed[question.question_id] = _CLOSED[came]
        text = said.strip() if came == "said otherwise" else ""
        return came, text, "" if answer is None else answer.answered_by, question.question_id

    async def _approved(
        self, plan: BegunPlan, catalog: CatalogPin, problem: str
    ) -> tuple[Came, str, str, str]:
        named, policy = "", self._request.policy
        for asked in range(1, policy.confirmation.rounds + 1):
            cards = {one.confirmation_id for one in self.decisions}
            named = names.plan_card_id(self._mission_id, len(cards) + 1)
            wanted = PlanReviewInput(
                mission_id=self._mission_id,
                goal=self.goal,
                inputs=self._request.inputs,
                plan=plan,
                planned_at=self.said_at,
                catalog_digest=catalog.digest,
                policy=policy,
                requester=self._request.requester,
                now=workflow.now(),
                ends_at=self._ends_at,
                confirmation_id=named,
                round=asked,
                problem=problem,
            )
            review = await _reviewed(wanted)
            if review.card is None:
                raise PlanStopped(f"its plan cannot be approved: {review.refusal}; {_NOTHING_DONE}")
            self.gate.open(review.card, review.approval_keys)
            self._show(MissionStatus.AWAITING_CONFIRMATION)
            verdict = await self.gate.wait(policy.confirmation.reminders)
            if isinstance(verdict, Grant):
                # A worker verifies the approval again, with its own policy and keys.
                given = {"grant": verdict, "shown": review.shown, "now": workflow.now()}
                checked = await _reviewed(wanted.model_copy(update=given))
                if checked.refusal is not None:
                    raise PlanStopped(
                        f"the approval of its plan does not hold: {checked.refusal}; "
                        f"{_NOTHING_DONE}"
                    )
                return "go on", "", verdict.approver, named
            if isinstance(verdict, Respond):
                return "said otherwise", verdict.text.strip(), verdict.approver, named
            if isinstance(verdict, Reject):
                return "stop", verdict.reason, verdict.approver, named
            self.decisions = (*self.decisions, expiry_of(review.card, workflow.now()))
        return "expired", "", "", named

    async def decide(self, decision: Decision) -> DecisionReceipt:
        """Take a decision that the gate's `check` accepted."""
        await self.gate.is_open(decision.confirmation_id)
        record = self.gate.decide(decision, workflow.now())
        self.decisions = (*self.decisions, record)
        if self.gate.card is not None:
            self._draw()
        return self.gate.receipt(decision, record.at)


async def _reviewed(wanted: PlanReviewInput) -> PlanReview:
    summary = (
        "put the plan before a person" if wanted.grant is None else "check the approval of the plan"
    )
    return await running.run(
        names.REVIEW_PLAN, wanted, result_type=PlanReview, summary=summary, **running.PLANNER
    )


_NOTHING_DONE = "nothing was done"
_CLOSED = {
    "go on": "somebody said to go on",
    "stop": "somebody stopped the mission",
    "said otherwise": "the goal was said otherwise, and is planned again",
    "expired": "nobody answered in time",
}
