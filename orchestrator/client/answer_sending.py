"""Answers of people on their way to the leg that asked: read by its question, then sent."""

from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from orchestrator.client.connection import Connection
from orchestrator.client.understood import Understood
from orchestrator.client.waiting_legs import leg_of, waiting_of
from orchestrator.core import errors
from orchestrator.messages import names
from orchestrator.messages.leg import AnswerInput, Question
from orchestrator.messages.open_waits import commands_for


async def open_question(connection: Connection, question_id: str) -> Question | None:
    """The question of that id, if it is open."""
    waiting = await waiting_of(connection, leg_of(question_id))
    question = waiting.question if waiting is not None else None
    return question if question is not None and question.question_id == question_id else None


def read_for(
    question: Question, typed: Mapping[str, JsonValue], *, now: datetime | None = None
) -> Understood:
    """What was typed, read by the question's fields and the clock of whoever answers.

    The clock shows the mission's time zone: a mission that runs for a week is answered "tomorrow".
    """
    from orchestrator.client.typed_answers import read_answer  # loads the languages of dates
    from orchestrator.messages.question_field import personal_problems

    zone = question.asked_at.tzinfo if question.asked_at is not None else UTC
    refused = personal_problems(typed)
    if refused:
        return Understood(values=dict(typed), problems=refused)
    return read_answer(question.fields, typed, now=now or datetime.now(zone))


async def send_answer(
    connection: Connection,
    question_id: str,
    typed: Mapping[str, JsonValue] | str,
    *,
    answered_by: str = "",
) -> Understood:
    """Read an answer and send it; what it was understood as.

    Raises:
        QuestionUnknown: no such question is open.
        AnswerInvalid: it is not what was asked for, or can be read in two ways; it stays open.
    """
    from orchestrator.messages.question_field import personal_problems

    question = await open_question(connection, question_id) if typed else None
    by_name = _of_the_only_field(question, typed) if isinstance(typed, str) else typed
    understood = Understood(values=dict(by_name), problems=personal_problems(by_name))
    if question is not None:
        understood = read_for(question, by_name)
    if understood.problems:
        raise errors.AnswerInvalid(question_id, "; ".join(understood.problems))
    await connection.update(
        leg_of(question_id),
        names.ANSWER_UPDATE,
        AnswerInput(question_id=question_id, values=understood.values, answered_by=answered_by),
        str,
        about=question_id,
    )
    return understood


def _of_the_only_field(question: Question | None, text: str) -> Mapping[str, JsonValue]:
    """A text by the name of the one thing that must be told.

    Raises:
        AnswerInvalid: several may be told, and nobody knows which of them the text is.
    """
    if question is None or not text.strip():
        return {}
    wanted = [field for field in question.asks if not field.is_optional] or question.asks
    if len(wanted) != 1:
        names = ", ".join(field.name for field in question.asks)
        reason = (
            f"it asks for {names or 'nothing to be typed'}: say for which the text is; "
            f"give: {commands_for(question)[-1]}"
        )
        raise errors.AnswerInvalid(question.question_id, reason)
    return {wanted[0].name: text}
