"""A leg's questions to the person who started the mission, each open until its answer or expiry."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import AnswerInvalid, QuestionUnknown
    from orchestrator.core.record import JsonObject
    from orchestrator.messages.leg import AnswerInput, LegStatus, Question
    from orchestrator.messages.question_field import answer_problems
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import AskUser
    from workflows import telling, ui
    from workflows.failures import LegLost, refuse
    from workflows.progress import Progress
    from workflows.waiting import Pending, wait_beside


UNANSWERED: Final = (
    "if nobody answers until then, this part of the mission fails, nothing more is done, and what "
    "the mission has done is rolled back"
)


@dataclass
class _Asked(Pending):
    """A question that was asked, until it is answered or expired."""

    question: Question
    answer: AnswerInput | None = None
    is_learned: bool = True
    """Whether its values are inputs of the leg from then on."""


class Questions:
    """Asks the questions of a leg, one at a time, and takes the answers."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._asked: _Asked | None = None

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer."""
        if self._asked is None or self._asked.is_over():
            return None
        return self._asked.question

    async def ask_to_provide(self, tool: str, prepared: PreparedCall) -> None:
        """Wait until a person says that what a call needs is there; values stay out of here.

        Whether it is gets looked up, not believed.
        """
        question = _request_for(tool, prepared)
        wanted = AskUser(question=question, why=f"{tool} cannot be called without it", fields={})
        await self.ask(wanted, personal=prepared.missing_personal)

    async def ask(self, wanted: AskUser, *, personal: tuple[str, ...] = ()) -> None:
        """Wait for the answer, which the leg then knows.

        Raises:
            LegLost: nobody answered in time.
        """
        await self._until_answered(_Asked(self._question(wanted, personal=personal)))

    async def ask_about(self, wanted: AskUser, *, question_id: str) -> AnswerInput:
        """Wait for an answer about a call, which is no input of the leg.

        Raises:
            LegLost: nobody answered in time.
        """
        question = self._question(wanted).model_copy(update={"question_id": question_id})
        asked = _Asked(question, is_learned=False)
        await self._until_answered(asked)
        assert asked.answer is not None
        return asked.answer

    def _question(self, wanted: AskUser, *, personal: tuple[str, ...] = ()) -> Question:
        leg = self._progress.leg
        now = workflow.now()
        return Question(
            question_id=leg.call_id,
            mission_id=leg.mission_id,
            leg_id=leg.leg.leg_id,
            question=wanted.question,
            fields=wanted.fields,
            personal=personal,
            expires_at=now + leg.policy.answer_expiry,
            why=wanted.why or f"it is needed to go on with {leg.leg.goal!r}",
            otherwise=UNANSWERED,
            asked_at=now,
        )

    async def _until_answered(self, asked: _Asked) -> None:
        self._asked, question = asked, asked.question
        assert question.expires_at is not None
        telling.waits("answer", question.question_id)
        self._progress.show(LegStatus.AWAITING_ANSWER)
        if not await self._is_answered(asked, question.expires_at):
            self._progress.record("ask the user", "expired")
            raise LegLost(f"nobody answered in time: {question.question}")
        self._progress.show(LegStatus.RUNNING)
        self._progress.record("ask the user", "answered")

    async def _is_answered(self, asked: _Asked, expires_at: datetime) -> bool:
        try:
            summary = ui.summary(ui.QUESTION_EXPIRES, question=asked.question.question)
            expiry = asyncio.create_task(asked.expire(expires_at, summary))
            await wait_beside([expiry], asked.is_over)
        finally:
            self._asked = None
        return asked.end == "answered"

    async def take(self, answer: AnswerInput) -> None:
        """Take an answer that `check` let through; the question is closed.

        As with `ConfirmationGate.is_open`, a replay may bring it ahead of what opens its question.
        """
        if not self._holds(answer.question_id):
            await workflow.wait_condition(lambda: self._holds(answer.question_id))
        assert self._asked is not None
        self._asked.answer = answer
        self._asked.ends("answered")
        if self._asked.is_learned:
            self._progress.learn(answer.values)

    def _holds(self, question_id: str) -> bool:
        return self._asked is not None and self._asked.question.question_id == question_id

    def check(self, answer: AnswerInput) -> None:
        """Refuse an answer to another question, or with values that were not asked for.

        Raises:
            ApplicationError: typed QuestionUnknown or AnswerInvalid.
        """
        question = self.question
        if question is None or question.question_id != answer.question_id:
            raise refuse(
                QuestionUnknown(answer.question_id, "no such question is open in this leg")
            )
        problem = _problem(question, answer.values)
        if problem:
            raise refuse(AnswerInvalid(answer.question_id, problem))


def _request_for(tool: str, prepared: PreparedCall) -> str:
    """What to do before a call can be made, in sentences."""
    parts = []
    if prepared.missing_personal:
        names = prepared.missing_personal
        commands = " and ".join(f"orchestrator pii set {name}" for name in names)
        parts.append(
            f"{tool} needs {', '.join(names)}, which the PII vault does not hold. Store it "
            f"({commands})"
        )
    if prepared.obstacles:
        faults = "; ".join(prepared.obstacles)
        parts.append(
            f"{tool} cannot be sent yet: {faults}. Put it right where the workers run (one that "
            "reads its environment must be started again)"
        )
    return f"{'. '.join(parts)}, then answer this question without a value."


def _problem(question: Question, values: JsonObject) -> str:
    """Why these values do not answer the question, in one sentence; empty when they do."""
    if values and not question.fields:
        return (
            "answer without a value; what was stored or configured is looked up there and must "
            "not be sent here"
        )
    return "; ".join(answer_problems(question.fields, values))
