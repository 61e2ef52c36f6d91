"""What a mission asks about its plan before any of it begins: a question, or an approval.

Invariant: no leg of a mission is started while its plan waits for a person, and none after a person
has stopped it or nobody answered.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import (
        PAST,
        Decision,
        DecisionReceipt,
        DecisionRecord,
        Grant,
        Reject,
        Respond,
    )
    from orchestrator.core.errors import AnswerInvalid, QuestionUnknown
    from orchestrator.messages import names
    from orchestrator.messages.leg import AnswerInput, LegWaiting, Question
    from orchestrator.messages.mission import MissionRequest, MissionStatus
    from orchestrator.messages.mission_policy import CatalogPin
    from orchestrator.messages.plan_answers import (
        ANSWER,
        MOST_ROUNDS,
        UNANSWERED,
        Came,
        PlanAnswer,
        answer_fields,
        asks_first,
        plan_question,
        what_it_means,
        why_asked,
    )
    from orchestrator.messages.plan_preview import BegunPlan, PlanReview, PlanReviewInput
    from orchestrator.messages.question_field import answer_problems
    from workflows import calls, telling, ui
    from workflows.confirmation import ConfirmationGate
    from workflows.failures import first_words, refuse
    from workflows.waiting import Pending, wait_beside

PATCH = "plan-talk"
"""Missions that were planned before people were asked about plans go on without asking."""


class PlanStopped(Exception):
    """The mission ends before anything of it is done; its text is a sentence."""


@dataclass
class _Asked(Pending):
    """A question about the plan, until it is answered or expired."""

    question: Question
    text: str = ""
    by: str = ""


Plan = Callable[[str], Awaitable[BegunPlan]]
"""Plans a goal as it is said otherwise, as of now."""


class PlanTalk:
    """Asks about one mission's plan, and takes what people answer."""

    def __init__(
        self,
        request: MissionRequest,
        *,
        show: Callable[[MissionStatus], None],
        draw: Callable[[], None],
    ) -> None:
        """Ask nothing yet.

        Args:
            request: what the mission was started with.
            show: called with the status that the mission moves to.
            draw: called when what it waits for has changed otherwise.
        """
        self._request = request
        self._mission_id = workflow.info().workflow_id
        self._show, self._draw = show, draw
        self.gate = ConfirmationGate({}, on_reminder=self._remind)
        self._asked: _Asked | None = None
        self._closed: dict[str, Came] = {}
        self.goal = request.goal
        """As it was said last."""
        self.said_at = workflow.info().start_time
        """When: what `tomorrow` in it goes by."""
        self.answers: tuple[PlanAnswer, ...] = ()
        self.decisions: tuple[DecisionRecord, ...] = ()

    @property
    def waiting(self) -> LegWaiting:
        """What the mission itself waits for a person to do."""
        asked = self._asked
        question = None if asked is None or asked.is_over() else asked.question
        return LegWaiting(card=self.gate.card, question=question)

    @property
    def is_approved(self) -> bool:
        """Whether somebody has approved its plan on a card, that one and no other."""
        return any(decision.kind == "approved" for decision in self.decisions)

    async def settle(self, plan: BegunPlan, catalog: CatalogPin, plan_anew: Plan) -> BegunPlan:
        """The plan that may begin, as it is or as people have it made anew.

        Raises:
            PlanStopped: somebody stopped it, nobody answered in time, or its goal was said
                otherwise more often than is useful.
        """
        restated, problem = 0, ""
        while problem or self.is_asked_about(plan):
            came, text = await self._put(plan, catalog, problem)
            if came == "go on":
                return plan
            if came == "expired":
                raise PlanStopped(f"nobody answered in time about its plan; {_NOTHING_DONE}")
            if came == "stop":
                by = self.answers[-1].by or "somebody"
                why = f": {text}" if text else ""
                raise PlanStopped(f"{by} stopped it before it began{why}; {_NOTHING_DONE}")
            if restated == MOST_ROUNDS:
                raise PlanStopped(
                    f"its goal was said otherwise {MOST_ROUNDS} times, and its plan was still "
                    f"asked about; {_NOTHING_DONE}: start it anew"
                )
            restated += 1
            plan, problem = await self._restated(text, plan, plan_anew)
        return plan

    def is_asked_about(self, plan: BegunPlan) -> bool:
        """Whether people are asked before a plan begins."""
        return plan.needs_approval or asks_first(plan)

    async def _restated(self, text: str, plan: BegunPlan, plan_anew: Plan) -> tuple[BegunPlan, str]:
        """The plan of a goal that was said otherwise; or the one before, and why there is none."""
        goal, said_at = self.goal, self.said_at
        self.goal, self.said_at = text, workflow.now()
        self._show(MissionStatus.PLANNING)
        try:
            return await plan_anew(text), ""
        except ActivityError as error:
            if not isinstance(error.cause, ApplicationError):
                raise
            self.goal, self.said_at = goal, said_at
            return plan, first_words(error)

    async def _put(self, plan: BegunPlan, catalog: CatalogPin, problem: str) -> tuple[Came, str]:
        """What people say to a plan: what came of it, and in which words."""
        if plan.needs_approval:
            came, text, by, named = await self._approved(plan, catalog, problem)
        else:
            came, text, by, named = await self._answered(plan, problem)
        answer = PlanAnswer(
            id=named, came_to=came, text=text, by=by, at=workflow.now(), doubts=plan.doubts
        )
        self.answers = (*self.answers, answer)
        return came, text

    def _ends_at(self) -> datetime:
        """When the mission is over at last, whatever it waits for."""
        return workflow.info().start_time + self._request.policy.deadline

    # -- a question -------------------------------------------------------------------------------

    async def _answered(self, plan: BegunPlan, problem: str) -> tuple[Came, str, str, str]:
        number = len(self.answers) + 1
        expires_at = min(workflow.now() + self._request.policy.answer_expiry, self._ends_at())
        asked = self._asked = _Asked(
            Question(
                question_id=names.plan_question_id(self._mission_id, number),
                mission_id=self._mission_id,
                leg_id="",
                question=plan_question(plan, problem),
                fields=answer_fields(plan),
                expires_at=expires_at,
                why=why_asked(plan),
                otherwise=UNANSWERED,
                asked_at=workflow.now(),
            )
        )
        telling.waits("answer", asked.question.question_id)
        self._show(MissionStatus.AWAITING_ANSWER)
        summary = ui.summary(ui.QUESTION_EXPIRES, question=asked.question.question)
        expiry = asyncio.create_task(asked.expire(expires_at, summary))
        try:
            await wait_beside([expiry], asked.is_over)
        except asyncio.CancelledError:
            asked.ends("withdrawn: the mission was cancelled")
            raise
        came: Came = "expired" if asked.end == "expired" else what_it_means(asked.text)
        self._closed[asked.question.question_id] = came
        text = asked.text.strip() if came == "said otherwise" else ""
        return came, text, asked.by, asked.question.question_id

    def check_answer(self, answer: AnswerInput) -> None:
        """Refuse an answer to another question, or one that says nothing.

        Raises:
            ApplicationError: typed QuestionUnknown or AnswerInvalid.
        """
        wanted, asked = answer.question_id, self._asked
        if wanted in self._closed:
            raise refuse(QuestionUnknown(wanted, f"it is closed: {_CLOSED[self._closed[wanted]]}"))
        if asked is None or asked.question.question_id != wanted:
            raise refuse(QuestionUnknown(wanted, "no such question is open in this mission"))
        if asked.is_over():
            raise refuse(QuestionUnknown(wanted, f"it has just been {asked.end}"))
        problems = answer_problems(asked.question.fields, answer.values)
        if problems:
            raise refuse(AnswerInvalid(wanted, "; ".join(problems)))

    async def answer(self, answer: AnswerInput) -> None:
        """Take an answer that `check_answer` let through.

        A replay may bring it ahead of what opens its question.
        """
        if not self._holds(answer.question_id):
            await workflow.wait_condition(lambda: self._holds(answer.question_id))
        assert self._asked is not None
        self._asked.text = str(answer.values[ANSWER])
        self._asked.by = answer.answered_by
        self._asked.ends("answered")

    def _holds(self, question_id: str) -> bool:
        return self._asked is not None and self._asked.question.question_id == question_id

    # -- an approval ------------------------------------------------------------------------------

    async def _approved(
        self, plan: BegunPlan, catalog: CatalogPin, problem: str
    ) -> tuple[Came, str, str, str]:
        named = ""
        for asked in range(1, self._request.policy.confirmation.rounds + 1):
            named = names.plan_card_id(self._mission_id, len(self._cards()) + 1)
            wanted = self._review(plan, catalog, named, asked, problem)
            review = await calls.review_plan(wanted)
            if review.card is None:
                raise PlanStopped(f"its plan cannot be approved: {review.refusal}; {_NOTHING_DONE}")
            verdict = await self._decided(review)
            if isinstance(verdict, Grant):
                await self._check(wanted, review, verdict)
                return "go on", "", verdict.approver, named
            if isinstance(verdict, Respond):
                return (
                    "said otherwise",
                    verdict.text.strip(),
                    verdict.approver,
                    named,
                )
            if isinstance(verdict, Reject):
                return "stop", verdict.reason, verdict.approver, named
        return "expired", "", "", named

    def _cards(self) -> set[str]:
        """The ids of the cards that people have had so far."""
        return {one.confirmation_id for one in self.decisions}

    def _review(
        self, plan: BegunPlan, catalog: CatalogPin, confirmation_id: str, asked: int, problem: str
    ) -> PlanReviewInput:
        return PlanReviewInput(
            mission_id=self._mission_id,
            goal=self.goal,
            inputs=self._request.inputs,
            plan=plan,
            planned_at=self.said_at,
            catalog_digest=catalog.digest,
            policy=self._request.policy,
            requester=self._request.requester,
            now=workflow.now(),
            ends_at=self._ends_at(),
            confirmation_id=confirmation_id,
            round=asked,
            problem=problem,
        )

    async def _decided(self, review: PlanReview) -> Grant | Reject | Respond | None:
        """What people decide on a card; None: it expired."""
        assert review.card is not None
        self.gate.open(review.card, review.approval_keys)
        self._show(MissionStatus.AWAITING_CONFIRMATION)
        verdict = await self.gate.wait(self._request.policy.confirmation.reminders)
        if verdict is None:
            expired = DecisionRecord(
                confirmation_id=review.card.confirmation_id,
                kind="expired",
                approver="",
                at=workflow.now(),
                digest=review.card.digest,
            )
            self.decisions = (*self.decisions, expired)
        return verdict

    async def _check(self, wanted: PlanReviewInput, review: PlanReview, grant: Grant) -> None:
        """Have a worker look at an approval once more, with its own policy and keys.

        Raises:
            PlanStopped: it does not hold.
        """
        given = {"grant": grant, "shown": review.shown, "now": workflow.now()}
        checked = await calls.review_plan(wanted.model_copy(update=given))
        if checked.refusal is not None:
            raise PlanStopped(
                f"the approval of its plan does not hold: {checked.refusal}; {_NOTHING_DONE}"
            )

    async def decide(self, decision: Decision) -> DecisionReceipt:
        """Take a decision that the gate's `check` let through."""
        await self.gate.is_open(decision.confirmation_id)
        record = self.gate.decide(decision, workflow.now())
        self.decisions = (*self.decisions, record)
        card = self.gate.card
        if card is not None:
            self._draw()
        return DecisionReceipt(
            confirmation_id=decision.confirmation_id,
            accepted=PAST[decision.kind],
            at=record.at,
            card=card,
        )

    def _remind(self) -> None:
        """Somebody should decide: seen in the Temporal UI, the log and a metric."""
        card = self.gate.card
        assert card is not None
        workflow.logger.warning("the plan %s still waits", card.confirmation_id)
        workflow.metric_meter().create_counter(
            names.REMINDERS_METRIC, "Reminders of confirmations that nobody had decided."
        ).add(1, {"card_type": card.card_type})
        self._draw()


_NOTHING_DONE = "nothing was done"
_CLOSED = {
    "go on": "somebody said to go on",
    "stop": "somebody stopped the mission",
    "said otherwise": "the goal was said otherwise, and is planned anew",
    "expired": "nobody answered in time",
}
