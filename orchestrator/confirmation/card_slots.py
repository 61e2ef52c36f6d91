"""Which fact goes where on a card: the slots of each card type, filled by names and shapes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.catalog.card_layout import CardLayout
from orchestrator.catalog.tool import Compensation
from orchestrator.confirmation.card_content import (
    CONTENT_TYPES,
    Amount,
    CardLine,
    CardSection,
    Content,
    Declared,
    LineItem,
    Moment,
    UndoTerms,
)
from orchestrator.confirmation.card_facts import CardFact, facts, line_items
from orchestrator.core.pii import is_handle
from orchestrator.core.record import JsonObject


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PEOPLE = _words(
    "adult adults attendee attendees child children claimant contact customer driver email emails "
    "employee guest guests infant infants member organizer owner participant participants party "
    "passenger passengers people person phone recipient recipients traveler travelers traveller "
    "travellers user"
)
_PLACES = _words(
    "address airport calendar city country destination dropoff folder from gate hotel location "
    "origin pickup place platform port region restaurant room seat station street table terminal "
    "to town venue zip"
)
_PAID_WITH = _words("account card from iban method payer source wallet")
_PAYEES = _words("beneficiary biller creditor merchant payee recipient supplier to vendor")
_REASONS = _words("category description invoice memo message note purpose reason reference title")
_GOODS = _words("dish file goods item kind meal name product quantity size title type")
_MINE = _words("client")
"""A client reference is ours: no fact about what is done."""


@dataclass(frozen=True)
class _Slot:
    """A part of a card, and the names of the facts that belong there."""

    field: str
    words: frozenset[str]
    takes_ids: bool = False
    is_prose: bool = False

    def takes(self, fact: CardFact) -> bool:
        if fact.kind not in ("text", "flag") or _MINE & set(fact.words):
            return False
        # A code says nothing to a person, unless it stands for one from the vault.
        if fact.is_id and not (self.takes_ids or is_handle(fact.value)):
            return False
        return bool(self.words & set(fact.words))


_SLOTS: dict[str, tuple[_Slot, ...]] = {
    "structured-itinerary": (_Slot("travellers", _PEOPLE), _Slot("route", _PLACES)),
    "structured-payment": (
        _Slot("paid_with", _PAID_WITH, takes_ids=True),
        _Slot("payee", _PAYEES),
        _Slot("purpose", _REASONS, takes_ids=True),
    ),
    "structured-order": (
        _Slot("paid_with", _PAID_WITH - {"from"}),
        _Slot("recipient", _PEOPLE),
        _Slot("delivery", _PLACES | {"delivery"}),
        _Slot("goods", _GOODS),
    ),
    "structured-reservation": (
        _Slot("place", _PLACES),
        _Slot("guests", _PEOPLE),
        _Slot("subject", _words("title subject reminder text model type")),
    ),
    "structured-expense": (_Slot("claimant", _PEOPLE), _Slot("purpose", _REASONS)),
    "structured-message": (
        _Slot("subject", _words("subject")),
        _Slot("text", _words("body content message text"), is_prose=True),
        _Slot("attachments", _words("attachment attachments file files"), True),
        _Slot("recipients", _PEOPLE | {"bcc", "cc", "channel", "group", "to"}, takes_ids=True),
    ),
}


def content_of(
    card_type: str, shown: Sequence[CardFact], layout: CardLayout | None = None
) -> tuple[Content | None, tuple[CardFact, ...]]:
    """What a card of this type shows of these facts, and those that have no place on it."""
    if layout is not None and layout.sections:
        return _declared(shown, layout)
    model = CONTENT_TYPES.get(card_type)
    if model is None:
        return None, tuple(shown)
    parts: dict[str, list[object]] = {}
    rest = []
    for fact in shown:
        field, entries = _placed(fact, _SLOTS[card_type], model.model_fields)
        if field is None:
            rest.append(fact)
        else:
            parts.setdefault(field, []).extend(entries)
    content: Content = model.model_validate(parts)  # type: ignore[assignment]  # one of the union
    return content, tuple(rest)


def _placed(
    fact: CardFact, slots: Iterable[_Slot], fields: Iterable[str]
) -> tuple[str | None, list[object]]:
    """The part of the card that a fact belongs to, and what is written there."""
    if fact.kind in _FIELD_OF_KIND:
        field = _FIELD_OF_KIND[fact.kind]
        return (field, list(_typed(fact))) if field in fields else (None, [])
    slot = next((slot for slot in slots if slot.takes(fact)), None)
    if slot is None:
        return None, []
    return slot.field, [fact.line(prose=slot.is_prose)]


_FIELD_OF_KIND = {"money": "amounts", "moment": "times", "items": "items"}
"""Where on every card facts go whose shape alone says what they are."""


def _typed(fact: CardFact) -> Iterator[Amount | Moment | LineItem]:
    if fact.money is not None:
        yield Amount(label=fact.label, money=fact.money)
    elif fact.kind == "moment":
        yield Moment(label=fact.label, at=str(fact.value))
    else:
        yield from line_items(fact.value)


def _declared(
    shown: Sequence[CardFact], layout: CardLayout
) -> tuple[Declared, tuple[CardFact, ...]]:
    """A document's own layout; what it leaves out is shown all the same, with the rest."""
    placed: set[str] = set()
    parts = []
    for section in layout.sections:
        lines: list[CardLine] = []
        for field in section.fields:
            inside = f"{field.name}."
            meant = [f for f in shown if f.name == field.name or f.name.startswith(inside)]
            placed.update(fact.name for fact in meant)
            lines += [
                fact.line(prose=True, label=field.label if len(meant) == 1 else "")
                for fact in meant
            ]
        if lines:
            parts.append(CardSection(title=section.title, lines=tuple(lines)))
    return Declared(parts=tuple(parts)), tuple(f for f in shown if f.name not in placed)


def undo_terms(undo: Compensation | None, quoted: Iterable[JsonObject]) -> UndoTerms:
    """What contract and answers say about undoing a call.

    Args:
        undo: the tool's contract.
        quoted: objects of earlier answers that are about the same thing, newest first.
    """
    if undo is None:
        return UndoTerms()
    said: dict[str, CardFact] = {}
    for item in quoted:
        for fact in facts(item):
            if {"cancel", "cancellation", "refund", "refundable"} & set(fact.words):
                said.setdefault(fact.name, fact)
    flags = [f.value for f in said.values() if f.kind == "flag" and "refundable" in f.words]
    return UndoTerms(
        tool=undo.cancel.tool,
        window=undo.window,
        is_refundable=bool(flags[0]) if flags else None,
        until=tuple(
            Moment(label=f.label, at=str(f.value)) for f in said.values() if f.kind == "moment"
        ),
        cost=tuple(
            Amount(label=f.label, money=f.money) for f in said.values() if f.money is not None
        ),
    )
