"""A leg's question to the person who started the mission, waited on until its answer or expiry."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import AnswerInvalid, QuestionUnknown
    from orchestrator.core.record import JsonObject
    from orchestrator.json_schema.validation import field_problems
    from orchestrator.messages.leg import AnswerInput, Question
    from workflows.failures import refuse
    from workflows.waiting import until, wait_beside


@dataclass
class _Asked:
    """A question that was asked, and the first thing that happened to it."""

    question: Question
    end: Literal["answered", "expired"] | None = None

    def is_over(self) -> bool:
        return self.end is not None

    def ends(self, how: Literal["answered", "expired"]) -> None:
        if self.end is None:
            self.end = how


class Inquiry:
    """Holds the open question of a leg: one at a time."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self._asked: _Asked | None = None

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer."""
        if self._asked is None or self._asked.is_over():
            return None
        return self._asked.question

    def open(self, question: Question) -> None:
        """Ask it."""
        self._asked = _Asked(question)

    async def is_answered(self) -> bool:
        """Wait for the answer; False when the question expired first."""
        asked = self._asked
        assert asked is not None
        expires_at = asked.question.expires_at
        timers = [] if expires_at is None else [asyncio.create_task(_expire(asked, expires_at))]
        try:
            await wait_beside(timers, asked.is_over)
        finally:
            self._asked = None
        return asked.end == "answered"

    async def is_open(self, question_id: str) -> None:
        """Wait for the question of an accepted answer, as `Gate.is_open` does for a card."""
        if not self._holds(question_id):
            await workflow.wait_condition(lambda: self._holds(question_id))

    def _holds(self, question_id: str) -> bool:
        return self._asked is not None and self._asked.question.question_id == question_id

    def take(self, answer: AnswerInput) -> JsonObject:
        """The values of an answer that `check` let through; the question is closed."""
        assert self._asked is not None
        self._asked.ends("answered")
        return answer.values

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


async def _expire(asked: _Asked, moment: datetime) -> None:
    await workflow.sleep(until(moment), summary="question expires")
    asked.ends("expired")


def _problem(question: Question, values: JsonObject) -> str:
    """Why these values do not answer the question, in one sentence; empty when they do."""
    if values and not question.fields:
        return (
            "answer without a value; what is stored in the PII vault is looked up there and must "
            "not be sent here"
        )
    return "; ".join(field_problems(question.fields, values))
