"""What each type of card shows: made from arguments, schemas and answers, for any provider."""

from datetime import timedelta
from typing import Any

import pytest

from orchestrator.catalog.card_types import CARD_TYPES, DEFAULT_CARD, CardType
from orchestrator.catalog.tool import (
    CardLayout,
    Compensation,
    LayoutField,
    LayoutSection,
    ToolCallTemplate,
)
from orchestrator.confirmation.build import build_card
from orchestrator.confirmation.models import ConfirmationCard, as_markdown
from orchestrator.core.record import JsonObject
from tests.unit.confirmation.test_cards import CALL, NOW, quoted_items, tool

EUR: JsonObject = {"amount": 181.4, "currency": "EUR"}


def card(
    card_type: str, arguments: JsonObject, *answers: JsonObject, **more: Any
) -> ConfirmationCard:
    """The card of a tool of that type, after these answers, the newest last."""
    undo = Compensation(cancel=ToolCallTemplate(tool="undo_it"), window=timedelta(days=1))
    made = tool(card_type=card_type, compensation=undo, **more)
    quoted = quoted_items(arguments, answers)
    return build_card(CALL, made, arguments, quoted=quoted, expires_at=NOW)


def parts(shown: ConfirmationCard) -> dict[str, dict[str, str]]:
    return {s.title: {line.label: line.value for line in s.lines} for s in shown.sections()}


def content(shown: ConfirmationCard) -> Any:
    return shown.model_dump(mode="json")["content"]


TEXT = "word " * 400
HOTEL: JsonObject = {"name": "Miradouro", "city": "Lisbon"}
OFFER: JsonObject = {"offer_id": "off_1", "airline": "Atlantic Air", "price": EUR}
OFFER |= {"origin": "Berlin", "destination": "Lisbon", "passengers": 1}
OFFER |= {"departure_date": "2026-12-03", "departure_time": "09:15"}
SHOWN: dict[str, tuple[JsonObject, list[JsonObject], dict[str, dict[str, str]]]] = {
    "structured-itinerary": (
        {"offer_id": "off_1", "traveler_id": "pii:traveler_id"},
        [{"offers": [OFFER]}],
        {
            "Who": {"Passengers": "1"},
            "Where": {"Origin": "Berlin", "Destination": "Lisbon"},
            "When": {"Departure date": "2026-12-03", "Departure time": "09:15"},
            "Details": {"Offer id": "off_1", "Airline": "Atlantic Air"},
        },
    ),
    "structured-payment": (
        {"invoice_id": "inv_7", "payment_method_id": "pii:payment_method_id"},
        [{"invoice_id": "inv_7", "payee": "Northwind", "due_date": "2026-12-01", "fee": EUR}],
        {
            "Money": {"Fee": "181.40 EUR"},
            "To": {"Payee": "Northwind"},
            "From": {"Payment method id": "•••••• (payment_method_id from the vault)"},
            "When": {"Due date": "2026-12-01"},
            "Why": {"Invoice id": "inv_7"},
        },
    ),
    "structured-order": (
        {
            "items": [
                {"name": "Lamp", "quantity": 2, "price": {"amount": "30.00", "currency": "EUR"}},
                {"sku": "B-1"},
            ],
            "delivery_address": "Rua Augusta 1",
            "gift": True,
        },
        [],
        {
            "Items": {"Lamp": "2 x, 30.00 EUR", "no. 2": "sku B-1"},
            "Where": {"Delivery address": "Rua Augusta 1"},
            "Totals": {
                "Total, amounts times quantities, of items": "60.00 EUR",
                "Total, amounts as they stand, of items": "30.00 EUR",
            },
            "Details": {"Gift": "yes"},
        },
    ),
    "structured-reservation": (
        {"room_offer_id": "r1", "traveler_name": "pii:traveler_name"},
        [{"room_offer_id": "r1", "hotel": HOTEL, "check_in": "2026-12-03", "guests": 2}],
        {
            "Where": {"Hotel: name": "Miradouro", "Hotel: city": "Lisbon"},
            "When": {"Check in": "2026-12-03"},
            "Who": {"Guests": "2"},
            "Details": {"Room offer id": "r1"},
        },
    ),
    "structured-expense": (
        {
            "employee_id": "pii:employee_id",
            "title": "Lisbon",
            "items": [{"category": "travel", "amount": EUR, "date": "2026-12-03"}],
        },
        [],
        {"Items": {"travel": "181.40 EUR, date 2026-12-03"}, "What for": {"Title": "Lisbon"}},
    ),
    "structured-message": (
        {"channel_id": "C1", "cc": "bo@example.com", "subject": "Hi", "text": TEXT},
        [],
        {
            "To": {"Channel id": "C1", "Cc": "bo@example.com"},
            "Subject": {"Subject": "Hi"},
            "Text": {"Text": TEXT},
        },
    ),
}
"""Arguments and earlier answers of a call, and the parts of its card, by card type."""


@pytest.mark.parametrize("card_type", SHOWN)
def test_a_card_shows_the_parts_of_its_type(card_type: str) -> None:
    """Arguments first, then the answer that quoted the offer; messages word for word."""
    arguments, answers, shown = SHOWN[card_type]

    assert parts(card(card_type, arguments, *answers)) == shown


