"""Ask a leg's questions to the person who started the mission, until answer or expiry."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import QuestionError
    from orchestrator.core.record import JsonObject
    from orchestrator.messages.hold import ARGUMENTS, Hold, hold_problems
    from orchestrator.messages.leg import AnswerInput, LegStatus, Question
    from orchestrator.messages.question_field import answer_problems
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import AskUser
    from orchestrator.workflows import logs, ui
    from orchestrator.workflows.failures import LegLost, refuse
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.waiting import Pending, wait_with_timers


UNANSWERED: Final = (
    "if nobody answers until then, this part of the mission fails, nothing more is done, and what "
    "the mission has done is rolled back"
)


@dataclass
class Asked(Pending):
    """A question that was asked, until it is answered or expired."""

    question: Question
    answer: AnswerInput | None = None
    is_learned: bool = True
    """True if its values become inputs of the leg."""


class Questions:
    """Asks the questions of a leg, one at a time, and takes the answers."""

    def __init__(self, progress: Progress) -> None:
        """Take the leg that asks; a question of the previous run is open at once."""
        self._progress = progress
        self._asked: Asked | None = None
        question = progress.state.question
        if question is not None:
            is_learned = question.question_id == progress.leg.call_id
            self._asked = Asked(question, is_learned=is_learned)
        self.resumed = question
        """The question of the previous run, until the leg waits for it again."""

    @property
    def question(self) -> Question | None:
        """Return the question that waits for an answer."""
        if self._asked is None or self._asked.is_over():
            return None
        return self._asked.question

    async def ask_to_provide(self, tool: str, prepared: PreparedCall) -> None:
        """Wait until a person reports that a call's missing prerequisites are provided.

        The values themselves are not sent here. The worker looks them up, and does not rely on the
        answer.
        """
        question = _request_for(tool, prepared)
        wanted = AskUser(question=question, why=f"{tool} cannot be called without it", fields={})
        await self.ask(wanted, personal=prepared.missing_personal)

    async def ask(self, wanted: AskUser, *, personal: tuple[str, ...] = ()) -> None:
        """Wait for the answer, and store it in the leg.

        Raises:
            LegLost: nobody answered in time.
        """
        await self._until_answered(self._asking(wanted, personal=personal))

    async def ask_about(self, wanted: AskUser, *, question_id: str) -> AnswerInput:
        """Wait for an answer about a call, which is no input of the leg.

        Raises:
            LegLost: nobody answered in time.
        """
        return await self._until_answered(self._asking(wanted, question_id=question_id))

    def _asking(
        self, wanted: AskUser, *, personal: tuple[str, ...] = (), question_id: str = ""
    ) -> Asked:
        leg = self._progress.leg
        before, named = self._asked, question_id or leg.call_id
        if before is not None and before.question.question_id == named:
            return before  # the previous run asked this question: its deadline stays
        now = workflow.now()
        question = Question(
            question_id=named,
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
        logs.waits("answer", named)
        return Asked(question, is_learned=not question_id)

    async def _until_answered(self, asked: Asked) -> AnswerInput:
        self._asked, question = asked, asked.question
        self.resumed = None
        self._progress.show_question(question)
        self._progress.show(LegStatus.AWAITING_ANSWER)
        try:
            summary = ui.summary(ui.QUESTION_EXPIRES, question=question.question)
            expiry = asyncio.create_task(asked.expire(question.expires_at, summary))
            await wait_with_timers([expiry], asked.is_over)
        finally:
            self._asked = None
        self._progress.show_question(None)
        if asked.answer is None:
            self._progress.record("ask the user", "expired")
            raise LegLost(f"nobody answered in time: {question.question}")
        self._progress.show(LegStatus.RUNNING)
        self._progress.record("ask the user", "answered")
        return asked.answer

    async def decide(self, question: Question, due: Callable[[], datetime]) -> AnswerInput | None:
        """Ask before a rollback; None: nobody answered until it was due, which may come earlier."""
        asked = self._asked = Asked(question, is_learned=False)
        logs.waits("answer", question.question_id)
        self._progress.show(LegStatus.AWAITING_ANSWER)
        try:
            while not asked.is_over():
                moment = due()
                self._progress.show_question(question.model_copy(update={"expires_at": moment}))
                expiry = asyncio.create_task(asked.expire(moment, ui.HOLD_EXPIRES))
                await wait_with_timers([expiry], lambda: asked.is_over() or due() < moment)  # noqa: B023
        finally:
            self._asked = None
        self._progress.show_question(None)
        self._progress.show(LegStatus.RUNNING)
        return asked.answer

    async def take(self, answer: AnswerInput) -> None:
        """Take an answer that `check` accepted, and close the question.

        As with `ConfirmationGate.is_open`, a replay may deliver the answer before the event that
        opens its question.
        """
        if not self._holds(answer.question_id):
            await workflow.wait_condition(lambda: self._holds(answer.question_id))
        asked = self._asked
        if asked is None:
            return
        asked.answer = answer
        asked.ends("answered")
        if asked.is_learned:
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
                QuestionError(
                    answer.question_id,
                    "no such question is open in this leg",
                    code="QuestionUnknown",
                )
            )
        if question.hold is not None:
            check_hold_answer(question, answer)
            return
        problem = _problem(question, answer.values)
        if problem:
            raise refuse(QuestionError(answer.question_id, problem, code="AnswerInvalid"))


def _request_for(tool: str, prepared: PreparedCall) -> str:
    """Return instructions for making a call possible, in sentences."""
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
    """Return why these values do not answer the question, in one sentence; empty if they do."""
    if values and not question.fields:
        return (
            "answer without a value; what was stored or configured is looked up there and must "
            "not be sent here"
        )
    return "; ".join(answer_problems(question.fields, values))


def check_hold_answer(question: Question, answer: AnswerInput) -> None:
    """Refuse values that do not answer a hold's question.

    Raises:
        ApplicationError: typed AnswerInvalid; it quotes no argument.
    """
    optional = {n: one["default"] for n, one in question.fields.items() if "default" in one}
    problems = list(answer_problems(question.fields, {**optional, **answer.values}))
    if not problems and question.hold is not None:
        problems = [*hold_problems(question.hold, answer.values)]
        problems += _personal_values(question.hold, answer.values)
    if problems:
        reason = "; ".join(problems)
        raise refuse(QuestionError(answer.question_id, reason, code="AnswerInvalid"))


def _personal_values(hold: Hold, values: JsonObject) -> list[str]:
    """Return a sentence for each new argument that looks personal: histories keep it for ever."""
    changes, known = values.get(ARGUMENTS), hold.failed.arguments if hold.failed else {}
    new = [name for name in changes if name not in known] if isinstance(changes, dict) else []
    if not new or not isinstance(changes, dict):
        return []
    with workflow.unsafe.imports_passed_through():  # loads phone number tables, rarely needed
        from orchestrator.core.personal_look import personal_look
    looks = {name: personal_look(changes[name]) for name in new}
    return [
        f"{name}: its value looks like {look}; give a handle (orchestrator pii set {name})"
        for name, look in looks.items()
        if look is not None
    ]
