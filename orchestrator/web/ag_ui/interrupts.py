"""Cards and questions as interrupts of a run, and the answers that resume it.

An interrupt of a card carries the card and its digest. The answer repeats the digest, so that it
decides on the card that was shown, and on no other.
"""

from typing import Literal

from ag_ui.core import Interrupt
from pydantic import Field, TypeAdapter, ValidationError

from orchestrator.confirmation.models import MOST_TEXT, ConfirmationCard, Decision, Then
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import visible
from orchestrator.messages.leg import Question


class CardAnswer(Record):
    """The payload with which a client answers the interrupt of a card."""

    decision: Literal["approve", "reject", "respond", "amend"]
    digest: str = Field(min_length=1, description="the digest of the card that was shown")
    reason: str = Field(default="", max_length=MOST_TEXT, description="of a rejection")
    then: Then = Field(default="replan", description="what follows a rejection")
    text: str = Field(default="", max_length=MOST_TEXT, description="of a response")
    changes: JsonObject = Field(default_factory=dict, description="of an amendment")

    def decision_on(self, confirmation_id: str) -> Decision:
        """Return the decision; UsageError: a part that it needs is missing."""
        named = {"kind": self.decision, "confirmation_id": confirmation_id}
        parts = {**dict(self), "reason": self.reason or "no reason given", **named}
        try:
            return TypeAdapter[Decision](Decision).validate_python(parts)
        except ValidationError as error:
            raise UsageError(f"{self.decision}: {error.errors()[0]['msg']}") from None


def read_card_answer(payload: object) -> CardAnswer:
    """Return the answer of a resume entry; text, such as "yes", approves nothing: a UsageError."""
    try:
        return TypeAdapter(CardAnswer).validate_python(payload, extra="forbid")
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "payload"
        raise UsageError(
            f"{where}: {first['msg']}; answer a card with its decision and its digest"
        ) from None


def card_interrupt(card: ConfirmationCard) -> Interrupt:
    """Return the interrupt of an open card."""
    price = f" for {card.price}" if card.price is not None else ""
    warnings = [visible(one) for one in (card.unordered, *card.warnings) if one]
    lines = [f"{visible(card.title)}{price}", *warnings, visible(card.cancellation)]
    schema = TypeAdapter(CardAnswer).json_schema()
    schema["properties"]["digest"] = {"const": card.digest}
    return Interrupt(
        id=card.confirmation_id,
        reason="confirmation_required",
        message="\n".join(filter(None, lines)),
        tool_call_id=card.confirmation_id,
        response_schema=schema,
        expires_at=card.expires_at.isoformat() if card.expires_at is not None else None,
        metadata={"digest": card.digest, "card": card.model_dump(mode="json")},
    )


def question_interrupt(question: Question) -> Interrupt:
    """Return the interrupt of an open question, which a hold before a rollback is too.

    Personal values are stored before, and named by their handles: no payload carries them.
    """
    lines = (visible(question.question), visible(question.why))
    return Interrupt(
        id=question.question_id,
        reason="input_required",
        message="\n".join(filter(None, lines)),
        response_schema={"type": "object", "properties": question.fields},
        expires_at=question.expires_at.isoformat() if question.expires_at is not None else None,
        metadata={"personal": list(question.personal), "isHold": question.hold is not None},
    )
