"""What waits for people: cards and questions of all missions, and legs that could not be asked."""

from datetime import UTC, datetime
from typing import Literal

from pydantic import Field, JsonValue

from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core import command_lines
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.leg import Question
from orchestrator.messages.model_trouble import ModelPause

_NEVER = datetime.max.replace(tzinfo=UTC)


class UnaskedLeg(Record):
    """A leg that waits for a person, and that could not be asked for what."""

    leg: str = Field(description="its workflow id")
    mission_id: str
    task_queue: str
    status: str = Field(default="", description="as the server has it")
    why: str


class Waiting(Record):
    """All that waits for a person, each kind by what expires first."""

    cards: tuple[ConfirmationCard, ...] = ()
    questions: tuple[Question, ...] = ()
    pauses: tuple[ModelPause, ...] = Field(
        default=(), description="legs that wait for the provider of their model"
    )
    unasked: tuple[UnaskedLeg, ...] = ()

    def in_order(self) -> tuple[ConfirmationCard | Question, ...]:
        """Cards and questions, what expires first at the head."""
        return tuple(sorted((*self.cards, *self.questions), key=urgency))

    def entries(self) -> tuple[JsonObject, ...]:
        """All of it as one list for scripts; `kind` is card, question, model or unasked."""
        asked = (
            {**_content(one), "kind": _kind(one), "commands": list(commands_for(one))}
            for one in self.in_order()
        )
        paused = (
            {
                **one.model_dump(mode="json"),
                "kind": "model",
                "told": one.told,
                "commands": list(command_lines.resume_leg(one.pause_id)),
            }
            for one in self.pauses
        )
        unasked = ({**one.model_dump(mode="json"), "kind": "unasked"} for one in self.unasked)
        return (*asked, *paused, *unasked)


def commands_for(asked: ConfirmationCard | Question) -> tuple[str, ...]:
    """What to type for it."""
    if isinstance(asked, ConfirmationCard):
        card = asked.confirmation_id
        return (
            command_lines.show_card(card),
            command_lines.approve_after_reading(card),
            *([command_lines.amend_card(card)] if asked.inputs != () else []),
            command_lines.respond_to_card(card),
            command_lines.reject_card(card),
        )
    stored = (command_lines.store_personal(name) for name in asked.personal)
    return (*stored, command_lines.answer_question(asked.question_id, asked.fields))


def urgency(asked: ConfirmationCard | Question) -> tuple[datetime, str]:
    """What to sort by: what expires first comes first."""
    named = asked.confirmation_id if isinstance(asked, ConfirmationCard) else asked.question_id
    return asked.expires_at or _NEVER, named


def _content(asked: ConfirmationCard | Question) -> JsonObject:
    """All of it; of a question what each field takes, too."""
    content: JsonObject = asked.model_dump(mode="json")
    if isinstance(asked, ConfirmationCard):
        return content
    fields: list[JsonValue] = [
        {**one.model_dump(mode="json"), "takes": one.takes(asked.today)} for one in asked.asks
    ]
    return {**content, "asks": fields}


def _kind(asked: ConfirmationCard | Question) -> Literal["card", "question"]:
    return "card" if isinstance(asked, ConfirmationCard) else "question"
