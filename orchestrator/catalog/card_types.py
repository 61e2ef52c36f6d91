"""The types of confirmation cards, in the one table for content models, lint, schema and docs.

A document declares further types under x-orchet-card-types (see contract.py); every document may
name the types listed here, except those that only the orchestrator chooses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

DEFAULT_CARD: Final = "structured-confirmation"
"""Card of a call whose contract does not choose a type; it has no parts."""

CANCELLATION: Final = "structured-cancellation"
"""Card of a planner's cancel that may concern another person's booking."""


OVERCHARGE: Final = "structured-overcharge"
"""Card of a call that cost more than was approved."""

PLAN: Final = "structured-plan"

OURS: Final = frozenset({CANCELLATION, OVERCHARGE, PLAN})
"""Types that only the orchestrator chooses; a document cannot name them."""


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
class CardPart:
    """A part of a card, and rules for the facts in it."""

    heading: str
    words: frozenset[str] = frozenset()
    """A fact with one of these words in its name belongs to this part."""
    is_ours: bool = False
    """True if only the orchestrator writes here: no arguments and no answers."""
    takes_ids: bool = False
    is_prose: bool = False
    """True if texts are shown in full."""
    turn: int = 0
    """A fact goes to the matching part with the lowest turn, then to the first."""


_OF_THING: Final = {
    "subject": CardPart("What", _GOODS | _words("status subject text"), turn=1),
    "place": CardPart("Where", _PLACES),
    "times": CardPart("When"),
    "people": CardPart("Who", _PEOPLE),
    "items": CardPart("Items"),
}


@dataclass(frozen=True)
class CardType:
    """The parts that cards of one type show."""

    purpose: str
    parts: Mapping[str, CardPart]
    """By their names in the card's JSON, in reading order.

    Values recognised by their shape go to `amounts`, `times` and `items`, which any type may have.
    """
    spends: bool = True


CARD_TYPES: Final[Mapping[str, CardType]] = {
    "structured-itinerary": CardType(
        "A journey.",
        {
            "travellers": CardPart("Who", _PEOPLE),
            "route": CardPart("Where", _PLACES),
            "times": CardPart("When"),
            "items": CardPart("What"),
            "amounts": CardPart("Money"),
        },
    ),
    "structured-payment": CardType(
        "Money that goes to somebody.",
        {
            "amounts": CardPart("Money"),
            "payee": CardPart("To", _PAYEES),
            "paid_with": CardPart("From", _PAID_WITH, takes_ids=True, turn=-1),
            "times": CardPart("When"),
            "items": CardPart("For"),
            "purpose": CardPart("Why", _REASONS, takes_ids=True),
        },
    ),
    "structured-order": CardType(
        "Things that are asked for.",
        {
            "items": CardPart("Items"),
            "goods": CardPart("What", _GOODS, turn=1),
            "recipient": CardPart("Who", _PEOPLE),
            "delivery": CardPart("Where", _PLACES | {"delivery"}),
            "times": CardPart("When"),
            "amounts": CardPart("Money"),
            "paid_with": CardPart("Paid with", _PAID_WITH - {"from"}, turn=-1),
        },
    ),
    "structured-reservation": CardType(
        "A place or a time that is kept for somebody.",
        {
            "subject": CardPart("What", _words("title subject reminder text model type"), turn=1),
            "place": CardPart("Where", _PLACES),
            "times": CardPart("When"),
            "guests": CardPart("Who", _PEOPLE),
            "items": CardPart("Items"),
            "amounts": CardPart("Money"),
        },
    ),
    "structured-expense": CardType(
        "Money that somebody claims.",
        {
            "claimant": CardPart("Who", _PEOPLE),
            "items": CardPart("Items"),
            "times": CardPart("When"),
            "purpose": CardPart("What for", _REASONS),
            "amounts": CardPart("Money"),
        },
        spends=False,
    ),
    "structured-message": CardType(
        "Words that somebody will read.",
        {
            "recipients": CardPart(
                "To", _PEOPLE | _words("bcc cc channel group to"), takes_ids=True, turn=1
            ),
            "subject": CardPart("Subject", _words("subject")),
            "text": CardPart("Text", _words("body content message text"), is_prose=True),
            "attachments": CardPart(
                "With", _words("attachment attachments file files"), takes_ids=True
            ),
            "times": CardPart("When"),
        },
        spends=False,
    ),
    CANCELLATION: CardType(
        "Something that is to be cancelled, and that is not plainly the mission's own.",
        {
            "warnings": CardPart("Mind", is_ours=True),
            **_OF_THING,
            "amounts": CardPart("Money"),
        },
        spends=False,
    ),
    OVERCHARGE: CardType(
        "Something that was done, and that cost more than was approved.",
        {
            "warnings": CardPart("Mind", is_ours=True),
            "charges": CardPart("Approved and charged", is_ours=True),
            **_OF_THING,
        },
        spends=False,
    ),
    PLAN: CardType(
        "What a mission is going to do, before any of it begins.",
        {
            "warnings": CardPart("Mind", is_ours=True),
            "legs": CardPart("What would be done, in this order", is_ours=True),
            "unserved": CardPart("What nothing of it serves", is_ours=True),
        },
        spends=False,
    ),
}


def spends(card_type: str) -> bool:
    """Return True if calls with such a card cost their price, as with all types of documents."""
    known = CARD_TYPES.get(card_type)
    return known is None or known.spends