def test_content_holds_times_items_and_prices_by_their_type() -> None:
    """A page can lay them out: moments, and items with quantity and price."""
    itinerary, answers, _ = SHOWN["structured-itinerary"]
    trip = card("structured-itinerary", itinerary, *answers)
    lamp, other = content(card("structured-order", SHOWN["structured-order"][0]))["items"]

    assert str(trip.price) == "181.40 EUR"
    assert content(trip)["times"] == [
        {"label": "Departure date", "at": "2026-12-03"},
        {"label": "Departure time", "at": "09:15"},
    ]
    assert (lamp["name"], lamp["quantity"]) == ("Lamp", "2")
    assert lamp["price"] == {"amount": "30.00", "currency": "EUR"}
    assert other["name"] == "no. 2"


def test_a_declared_type_is_laid_out_as_its_document_says() -> None:
    """Its sections in their order under its labels; what they leave out is shown after them."""
    layout = CardLayout(
        title="Gift wrapping",
        sections=(
            LayoutSection(
                title="The gift",
                fields=(LayoutField(name="paper", label="Wrapping"), LayoutField(name="to")),
            ),
            LayoutSection(title="Nothing", fields=(LayoutField(name="not_there"),)),
        ),
    )
    made = card(
        "gift-wrap",
        {"to": {"name": "Ada", "city": "Rome"}, "paper": "blue", "bow": True},
        card_layout=layout,
    )

    assert content(made)["kind"] == "declared"
    assert made.heading == "Gift wrapping"
    assert parts(made) == {
        "The gift": {"Wrapping": "blue", "To: name": "Ada", "To: city": "Rome"},
        "Details": {"Bow": "yes"},
    }


def test_a_card_tells_until_when_and_at_what_cost_a_call_can_be_cancelled() -> None:
    """From the contract, and from every answer about the same offer, the newest first."""
    made = card(
        "structured-itinerary",
        {"offer_id": "off_1"},
        {"offer_id": "off_1", "cancellation_fee": {"amount": 90, "currency": "EUR"}},
        {
            "offer_id": "off_1",
            "refundable": True,
            "cancellation_fee": {"amount": 20, "currency": "EUR"},
            "free_cancellation_until": "2026-12-01",
        },
    )

    assert made.cancel_terms is not None
    assert made.cancel_terms.window == timedelta(days=1)
    assert made.cancel_terms.is_refundable
    for part in ("undo_it", "1 day", "2026-12-01", "20.00 EUR", "; refundable"):
        assert part in made.cancellation


@pytest.mark.parametrize("card_type", [*CARD_TYPES, DEFAULT_CARD])
def test_no_argument_is_hidden_and_a_card_survives_its_json(card_type: str) -> None:
    """Whatever the type has no place for is among the details."""
    arguments: JsonObject = {"zeta": "z1", "origin": "o1", "traveler": "t1", "fee": EUR}
    arguments |= {"start_date": "2026-12-03", "list": [{"name": "l1"}]}
    arguments |= {"flag": False, "nobody": None, "nothing": []}
    arguments |= {"nested": {"deep": {"deeper": "d1"}}, "amount": "12.00", "currency": "EUR"}
    arguments |= {"room": {"name": "n1", "price": "5.00", "currency": "EUR"}}
    made = card(card_type, arguments)
    text = " ".join(f"{line.label} {line.value}" for s in made.sections() for line in s.lines)

    for value in ("z1", "o1", "t1", "2026-12-03", "l1", "181.40 EUR", "d1", "n1", "12.00 EUR"):
        assert value in text
    for line in ("Flag no", "Nobody none", "Nothing none"):
        assert line in text
    assert ConfirmationCard.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize("card_type", CARD_TYPES)
def test_the_json_of_a_card_has_all_parts_of_its_type(card_type: str) -> None:
    """Its type, then the parts in the order in which they are read, empty ones included."""
    empty: dict[str, object] = {part: [] for part in CARD_TYPES[card_type].parts}

    assert list(content(card(card_type, {})).items()) == [("kind", card_type), *empty.items()]


@pytest.mark.parametrize("card_type", CARD_TYPES.values(), ids=CARD_TYPES)
def test_every_part_is_filled_by_words_or_by_shape(card_type: CardType) -> None:
    """A part that nothing could reach would be forgotten words."""
    unworded = {n for n, part in card_type.parts.items() if not part.words and not part.is_ours}

    assert unworded == card_type.parts.keys() & {"amounts", "items", "times"}


def test_markdown_shows_what_a_provider_says_as_text() -> None:
    """A title with markup in it draws nothing; the commands to decide are at the end."""
    made = card(
        "structured-order",
        {"item_id": "i1"},
        {"item_id": "i1", "note": "![x](http://evil.example) **free**\n# Approve"},
    )
    shown = as_markdown(made)

    assert "![x]" not in shown
    assert "!\\[x\\](http\\://evil\\.example) \\*\\*free\\*\\* \\# Approve" in shown
    assert f"--digest {made.digest}`" in shown.splitlines()[-3]
