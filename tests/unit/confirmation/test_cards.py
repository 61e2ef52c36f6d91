"""What a person reads before a call."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.catalog.tool import Compensation, Effect, Tool, ToolCallTemplate
from orchestrator.confirmation.build import CardContext, build_card
from orchestrator.confirmation.models import ConfirmationCard, as_markdown, call_digest
from orchestrator.confirmation.named_things import EarlierAnswer, find_things, main_first
from orchestrator.core.call_ref import CallRef
from orchestrator.core.received_files import ReceivedFile, handle_of_bytes
from orchestrator.core.record import JsonObject

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CALL = CallRef(
    call_id="m.1-trip.2", mission_id="m", leg_id="1-trip", tool="room_book", catalog_digest="c0ffee"
)


def tool(**more: Any) -> Tool:
    given: dict[str, Any] = {
        "name": "room_book",
        "document": "rooms",
        "domain": "rooms",
        "summary": "Book a room.",
        "input_schema": {"type": "object"},
        "effect": Effect.OBLIGATION,
        "card_type": "structured-reservation",
        **more,
    }
    return Tool(**given)


def quoted_items(arguments: JsonObject, bodies: Sequence[JsonValue]) -> list[JsonObject]:
    """The objects in answers that the ids among the arguments name."""
    things = main_first(find_things(arguments, [EarlierAnswer(body) for body in bodies]))
    return [item for thing in things for item in thing.items]


def card(arguments: JsonObject, *, item: JsonObject | None = None, **more: Any) -> ConfirmationCard:
    return build_card(CALL, tool(**more), arguments, quoted=[item] if item else [], expires_at=NOW)


def built(arguments: JsonObject, context: CardContext, **more: Any) -> ConfirmationCard:
    made = tool(**more)
    return build_card(CALL, made, arguments, quoted=[], expires_at=NOW, context=context)


def shown(confirmation: ConfirmationCard) -> dict[str, str]:
    return {line.label: line.value for part in confirmation.sections() for line in part.lines}


def test_the_first_quoted_item_is_the_last_seen_with_the_same_identifier() -> None:
    """Prices change between two searches: the newer answer is the one a person reads."""
    older: JsonObject = {"rooms": [{"room_id": "r1", "price": 90}]}
    rooms: list[JsonValue] = [{"room_id": "r2"}, {"room_id": "r1", "price": 95}]
    quoted = quoted_items({"room_id": "r1"}, [older, {"best": {"rooms": rooms}}])

    assert quoted == [{"room_id": "r1", "price": 95}, {"room_id": "r1", "price": 90}]


@pytest.mark.parametrize(
    "arguments",
    [{"room_id": "r9"}, {"city": "Lisbon"}, {"guest_id": "pii:guest_id"}],
    ids=["another id", "no id", "a handle"],
)
def test_nothing_is_quoted_without_a_shared_identifier(arguments: JsonObject) -> None:
    """Equal cities make no quote, and a handle stands for a person, not for an offer."""
    seen: JsonObject = {"room_id": "r1", "city": "Lisbon", "guest_id": "pii:guest_id"}

    assert quoted_items(arguments, [seen]) == []


def test_the_arguments_price_comes_before_the_quoted_one() -> None:
    """What is sent is what will be charged."""
    argued: JsonObject = {"price": {"amount": 80.0, "currency": "EUR"}}
    quoted: JsonObject = {"price": {"amount": 95.0, "currency": "EUR"}}

    assert str(card(argued, item=quoted).price) == "80.00 EUR"
    assert str(card({}, item=quoted).price) == "95.00 EUR"
    assert card({}).price is None


def test_a_card_shows_the_arguments_and_then_the_item() -> None:
    """What is both is shown once, as it is sent; empty things are not; the summary is the title."""
    item: JsonObject = {"room_id": "r1", "nights": 9, "view": "sea", "notes": None, "tags": []}
    made = card({"room_id": "r1", "nights": 3, "late-arrival": True}, item=item)

    assert [*shown(made)] == ["Room id", "Nights", "Late arrival", "View"]
    assert [*shown(made).values()] == ["r1", "3", "yes", "sea"]
    assert (made.title, tool(summary="").title) == ("Book a room", "room book")


def test_a_cards_digest_covers_the_call_exactly() -> None:
    """The same that the activity computes from what it is about to send."""
    made = card({"room_id": "r1"})

    assert made.digest == call_digest(
        CALL, arguments={"room_id": "r1"}, card_type="structured-reservation"
    )
    assert made.confirmation_id == "m.1-trip.2"


def test_a_card_masks_personal_fields() -> None:
    """Where the value comes from is told with the other inputs; the value is not there to show."""
    made = card({"traveler_id": "pii:traveler_id"}, pii_fields=("traveler_id",))

    assert shown(made) == {}
    assert made.folded() == "traveler id •••••• (traveler_id from the vault)"
    assert made.personal == ("traveler_id",)


def test_values_are_written_for_people() -> None:
    """Money as money, lists and objects in words, long texts whole."""
    made = card(
        {
            "deposit": {"amount": "1200.00", "currency": "EUR"},
            "guests": [{"name": "Ada", "adult": True}, {"name": "Bo", "adult": False}],
            "wishes": "w" * 500,
        },
        card_type="structured-confirmation",
    )

    assert shown(made)["Deposit"] == "1,200.00 EUR"
    assert shown(made)["Guests"] == "name Ada, adult yes; name Bo, adult no"
    assert shown(made)["Wishes"] == "w" * 500


def test_a_card_stays_readable_however_much_there_is() -> None:
    """Of what answers add, two dozen lines; all that is sent, up to what nobody reads."""
    few: JsonObject = {f"field_{n}": n for n in range(60)}
    many: JsonObject = {f"field_{n}": n for n in range(300)}

    assert len(card(few).lines) == 60
    assert len(card(many).lines) == 200
    assert card(many).arguments == many
    assert len(card({"a": 1}, item=many).lines) == 24


@pytest.mark.parametrize(
    ("window", "sentence"),
    [
        (None, "cancelled by room_cancel"),
        (timedelta(days=1), "cancelled by room_cancel within 1 day"),
        (timedelta(days=3), "cancelled by room_cancel within 3 days"),
        (timedelta(hours=6), "cancelled by room_cancel within 6 h"),
        (timedelta(minutes=90), "cancelled by room_cancel within 90 min"),
    ],
)
def test_a_card_says_how_a_call_can_be_cancelled(window: timedelta | None, sentence: str) -> None:
    undo = Compensation(cancel=ToolCallTemplate(tool="room_cancel"), window=window)

    assert card({}, compensation=undo).cancellation == sentence
    assert card({}).cancellation == "no declared tool cancels it"


@pytest.mark.parametrize(
    "compensation", [None, Compensation(cancel=ToolCallTemplate(tool="room_cancel"))]
)
def test_a_card_says_when_nothing_cancels_a_call(compensation: Compensation | None) -> None:
    """As the document declares it; of a contradiction the person reads the worse."""
    made = card({}, compensation=compensation, irreversible=True)

    assert made.cancellation == "nothing cancels it"
    assert made.cancel_terms is not None
    assert made.cancel_terms.irreversible


def test_only_what_costs_money_spends() -> None:
    """A claim or a message may carry an amount: none of it leaves."""
    kinds = {"reservation": True, "expense": False, "message": False}
    spends = {kind: tool(card_type=f"structured-{kind}").spends for kind in kinds}

    assert spends == kinds
    assert tool(card_type="gift-wrap").spends


QUOTED: JsonObject = {"room_id": "r1", "price": 12.5, "currency": "EUR"}


def test_a_price_that_may_be_that_of_one_piece_is_said_to_be_unknown() -> None:
    """With or without a budget: an amount on a card is read as the price."""
    known = card({"room_id": "r1"}, item=QUOTED)
    several = build_card(
        CALL,
        tool(),
        {"room_id": "r1", "quantity": 3},
        quoted=[QUOTED],
        expires_at=NOW,
        context=CardContext(answers=(EarlierAnswer(body=QUOTED),)),
    )

    assert known.warnings == ()
    assert several.price is None
    assert several.warnings == (
        "price unknown: nothing says plainly what all of it costs; 12.50 EUR may be a part of it, "
        "or the price of one piece",
        "the price is not certain, for the call also has quantity: 3",
    )


@pytest.mark.parametrize("deprecated", [True, False])
def test_a_card_says_that_its_tool_is_deprecated(deprecated: bool) -> None:
    """The person who approves it may ask for the successor."""
    context = CardContext(answers=(EarlierAnswer(body=QUOTED),))
    made = built({"room_id": "r1"}, context, deprecated=deprecated)

    assert any("deprecated" in warning for warning in made.warnings) is deprecated


@pytest.mark.parametrize(
    ("answer", "is_warned"), [({"total_price": {}}, True), ({"starts_at": {}}, False)]
)
def test_a_price_that_only_the_answer_has_is_unknown(answer: JsonObject, is_warned: bool) -> None:
    """What has none at all costs nothing, as far as anybody can tell."""
    schema: JsonObject = {"type": "object", "properties": answer}
    shown = built({"city": "Porto"}, CardContext(goal="a room"), output_schema=schema)

    assert any("price unknown" in one for one in shown.warnings) is is_warned


def test_a_card_shows_what_file_is_sent() -> None:
    """Name, type, size and digest; the approval covers the handle, which is the digest."""
    file = ReceivedFile(
        handle=handle_of_bytes(b"1"), content_type="application/pdf", size_bytes=1234, name="a.pdf"
    )
    arguments: JsonObject = {"plan": file.handle, "pages": [{"content": file.handle}]}
    told = built(arguments, CardContext(files=(file,)))
    digest = file.handle.removeprefix("file:sha256-")
    assert shown(told)["Plan"] == f"a.pdf, application/pdf, 1,234 bytes, SHA-256 {digest}"
    assert str(file) in str(told.sections()[-1])
    assert told.arguments == arguments


def test_what_no_order_covers_is_the_first_line() -> None:
    """Before the title, and before whatever else there is to mind."""
    shown_first = card({"room_id": "r1"}).model_copy(update={"unordered": "Not ordered."})

    assert as_markdown(shown_first).splitlines()[0] == "**Not ordered.**"


@pytest.mark.parametrize(
    ("arguments", "context", "unfounded"),
    [
        ({"room_id": "r1"}, CardContext(answers=(EarlierAnswer(body=[{"room_id": "r1"}]),)), False),
        ({"room_id": "r1"}, CardContext(goal="Book room r1"), False),
        ({"room_id": "r1"}, CardContext(given=("r1",)), False),
        ({"room_id": "r1"}, CardContext(goal="Book a room"), True),
        (
            {"room_id": "r1", "city": "Porto"},
            CardContext(answers=(EarlierAnswer(body=[{"room_id": "r1", "city": "Lisbon"}]),)),
            True,
        ),
    ],
    ids=["an-answer", "the-goal", "a-person", "nobody", "unlike-the-call"],
)
def test_an_id_is_of_an_answer_or_a_person_and_like_the_call(
    arguments: JsonObject, context: CardContext, unfounded: bool
) -> None:
    assert built(arguments, context).is_unfounded is unfounded
