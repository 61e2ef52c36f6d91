"""The types of confirmation cards: the one table that content models, slots, lint and docs follow.

A type of its own is what a document declares under x-orchet-card-types (see card_layout); these are
the ones that every document may name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DEFAULT_CARD: Final = "structured-confirmation"
"""The card of a call whose contract does not choose one; it has no parts."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PEOPLE: Final = _words(
    "adult adults attendee attendees child children claimant contact customer driver email emails "
    "employee guest guests infant infants member organizer owner participant participants party "
    "passenger passengers people person phone recipient recipients traveler travelers traveller "
    "travellers user"
)
_PLACES: Final = _words(
    "address airport calendar city country destination dropoff folder from gate hotel location "
    "origin pickup place platform port region restaurant room seat station street table terminal "
    "to town venue zip"
)
_PAID_WITH: Final = _words("account card from iban method payer source wallet")
_PAYEES: Final = _words("beneficiary biller creditor merchant payee recipient supplier to vendor")
_REASONS: Final = _words(
    "category description invoice memo message note purpose reason reference title"
)
_GOODS: Final = _words("dish file goods item kind meal name product quantity size title type")


@dataclass(frozen=True)
class Slot:
    """A part of a card that takes facts by the words of their names."""

    part: str
    words: frozenset[str]
    takes_ids: bool = False
    is_prose: bool = False
    """Its texts are shown whole."""


@dataclass(frozen=True)
class CardType:
    """What cards of one type show."""

    purpose: str
    parts: Mapping[str, str]
    """Names in the card's JSON and their headings, in the order in which they are read. Any type
    may have `amounts`, `times` and `items`, which take what the shape of a value tells."""
    slots: tuple[Slot, ...]
    """How the other parts are filled; a fact goes to the first that takes it."""
    spends: bool = True
    """Whether the price in an answer is money that leaves; a claim spends none."""


CARD_TYPES: Final[Mapping[str, CardType]] = {
    "structured-itinerary": CardType(
        "A journey.",
        parts={
            "travellers": "Who",
            "route": "Where",
            "times": "When",
            "items": "What",
            "amounts": "Money",
        },
        slots=(Slot("travellers", _PEOPLE), Slot("route", _PLACES)),
    ),
    "structured-payment": CardType(
        "Money that goes to somebody.",
        parts={
            "amounts": "Money",
            "payee": "To",
            "paid_with": "From",
            "times": "When",
            "items": "For",
            "purpose": "Why",
        },
        slots=(
            Slot("paid_with", _PAID_WITH, takes_ids=True),
            Slot("payee", _PAYEES),
            Slot("purpose", _REASONS, takes_ids=True),
        ),
    ),
    "structured-order": CardType(
        "Things that are asked for.",
        parts={
            "items": "Items",
            "goods": "What",
            "recipient": "Who",
            "delivery": "Where",
            "times": "When",
            "amounts": "Money",
            "paid_with": "Paid with",
        },
        slots=(
            Slot("paid_with", _PAID_WITH - {"from"}),
            Slot("recipient", _PEOPLE),
            Slot("delivery", _PLACES | {"delivery"}),
            Slot("goods", _GOODS),
        ),
    ),
    "structured-reservation": CardType(
        "A place or a time that is kept for somebody.",
        parts={
            "subject": "What",
            "place": "Where",
            "times": "When",
            "guests": "Who",
            "items": "Items",
            "amounts": "Money",
        },
        slots=(
            Slot("place", _PLACES),
            Slot("guests", _PEOPLE),
            Slot("subject", _words("title subject reminder text model type")),
        ),
    ),
    "structured-expense": CardType(
        "Money that somebody claims.",
        parts={
            "claimant": "Who",
            "items": "Items",
            "times": "When",
            "purpose": "What for",
            "amounts": "Money",
        },
        slots=(Slot("claimant", _PEOPLE), Slot("purpose", _REASONS)),
        spends=False,
    ),
    "structured-message": CardType(
        "Words that somebody will read.",
        parts={
            "recipients": "To",
            "subject": "Subject",
            "text": "Text",
            "attachments": "With",
            "times": "When",
        },
        slots=(
            Slot("subject", _words("subject")),
            Slot("text", _words("body content message text"), is_prose=True),
            Slot("attachments", _words("attachment attachments file files"), takes_ids=True),
            Slot("recipients", _PEOPLE | _words("bcc cc channel group to"), takes_ids=True),
        ),
        spends=False,
    ),
}


def spends(card_type: str) -> bool:
    """Whether calls with such a card cost their price; of a document's own types, all do."""
    known = CARD_TYPES.get(card_type)
    return known is None or known.spends
