"""What a confirmation card shows, by its type: one model for each, and one for declared types."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.record import Record


class CardLine(Record):
    """One line of a card: what it is called, and its value as a person reads it."""

    label: str
    value: str


class CardSection(Record):
    """Lines under a heading."""

    title: str
    lines: tuple[CardLine, ...]


class Amount(Record):
    """Money on a card, and what it is for."""

    label: str
    money: Money

    def line(self) -> CardLine:
        """As a person reads it."""
        return CardLine(label=self.label, value=str(self.money))


class Moment(Record):
    """A date or a time on a card, as it will be sent or as it was answered: ISO 8601."""

    label: str
    at: str

    def line(self) -> CardLine:
        """As a person reads it."""
        return CardLine(label=self.label, value=self.at.replace("T", " "))


class LineItem(Record):
    """One of the things that a call is about."""

    name: str
    quantity: str = ""
    price: Money | None = None
    details: tuple[CardLine, ...] = ()

    def line(self) -> CardLine:
        """As a person reads it."""
        parts = [
            f"{self.quantity} x" if self.quantity else "",
            str(self.price) if self.price is not None else "",
            *(f"{line.label.lower()} {line.value}" for line in self.details),
        ]
        return CardLine(label=self.name, value=", ".join(part for part in parts if part))


_REFUNDABLE = {True: "refundable", False: "not refundable"}


class UndoTerms(Record):
    """What can be undone, until when and at what cost, as contract and answers say."""

    tool: str | None = Field(default=None, description="that undoes it; None: none is declared")
    window: timedelta | None = Field(
        default=None, description="after the call, in which the provider still undoes it"
    )
    is_refundable: bool | None = None
    until: tuple[Moment, ...] = ()
    cost: tuple[Amount, ...] = Field(default=(), description="empty: no answer states it")

    def sentence(self) -> str:
        """All of it in one line."""
        if self.tool is None:
            return "cannot be undone by any declared tool"
        window = f" within {_span(self.window)}" if self.window is not None else ""
        parts = [
            f"undone by {self.tool}{window}",
            *(f"{m.label.lower()} {m.line().value}" for m in self.until),
            *(f"{a.label.lower()} {a.money}" for a in self.cost),
            *([] if self.is_refundable is None else [_REFUNDABLE[self.is_refundable]]),
        ]
        return "; ".join(parts)


class _Content(Record):
    """The parts of a card in the order in which they are read; a field's title is its heading."""

    def sections(self) -> Iterator[CardSection]:
        """What there is to read, without the parts that are empty."""
        for name, field in type(self).model_fields.items():
            lines = _lines(getattr(self, name)) if field.title else ()
            if lines:
                yield CardSection(title=field.title or "", lines=lines)


Lines = tuple[CardLine, ...]
Moments = tuple[Moment, ...]
Items = tuple[LineItem, ...]
Amounts = tuple[Amount, ...]


class Itinerary(_Content):
    """A journey."""

    kind: Literal["structured-itinerary"] = "structured-itinerary"
    travellers: Lines = Field(default=(), title="Who")
    route: Lines = Field(default=(), title="Where")
    times: Moments = Field(default=(), title="When")
    items: Items = Field(default=(), title="What")
    amounts: Amounts = Field(default=(), title="Money")


class Payment(_Content):
    """Money that goes to somebody."""

    kind: Literal["structured-payment"] = "structured-payment"
    amounts: Amounts = Field(default=(), title="Money")
    payee: Lines = Field(default=(), title="To")
    paid_with: Lines = Field(default=(), title="From")
    times: Moments = Field(default=(), title="When")
    items: Items = Field(default=(), title="For")
    purpose: Lines = Field(default=(), title="Why")


class Order(_Content):
    """Things that are asked for."""

    kind: Literal["structured-order"] = "structured-order"
    items: Items = Field(default=(), title="Items")
    goods: Lines = Field(default=(), title="What")
    recipient: Lines = Field(default=(), title="Who")
    delivery: Lines = Field(default=(), title="Where")
    times: Moments = Field(default=(), title="When")
    amounts: Amounts = Field(default=(), title="Money")
    paid_with: Lines = Field(default=(), title="Paid with")


class Reservation(_Content):
    """A place or a time that is kept for somebody."""

    kind: Literal["structured-reservation"] = "structured-reservation"
    subject: Lines = Field(default=(), title="What")
    place: Lines = Field(default=(), title="Where")
    times: Moments = Field(default=(), title="When")
    guests: Lines = Field(default=(), title="Who")
    items: Items = Field(default=(), title="Items")
    amounts: Amounts = Field(default=(), title="Money")


class Expense(_Content):
    """Money that somebody claims."""

    kind: Literal["structured-expense"] = "structured-expense"
    claimant: Lines = Field(default=(), title="Who")
    items: Items = Field(default=(), title="Items")
    times: Moments = Field(default=(), title="When")
    purpose: Lines = Field(default=(), title="What for")
    amounts: Amounts = Field(default=(), title="Money")


class Message(_Content):
    """Words that somebody will read."""

    kind: Literal["structured-message"] = "structured-message"
    recipients: Lines = Field(default=(), title="To")
    subject: Lines = Field(default=(), title="Subject")
    text: Lines = Field(default=(), title="Text")
    attachments: Lines = Field(default=(), title="With")
    times: Moments = Field(default=(), title="When")


class Declared(Record):
    """A type of a document's own, laid out as the document says."""

    kind: Literal["declared"] = "declared"
    parts: tuple[CardSection, ...] = ()

    def sections(self) -> Iterator[CardSection]:
        """What there is to read."""
        yield from self.parts


Content = Annotated[
    Itinerary | Payment | Order | Reservation | Expense | Message | Declared,
    Field(discriminator="kind"),
]

CONTENT_TYPES: dict[str, type[_Content]] = {
    model.model_fields["kind"].default: model
    for model in (Itinerary, Payment, Order, Reservation, Expense, Message)
}
"""The model of each built-in card type."""


def _lines(
    entries: tuple[CardLine | Amount | Moment | LineItem, ...],
) -> tuple[CardLine, ...]:
    return tuple(e if isinstance(e, CardLine) else e.line() for e in entries)


def _span(length: timedelta) -> str:
    if length.days:
        return f"{length.days} day{'s' if length.days > 1 else ''}"
    hours, rest = divmod(int(length.total_seconds()), 3600)
    return f"{hours} h" if hours and not rest else f"{int(length.total_seconds()) // 60} min"
