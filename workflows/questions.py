"""Ask questions of a leg, a plan or a hold to people, one at a time, until answer or expiry."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.core.errors import QuestionError
    from orchestrator.core.record import JsonObject
    from orchestrator.core.shown_text import markdown_summary
    from orchestrator.messages import names
    from orchestrator.messages.hold import ARGUMENTS, Hold, hold_problems
    from orchestrator.messages.leg import AnswerInput, LegStatus, Question
    from orchestrator.messages.question_field import (
        DECLINE,
        DECLINED,
        answer_problems,
        input_problems,
    )
    from orchestrator.messages.tool_call import PreparedCall
    from orchestrator.planning.models import AskUser
    from orchestrator.saga.outcome import InputWanted
    from orchestrator.workflows import logs, ui
    from orchestrator.workflows.failures import LegFailed, refuse
    from orchestrator.workflows.progress import Progress
    from orchestrator.workflows.waiting import Pending, wait_with_timers


UNANSWERED: Final = (
    "if nobody answers until then, this part of the mission fails, nothing more is done, and what "
    "the mission has done is rolled back"
)
DECLINED_FOR: Final = (
    f"if nobody answers until then, or with {DECLINE}, it is declined, and the call ends as "
    "{server} then answers"
)


@dataclass
class Asked(Pending):
    """A question that was asked, until it is answered or expired."""

    question: Question
    answer: AnswerInput | None = None


class QuestionDesk:
    """Holds the one open question of a leg, a plan or a hold, and takes its answer."""

    def __init__(
        self, where: str, question: Question | None = None, closed: Mapping[str, str] = {}
    ) -> None:
        """Begin with the open question of the previous run, and with the ends of closed ones."""
        self._where = where
        self.asked = None if question is None else Asked(question)
        self.closed = dict(closed)
        """How questions ended, in words, by their ids."""

    @property
    def question(self) -> Question | None:
        """The question that waits for an answer."""
        return None if self.asked is None or self.asked.is_over() else self.asked.question

    def open(self, question: Question) -> None:
        """Ask a question; `until_over` waits for its end."""
        self.asked = Asked(question)
        logs.waits("answer", question.question_id)

    async def until_over(
        self,
        moment: datetime | None,
        summary: str,
        is_interrupted: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Wait for the answer or the expiry; return False if the wait was interrupted before.

        Raises:
            asyncio.CancelledError: a cancel request arrived, which withdraws the question.
        """
        asked = self.asked
        if asked is None:
            raise RuntimeError("no question is open")
        expiry = asyncio.create_task(asked.expire(moment, summary))
        try:
            await wait_with_timers([expiry], lambda: asked.is_over() or is_interrupted())
        except asyncio.CancelledError:
            asked.ends("withdrawn")
            raise
        return asked.is_over()

    def close(self) -> AnswerInput | None:
        """Close the question, and return its answer; None: nobody answered in time."""
        asked, self.asked = self.asked, None
        return None if asked is None else asked.answer

    def check(self, answer: AnswerInput) -> None:
        """Refuse an answer to another question, or with values that were not asked for.

        Raises:
            ApplicationError: typed QuestionUnknown or AnswerInvalid.
        """
        question, wanted = self.question, answer.question_id
        if question is None or question.question_id != wanted:
            why = f"no such question is open in this {self._where}"
            if wanted in self.closed:
                why = f"it is closed: {self.closed[wanted]}"
            raise refuse(QuestionError(wanted, why, code="QuestionUnknown"))
        values, fields = answer.values, question.fields
        if question.hold is not None:
            optional = {n: one["default"] for n, one in fields.items() if "default" in one}
            problems = list(answer_problems(fields, {**optional, **values}))
            if not problems:
                problems = [*hold_problems(question.hold, values)]
                problems += _personal_values(question.hold, values)
        elif question.server:
            problems = list(input_problems(fields, values))
        elif values and not fields:
            problems = [
                "answer without a value; what was stored or configured is looked up there and must "
                "not be sent here"
            ]
        else:
            problems = list(answer_problems(fields, values))
        if problems:
            raise refuse(QuestionError(wanted, "; ".join(problems), code="AnswerInvalid"))

    async def take(self, answer: AnswerInput) -> bool:
        """Take an answer that `check` accepted; return False if its question is over.

        As with `ConfirmationGate.is_open`, a replay may deliver the answer before the event that
        opens its question.
        """
        if not self._knows(answer.question_id):
            await workflow.wait_condition(lambda: self._knows(answer.question_id))
        asked = self.asked
        if asked is None or asked.is_over():
            return False
        asked.answer = answer
        asked.ends("answered")
        return True

    def _knows(self, question_id: str) -> bool:
        asked = self.asked
        is_asked = asked is not None and asked.question.question_id == question_id
        return is_asked or question_id in self.closed


