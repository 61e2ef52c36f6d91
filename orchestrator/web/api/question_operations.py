"""Questions, holds and pauses: list, show, answer, repair, resume."""

from http import HTTPStatus
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from orchestrator.client.waits import Understood
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.leg import Question
from orchestrator.web import actions, sight
from orchestrator.web.api.list_pages import PageQuery, by_expiry, page_of
from orchestrator.web.api_operations import Call, Operations
from orchestrator.web.people import Right
from orchestrator.web.views import Repair, Waits

_LONGEST: Final = 4_000
api: Final = Operations("questions")


class Answer(Record):
    """An answer to a question: values by field, or one text if it asks for one thing."""

    values: JsonObject = Field(
        default_factory=dict,
        description="by the names of the question's fields; texts are read as people write them: "
        "tomorrow, 8 pm, 120 euros",
    )
    text: str = Field(default="", max_length=_LONGEST, description="for a question with one field")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.values and self.text:
            raise ValueError("give values or a text")
        return self


class Resume(Record):
    """How a leg goes on that waits for its model."""

    action: Literal["retry", "change_model", "give_up"] = Field(
        default="retry",
        description="retry: ask the model again now; change_model: go on with another; give_up: "
        "fail the leg, so that the mission is rolled back",
    )
    model: str | None = Field(
        default=None, max_length=200, description="of change_model: provider:model"
    )

    @model_validator(mode="after")
    def _names_its_model(self) -> Self:
        if (self.action == "change_model") != bool(self.model):
            raise ValueError("name a model with change_model, and only there")
        return self


@api.get("/questions")
async def list_questions(call: Call[None, PageQuery]) -> Waits:
    """Return open questions, holds and pauses of models, the first to expire first."""
    waiting = await sight.seen_waiting(call.service, call.person)
    page, following = page_of(waiting.questions, call.query, by_expiry)
    pauses = waiting.pauses if call.query.cursor is None else ()
    return Waits(questions=page, pauses=pauses, next=following)


@api.get("/questions/{question_id}")
async def show_question(call: Call[None, None]) -> Question:
    """Return one open question or hold."""
    return await sight.seen_question(call.service, call.person, call.part("question_id"))


@api.post(
    "/questions/{question_id}/answer",
    Right.START,
    description="What cannot be read is refused with 422, and the question stays open.",
    problems=(HTTPStatus.CONFLICT,),
)
async def answer_question(call: Call[Answer, None]) -> Understood:
    """Answer a question, and return how it was understood."""
    given = call.body.text or call.body.values
    return await actions.answer(call.service, call.person, call.part("question_id"), given)


@api.post(
    "/questions/{question_id}/repair",
    Right.START,
    description="A repair approves nothing: a call that is made again has its own card.",
    problems=(HTTPStatus.CONFLICT,),
)
async def repair_hold(call: Call[Repair, None]) -> Understood:
    """Decide on a mission that failed and asks before its rollback."""
    values = call.body.values
    return await actions.answer(call.service, call.person, call.part("question_id"), values)


@api.post("/pauses/{pause_id}/resume", Right.START, problems=(HTTPStatus.CONFLICT,))
async def resume_pause(call: Call[Resume, None]) -> ModelPause:
    """Decide how a leg goes on that waits for its model, and return its pause."""
    return await actions.resume(
        call.service,
        call.person,
        call.part("pause_id"),
        model=call.body.model,
        give_up=call.body.action == "give_up",
    )
