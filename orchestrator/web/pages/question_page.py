"""One question with its fields; before a rollback, the hold with repair, roll back and keep."""

from http import HTTPStatus
from typing import Any

from pydantic import JsonValue
from starlette.responses import Response

from orchestrator.core import errors
from orchestrator.core.record import JsonObject
from orchestrator.messages import names
from orchestrator.messages.hold import ARGUMENTS, DECISION, HINT, LIMIT, Hold, choices_of
from orchestrator.messages.leg import Question
from orchestrator.messages.question_field import DECLINED
from orchestrator.web import actions, sight
from orchestrator.web.pages.argument_form import (
    ArgumentField,
    argument_fields,
    read_arguments,
    without_ours,
)
from orchestrator.web.pages.page import Visit, refused_form, to
from orchestrator.web.pages.tool_schemas import Fields, ToolSchemas
from orchestrator.web.problem_details import ProblemError, status_of


class QuestionPage:
    """The page of one question or hold."""

    def __init__(self, schemas: ToolSchemas) -> None:
        self._schemas = schemas

    async def show(self, visit: Visit) -> Response:
        """Show the question; once it is closed, its mission."""
        try:
            question = await _question(visit)
        except errors.QuestionError:
            mission_id = names.mission_of(visit.part("question_id"))
            await sight.seen_mission(visit.service, visit.person, mission_id)
            return to("missions", mission_id)
        return await self._shown(visit, question)

    async def answer(self, visit: Visit) -> Response:
        """Send the answer of a form."""
        question = await _question(visit)
        is_mission = await sight.is_mission(visit.service, question.mission_id)
        fields: tuple[ArgumentField, ...] | None = None
        try:
            if question.hold is None:
                values = read_answer(question, visit)
            else:
                values, fields = await self._decision(visit, question, question.hold)
            await actions.answer(visit.service, visit.person, question.question_id, values)
        except (errors.QuestionError, ProblemError) as refused:
            status = status_of(refused)
            reason = refused.reason if isinstance(refused, errors.QuestionError) else str(refused)
            return await self._shown(visit, question, status, problem=reason, fields=fields)
        return to("missions", question.mission_id) if is_mission else to()

    async def _shown(
        self,
        visit: Visit,
        question: Question,
        status: HTTPStatus = HTTPStatus.OK,
        *,
        problem: str = "",
        fields: tuple[ArgumentField, ...] | None = None,
    ) -> Response:
        requester = await sight.requester_asked(visit.service, question.question_id)
        common: dict[str, Any] = {
            "question": question,
            "is_mission": await sight.is_mission(visit.service, question.mission_id),
            "problem": problem,
            "may_change": visit.person.may_change(requester),
            "typed": {name: visit.sent(name) for name in visit.form},
        }
        if question.hold is None:
            return visit.page("question.html", status=status, asks=question.asks, **common)
        if fields is None:
            fields = (await self._hold_fields(question, question.hold))[0]
        choices = choices_of(question.hold)
        return visit.page(
            "hold.html", status=status, hold=question.hold, fields=fields, choices=choices, **common
        )

    async def _hold_fields(
        self, question: Question, hold: Hold
    ) -> tuple[tuple[ArgumentField, ...], Fields]:
        """Return the fields that amend the failed call."""
        if hold.failed is None or hold.no_repair:
            return (), {}
        schemas = await self._schemas.of(question.mission_id, hold.failed.tool)
        given = hold.failed.arguments
        named = without_ours(given, (*given, *schemas), f"{question.mission_id}.")
        return argument_fields(given, schemas, names=named), schemas

    async def _decision(
        self, visit: Visit, question: Question, hold: Hold
    ) -> tuple[JsonObject, tuple[ArgumentField, ...] | None]:
        """Return the answer about a hold, and the fields of its form as they were sent."""
        decision = visit.sent(DECISION)
        if decision not in choices_of(hold):
            raise ProblemError(HTTPStatus.BAD_REQUEST, "There is no such decision here.")
        values: JsonObject = {DECISION: decision}
        if decision != "repair":
            return values, None
        shown, schemas = await self._hold_fields(question, hold)
        read = read_arguments(shown, schemas, visit.sent_or_none)
        if read.problems:
            raise refused_form(f"Nothing was sent: {'; '.join(read.problems)}.")
        if read.changes:
            values[ARGUMENTS] = read.changes
        for name in (HINT, LIMIT):
            if text := visit.sent(name).strip():
                values[name] = text
        return values, read.fields


async def _question(visit: Visit) -> Question:
    return await sight.seen_question(visit.service, visit.person, visit.part("question_id"))


def read_answer(question: Question, visit: Visit) -> dict[str, JsonValue]:
    """Return the values of a form: choices as they are, other texts as they were typed.

    An optional field that is left empty has its default.
    """
    if question.server and visit.sent("declined"):
        return {**DECLINED}
    values: dict[str, JsonValue] = {}
    for one in question.asks:
        chosen = visit.sent(f"choice.{one.name}")
        text = visit.sent(f"field.{one.name}").strip()
        if chosen.isdecimal() and 0 < int(chosen[:6]) <= len(one.choices):
            values[one.name] = one.choices[int(chosen) - 1].value
        elif text:
            values[one.name] = text
        elif not one.is_optional:
            raise refused_form(f"Nothing was sent: {one.label} needs an answer.")
    return values
