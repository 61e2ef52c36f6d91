"""The parts of confirmation cards: lines, sections, and the content model of each card type."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, create_model

from orchestrator.catalog.card_types import CARD_TYPES, CardType
from orchestrator.core.budget import Money
from orchestrator.core.record import OneOfSeveral, Record


class CardLine(Record):
    """A line of a card: a label, and its value for people."""

    label: str
    value: str

    def shortened(self, most: int = 240) -> "CardLine":
        """Return the line with its value cut to the length that is stored for comparison."""
        return self.model_copy(update={"value": self.value[:most]})


class CardSection(Record):
    """Lines under a heading."""

    title: str
    lines: tuple[CardLine, ...]


class Amount(Record):
    """Money on a card, with a label."""

    label: str
    money: Money

    def line(self) -> CardLine:
        """Return the line for people."""
        return CardLine(label=self.label, value=str(self.money))


class Moment(Record):
    """A date or a time on a card, as it will be sent or as it was answered: ISO 8601."""

    label: str
    at: str

    def line(self) -> CardLine:
        """Return the line for people."""
        return CardLine(label=self.label, value=self.at.replace("T", " "))


class LineItem(Record):
    """An item that a call is about."""

    name: str
    quantity: str = ""
    price: Money | None = None
    details: tuple[CardLine, ...] = ()

    def line(self) -> CardLine:
        """Return the line for people."""
        parts = [
            f"{self.quantity} x" if self.quantity else "",
            str(self.price) if self.price is not None else "",
            *(f"{line.label.lower()} {line.value}" for line in self.details),
        ]
        return CardLine(label=self.name, value=", ".join(part for part in parts if part))


class NamedThing(Record):
    """The thing that one or more ids among the arguments name, according to earlier answers."""

    ids: tuple[CardLine, ...] = Field(description="arguments and the id in each")
    lines: tuple[CardLine, ...] = Field(default=(), description="its description or its rest")
    price: Money | None = None
    found_by: str = Field(default="", description="summary of the call that returned it")
    found_for: tuple[CardLine, ...] = Field(default=(), description="what that call was asked for")
    at: datetime | None = Field(default=None, description="time of the answer")

    @property
    def called(self) -> str:
        """The ids, with the names of their arguments."""
        return ", ".join(f"{one.label} {one.value}" for one in self.ids)

    def origin(self) -> str:
        """Return where the thing was found, when, and by which search."""
        asked = "; ".join(f"{line.label.lower()} {line.value}" for line in self.found_for)
        parts = [
            f"found by {self.found_by!r}" if self.found_by else "found in an earlier answer",
            f"at {self.at:%Y-%m-%d %H:%M %Z}" if self.at is not None else "",
            f"for {asked}" if asked else "",
        ]
        return " ".join(part for part in parts if part)

    def section(self) -> CardSection:
        """Return the section for people."""
        price = [CardLine(label="Price then", value=str(self.price))] if self.price else []
        if not (self.lines or price):
            return CardSection(
                title="Where it is from", lines=(CardLine(label=self.called, value=self.origin()),)
            )
        origin = CardLine(label="Origin", value=self.origin())
        return CardSection(title=self.called, lines=(*self.lines, *price, origin))


class Change(Record):
    """A difference from the previous card."""

    label: str
    before: str
    now: str

    def line(self) -> CardLine:
        """Return the line for people."""
        return CardLine(
            label=self.label, value=f"{self.before or 'nothing'} → {self.now or 'nothing'}"
        )


_REFUNDABLE = {True: "refundable", False: "not refundable"}


class CancelTerms(Record):
    """The terms on which a call is cancelled: by which tool, until when and at what cost."""

    tool: str | None = Field(default=None, description="the cancel tool; None if none is declared")
    irreversible: bool = Field(default=False, description="the document says: nothing cancels it")
    window: timedelta | None = Field(default=None, description="in which the provider cancels it")
    is_refundable: bool | None = None
    until: tuple[Moment, ...] = ()
    cost: tuple[Amount, ...] = Field(default=(), description="by an answer; empty: none states it")
    fee: Money | None = Field(default=None, description="cost by the document or the policy")

    def sentence(self) -> str:
        """Return the terms in one line."""
        if self.irreversible:
            return "nothing cancels it"
        if self.tool is None:
            return "no declared tool cancels it"
        window = f" within {_span(self.window)}" if self.window is not None else ""
        parts = [
            f"cancelled by {self.tool}{window}",
            *(f"{m.label.lower()} {m.line().value}" for m in self.until),
            *(f"{a.label.lower()} {a.money}" for a in self.cost),
            *([] if self.fee is None else [f"which may cost {self.fee}"]),
            *([] if self.is_refundable is None else [_REFUNDABLE[self.is_refundable]]),
        ]
        return "; ".join(parts)


class CardContent(OneOfSeveral):
    """The content of a card type."""

    def sections(self) -> Iterator[CardSection]:
        """Yield the sections that are not empty."""
        for name, part in CARD_TYPES[self.kind].parts.items():
            lines = tuple(e if isinstance(e, CardLine) else e.line() for e in getattr(self, name))
            if lines:
                yield CardSection(title=part.heading, lines=lines)


class Declared(CardContent):
    """A card type that a document declares, with the document's layout."""

    kind: Literal["declared"] = "declared"
    parts: tuple[CardSection, ...] = ()

    def sections(self) -> Iterator[CardSection]:
        """Yield the sections."""
        yield from self.parts


_SHAPED = {
    "amounts": tuple[Amount, ...],
    "times": tuple[Moment, ...],
    "items": tuple[LineItem, ...],
}


def _model(name: str, card_type: CardType) -> type[CardContent]:
    fields: dict[str, Any] = {"kind": (Literal[name], name)}
    for part in card_type.parts:
        fields[part] = (_SHAPED.get(part, tuple[CardLine, ...]), ())
    return create_model(name, __base__=CardContent, __doc__=card_type.purpose, **fields)


CONTENT_TYPES = {name: _model(name, card_type) for name, card_type in CARD_TYPES.items()}
"""The content model of each built-in card type, with a field for each of its parts."""

if TYPE_CHECKING:
    Content = CardContent
else:
    Content = Annotated[Union[(*CONTENT_TYPES.values(), Declared)], Field(discriminator="kind")]


def _span(length: timedelta) -> str:
    if length.days:
        return f"{length.days} day{'s' if length.days > 1 else ''}"
    hours, rest = divmod(int(length.total_seconds()), 3600)
    return f"{hours} h" if hours and not rest else f"{int(length.total_seconds()) // 60} min"
