"""Waits for people and providers: cards, questions and pauses, of one mission or of all."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.core import command_lines
from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject, Record
from orchestrator.messages.failure_details import ModelPause
from orchestrator.messages.leg import LegWaiting, Question
from orchestrator.messages.question_field import question_fields

_LONGEST = 200
_LONGEST_ID = 1000
_MOST = 20


class WaitKind(StrEnum):
    """The kind of a wait, as the search attribute states it."""

    CONFIRMATION = "confirmation"
    """A decision on a card."""
    ANSWER = "answer"
    """An answer to a question."""
    HOLD = "hold"
    """A decision before a rollback: repair, roll back or keep."""
    OPERATOR = "operator"
    """An operator's decision on a parked obligation."""
    MODEL = "model"
    """The provider of a model, or a person who fixes what it refuses."""
    STORE = "store"
    """A worker that has the mission's stored state."""
    PROVIDER = "provider"
    """Providers that cancel effects, or cannot be reached yet."""


class LegWait(Record):
    """A wait of a leg or a mission, shortened to fit lists and pages."""

    waits_for: WaitKind
    id: str = Field(default="", max_length=_LONGEST_ID)
    """The id of the card, question or pause; empty: nobody can end the wait."""
    tool: str = Field(default="", max_length=_LONGEST)
    card_type: str = Field(default="", max_length=_LONGEST)
    digest: str = Field(default="", max_length=_LONGEST, description="digest of the card")
    title: str = Field(default="", max_length=_LONGEST, description="of the card, or the question")
    price: Money | None = None
    expires_at: datetime | None = None
    fields: tuple[str, ...] = Field(default=(), max_length=_MOST)
    """Names of the answer's fields."""
    personal: tuple[str, ...] = Field(default=(), max_length=_MOST)
    """Names of personal fields to store before answering."""

    takes: tuple[str, ...] = Field(default=(), max_length=_MOST)
    """The fields of an answer, in words."""
    otherwise: str = Field(default="", max_length=_LONGEST)

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that end the wait, in this order."""
        if self.waits_for is WaitKind.CONFIRMATION:
            return (command_lines.approve_card(self.id, self.digest),)
        if self.waits_for is WaitKind.STORE:
            return ()  # it continues by itself
        if self.waits_for is WaitKind.MODEL:
            return command_lines.resume_leg(self.id)
        if self.waits_for is WaitKind.HOLD:
            return command_lines.repair(self.id)[:1]
        stored = (command_lines.store_personal(name) for name in self.personal)
        return (*stored, command_lines.answer_question(self.id, self.fields))


def wait_of(waiting: LegWaiting) -> LegWait | None:
    """Return a leg's wait; None if it waits for nothing."""
    if waiting.stalled:
        why = f"held up: {waiting.stalled}"
        return LegWait(waits_for=WaitKind.STORE, title=why[:_LONGEST])
    if waiting.card is not None:
        card = waiting.card
        return LegWait(
            waits_for=WaitKind.CONFIRMATION,
            id=card.confirmation_id,
            tool=card.tool[:_LONGEST],
            card_type=card.card_type[:_LONGEST],
            digest=card.digest,
            title=card.title[:_LONGEST],
            price=card.price,
            expires_at=card.expires_at,
        )
    if waiting.pause is not None:
        pause = waiting.pause
        return LegWait(
            waits_for=WaitKind.MODEL,
            id=pause.pause_id,
            title=f"waits for the model provider: {pause.reason}"[:_LONGEST],
            expires_at=pause.deadline,
            takes=tuple(part[:_LONGEST] for part in (pause.remedy, pause.when) if part),
        )
    if waiting.question is not None:
        question = waiting.question
        takes = [
            line
            for field in question_fields(question.fields)
            for line in (field.described(question.today), *field.listed())
        ]
        return LegWait(
            waits_for=WaitKind.ANSWER if question.hold is None else WaitKind.HOLD,
            id=question.question_id,
            title=question.question[:_LONGEST],
            expires_at=question.expires_at,
            fields=tuple(name[:_LONGEST] for name in question.fields)[:_MOST],
            personal=tuple(name[:_LONGEST] for name in question.personal)[:_MOST],
            takes=tuple(line[:_LONGEST] for line in takes)[:_MOST],
            otherwise=question.otherwise[:_LONGEST],
        )
    return None


_NEVER = datetime.max.replace(tzinfo=UTC)


class Waiting(Record):
    """The waits for a person, ordered by expiry."""

    cards: tuple[ConfirmationCard, ...] = ()
    questions: tuple[Question, ...] = ()
    pauses: tuple[ModelPause, ...] = ()
    """Legs that wait for the provider of their model."""
    stalled: tuple[str, ...] = ()
    """Reasons for waiting for state that no worker has."""

    def in_order(self) -> tuple[ConfirmationCard | Question, ...]:
        """Return the cards and questions, ordered by expiry."""
        return tuple(sorted((*self.cards, *self.questions), key=urgency))

    def entries(self) -> tuple[JsonObject, ...]:
        """Return all waits; `kind` is `card`, `question`, `hold`, `model` or `store`."""
        asked: list[JsonObject] = []
        for one in self.in_order():
            named: JsonObject = {"kind": "card"}
            if isinstance(one, Question):
                fields: list[JsonValue] = [
                    {**field.model_dump(mode="json"), "takes": field.takes(one.today)}
                    for field in one.asks
                ]
                named = {"asks": fields, "kind": "question" if one.hold is None else "hold"}
            content = one.model_dump(mode="json")
            asked.append({**content, **named, "commands": list(commands_for(one))})
        paused = (
            {
                **one.model_dump(mode="json"),
                "kind": "model",
                "sentence": one.sentence,
                "commands": list(command_lines.resume_leg(one.pause_id)),
            }
            for one in self.pauses
        )
        stalled: Iterator[JsonObject] = ({"kind": "store", "why": why} for why in self.stalled)
        return (*asked, *paused, *stalled)


def waiting_of_all(parts: Iterable[LegWaiting]) -> Waiting:
    """Return the waits of a mission and its legs, each kind ordered by expiry."""
    all_parts = list(parts)
    cards = [one.card for one in all_parts if one.card is not None]
    questions = [one.question for one in all_parts if one.question is not None]
    why = [one.stalled for one in all_parts]
    return Waiting(
        cards=tuple(sorted(cards, key=urgency)),
        questions=tuple(sorted(questions, key=urgency)),
        pauses=tuple(one.pause for one in all_parts if one.pause is not None),
        stalled=tuple(dict.fromkeys(filter(None, why))),
    )


def commands_for(asked: ConfirmationCard | Question) -> tuple[str, ...]:
    """Return the commands that decide on a card or answer a question."""
    if isinstance(asked, ConfirmationCard):
        card = asked.confirmation_id
        return (
            command_lines.show_card(card),
            command_lines.approve_after_reading(card),
            *([command_lines.amend_card(card)] if asked.inputs != () else []),
            command_lines.respond_to_card(card),
            command_lines.reject_card(card),
        )
    if asked.hold is not None:
        return command_lines.repair(asked.question_id, can_go_on=not asked.hold.no_repair)
    stored = (command_lines.store_personal(name) for name in asked.personal)
    return (*stored, command_lines.answer_question(asked.question_id, asked.fields))


def urgency(asked: ConfirmationCard | Question) -> tuple[datetime, str]:
    """Return the sort key: earliest expiry first."""
    named = asked.confirmation_id if isinstance(asked, ConfirmationCard) else asked.question_id
    return asked.expires_at or _NEVER, named