class Questions(QuestionDesk):
    """Asks the questions of a leg, one at a time, and takes the answers."""

    def __init__(self, progress: Progress) -> None:
        super().__init__("leg", progress.state.question)
        self._progress = progress
        self.resumed = progress.state.question
        """The question of the previous run, until the leg waits for it again."""

    async def ask_to_provide(self, tool: str, prepared: PreparedCall) -> None:
        """Wait until a person reports that a call's missing prerequisites are provided.

        The values themselves are not sent here. The worker looks them up, and does not rely on the
        answer.
        """
        parts = []
        if personal := prepared.missing_personal:
            commands = " and ".join(f"orchestrator pii {name}" for name in personal)
            parts.append(
                f"{tool} needs {', '.join(personal)}, which the PII vault does not hold. Store it "
                f"({commands})"
            )
        if prepared.obstacles:
            faults = "; ".join(prepared.obstacles)
            parts.append(
                f"{tool} cannot be sent yet: {faults}. Put it right where the workers run (one "
                "that reads its environment must be started again)"
            )
        question = f"{'. '.join(parts)}, then answer this question without a value."
        wanted = AskUser(question=question, why=f"{tool} cannot be called without it", fields={})
        await self.ask(wanted, personal=personal)

    async def ask(self, wanted: AskUser, *, personal: tuple[str, ...] = ()) -> None:
        """Wait for the answer, and store it in the leg; LegFailed: nobody answered in time."""
        question = self._asking(wanted, personal=personal)
        if await self._until_answered(question) is None:
            raise LegFailed(f"nobody answered in time: {question.question}")

    async def ask_for_server(self, wanted: InputWanted, tool: str) -> JsonObject | None:
        """Return the input for a server during a call; None: a person declined, or nobody answered.

        Raises:
            asyncio.CancelledError: a cancel request arrived, which withdraws the question.
        """
        server = wanted.server
        asked = AskUser(
            question=f"MCP server {server} asks, in its own words, which nobody has checked: "
            f"{wanted.text or 'to go on'}",
            why=f"{tool} was sent to {server}, and goes on with the answer",
            fields=wanted.fields,
        )
        question_id = names.input_id(self._progress.leg.call_id, wanted.round)
        question = self._asking(asked, question_id=question_id, server=server)
        answer = await self._until_answered(question)
        return None if answer is None or answer.values == DECLINED else answer.values

    def _asking(
        self,
        wanted: AskUser,
        *,
        personal: tuple[str, ...] = (),
        question_id: str = "",
        server: str = "",
    ) -> Question:
        leg = self._progress.leg
        before, named = self.asked, question_id or leg.call_id
        if before is not None and before.question.question_id == named:
            return before.question  # the previous run asked this question: its deadline stays
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
            otherwise=DECLINED_FOR.format(server=server) if server else UNANSWERED,
            asked_at=now,
            server=server,
        )
        self.open(question)
        return question

    async def _until_answered(self, question: Question) -> AnswerInput | None:
        self.resumed = None
        self._progress.update(question=question)
        self._progress.show(LegStatus.AWAITING_ANSWER)
        try:
            summary = markdown_summary(f"the question expires: {question.question}")
            await self.until_over(question.expires_at, summary)
        finally:
            answer = self.close()
        self._progress.update(question=None)
        self._progress.show(LegStatus.RUNNING)
        self._progress.record("ask the user", "expired" if answer is None else "answered")
        return answer

    def withdraw(self) -> None:
        """Close the question that the previous run asked, and that is no longer needed."""
        self.resumed = None
        self.close()
        self._progress.update(question=None)

    async def decide(self, question: Question, due: Callable[[], datetime]) -> AnswerInput | None:
        """Ask before a rollback; None: nobody answered until it was due, which may come earlier."""
        self.open(question)
        self._progress.show(LegStatus.AWAITING_ANSWER)
        is_over = False
        try:
            while not is_over:
                moment = due()
                self._progress.update(question=question.model_copy(update={"expires_at": moment}))
                is_over = await self.until_over(
                    moment,
                    ui.HOLD_EXPIRES,
                    lambda: due() < moment,  # noqa: B023
                )
        finally:
            answer = self.close()
        self._progress.update(question=None)
        self._progress.show(LegStatus.RUNNING)
        return answer

    async def take(self, answer: AnswerInput) -> bool:
        """Take an answer that `check` accepted; that to a planner's question becomes an input."""
        is_of_planner = answer.question_id == self._progress.leg.call_id
        is_taken = await super().take(answer)
        if is_taken and is_of_planner:
            state = self._progress.state
            answers = {**state.answers, **answer.values}
            self._progress.update(answers=answers, repeats=state.repeats.afresh())
        return is_taken


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
        f"{name}: its value looks like {look}; give a handle (orchestrator pii {name})"
        for name, look in looks.items()
        if look is not None
    ]
