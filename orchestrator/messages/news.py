"""What a leg tells its mission while it runs: what it waits for, and what it has done so far.

A signal names no sender, so news is shown and nothing follows from it. All of it is bounded, and
the command that it leads to is made here, of ids: nobody's text becomes one.
"""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from orchestrator.core import command_lines
from orchestrator.core.budget import Money, Spend
from orchestrator.core.record import Record
from orchestrator.messages.leg import LegInput, LegStatus, LegWaiting, Question
from orchestrator.messages.question_field import question_fields
from orchestrator.messages.receipts import Receipt, receipts_of

_LONGEST = 200
_LONGEST_ID = 1000
_MOST = 20


class WaitKind(StrEnum):
    """What or whom a mission, a leg or a rollback waits for, as its search attribute says."""

    CONFIRMATION = "confirmation"
    """Somebody who decides on a card."""
    ANSWER = "answer"
    """Somebody who answers a question."""
    OPERATOR = "operator"
    """Somebody who decides on what is parked."""
    MODEL = "model"
    """The provider of a model, or somebody who mends what it refuses."""
    STORE = "store"
    """A worker that has what the mission keeps outside its history, or somebody who mends that."""
    PROVIDER = "provider"
    """Providers that take back what was done, or cannot be reached yet."""


class LegWait(Record):
    """One thing that a leg waits for."""

    waits_for: WaitKind
    id: str = Field(
        default="",
        max_length=_LONGEST_ID,
        description="of the card or the question; empty: there is nothing to decide or to answer",
    )
    tool: str = Field(default="", max_length=_LONGEST)
    card_type: str = Field(default="", max_length=_LONGEST)
    digest: str = Field(default="", max_length=_LONGEST, description="of the card")
    title: str = Field(default="", max_length=_LONGEST, description="its title, or what is asked")
    price: Money | None = None
    expires_at: datetime | None = None
    fields: tuple[str, ...] = Field(
        default=(), max_length=_MOST, description="names of what an answer gives"
    )
    personal: tuple[str, ...] = Field(
        default=(), max_length=_MOST, description="names of what to store before answering"
    )

    takes: tuple[str, ...] = Field(
        default=(), max_length=_MOST, description="what an answer gives, field by field, in words"
    )
    otherwise: str = Field(
        default="", max_length=_LONGEST, description="what happens when nobody answers in time"
    )

    @property
    def commands(self) -> tuple[str, ...]:
        """What ends the wait, to be typed in this order."""
        if self.waits_for is WaitKind.CONFIRMATION:
            return (command_lines.approve_card(self.id, self.digest),)
        if self.waits_for is WaitKind.STORE:
            return ()  # it goes on by itself
        if self.waits_for is WaitKind.MODEL:
            return command_lines.resume_leg(self.id)
        stored = (command_lines.store_personal(name) for name in self.personal)
        return (*stored, command_lines.answer_question(self.id, self.fields))


class LegNews(Record):
    """Where a leg stands: its signal to its mission whenever it begins or ends to wait."""

    leg_id: str = Field(max_length=_LONGEST_ID)
    status: LegStatus
    wait: LegWait | None = None
    spend: Spend = Field(default_factory=Spend)
    receipts: tuple[Receipt, ...] = Field(
        default=(), max_length=_MOST, description="of what it has done so far, the newest ones"
    )


def news_of(leg: LegInput, waiting: LegWaiting) -> LegNews:
    """A leg's news, as it stands."""
    return LegNews(
        leg_id=leg.leg.leg_id,
        status=leg.state.status,
        wait=wait_of(waiting),
        spend=leg.state.spend,
        receipts=tuple(_short(one) for one in receipts_of(leg.state.ledger)[-_MOST:]),
    )


def wait_of(waiting: LegWaiting) -> LegWait | None:
    """What a leg waits for, short enough to be told; None when it waits for nobody."""
    if waiting.held_up:
        why = f"held up: {waiting.held_up}"
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
            takes=tuple(told[:_LONGEST] for told in (pause.remedy, pause.when) if told),
        )
    if waiting.question is not None:
        question = waiting.question
        return LegWait(
            waits_for=WaitKind.ANSWER,
            id=question.question_id,
            title=question.question[:_LONGEST],
            expires_at=question.expires_at,
            fields=tuple(name[:_LONGEST] for name in question.fields)[:_MOST],
            personal=tuple(name[:_LONGEST] for name in question.personal)[:_MOST],
            takes=tuple(line[:_LONGEST] for line in _takes(question))[:_MOST],
            otherwise=question.otherwise[:_LONGEST],
        )
    return None


def _takes(question: Question) -> Iterator[str]:
    for field in question_fields(question.fields):
        yield field.told(question.today)
        yield from field.listed()


def _short(receipt: Receipt) -> Receipt:
    """A receipt that many can be told of at once."""
    reference = {
        name[:_LONGEST]: value[:_LONGEST]
        for name, value in list(receipt.reference.items())[:4]
        if isinstance(value, str)
    }
    short = {"title": receipt.title[:_LONGEST], "reference": reference, "follow_ups": ()}
    return receipt.model_copy(update=short)
