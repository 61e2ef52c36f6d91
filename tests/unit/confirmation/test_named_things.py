"""What the ids among arguments stand for, told by names, looks and earlier answers alone."""

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from orchestrator.confirmation.build import CardContext, build_card
from orchestrator.confirmation.models import ConfirmationCard
from orchestrator.confirmation.named_things import EarlierAnswer, find_things
from orchestrator.core.record import JsonObject
from tests.unit.confirmation.test_cards import CALL, NOW, tool

QUOTED = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
EUR: JsonObject = {"amount": 90.5, "currency": "EUR"}


def found(arguments: JsonObject, *bodies: JsonValue) -> list[JsonObject]:
    return [thing.items[0] for thing in find_things(arguments, [EarlierAnswer(b) for b in bodies])]


def card(arguments: JsonObject, *answers: EarlierAnswer, **context: object) -> ConfirmationCard:
    given = CardContext(goal="a trip", clause="a room", answers=answers, **context)  # type: ignore[arg-type]
    quoted = [item for thing in find_things(arguments, answers) for item in thing.items]
    return build_card(CALL, tool(), arguments, quoted=quoted, expires_at=NOW, context=given)


@pytest.mark.parametrize(
    ("arguments", "item"),
    [
        ({"room": "r-17"}, {"id": "r-17", "view": "sea"}),
        ({"rate_key": "abcdef"}, {"key": "abcdef"}),
        ({"flight": "AT482"}, {"flight_number": "AT482"}),
        ({"stay": {"room_id": "x"}}, {"room_id": "x"}),
        ({"room_ids": ["x"]}, {"room_id": "x"}),
        ({"order_id": 4711}, {"order_id": 4711}),
    ],
    ids=["by its look", "another name", "a number with letters", "deep", "in a list", "a number"],
)
def test_an_id_is_told_by_its_name_or_its_look(arguments: JsonObject, item: JsonObject) -> None:
    assert found(arguments, {"found": [{"id": "other"}, item]}) == [item]


@pytest.mark.parametrize(
    ("arguments", "item"),
    [
        ({"city": "Lisbon"}, {"city": "Lisbon"}),
        ({"date": "2026-12-03"}, {"date": "2026-12-03"}),
        ({"guests": 2}, {"guests": 2}),
        ({"email": "a1@b.example"}, {"email": "a1@b.example"}),
        ({"order_id": "4711"}, {"order_id": 4711}),
    ],
    ids=["a place", "a date", "a number", "an address", "another type"],
)
def test_what_is_no_id_names_nothing(arguments: JsonObject, item: JsonObject) -> None:
    assert found(arguments, [item]) == []


def test_an_id_that_several_of_a_list_hold_names_none_of_them() -> None:
    """Unless what stands next to it tells which: one flight in two classes."""
    fares: JsonValue = [{"flight_id": "f1", "cabin": c} for c in ("economy", "business")]
    business: JsonObject = {"flight_id": "f1", "cabin": "business"}

    assert found({"flight_id": "f1"}, fares) == []
    assert found(business, fares) == [business]


def test_ids_of_one_object_name_one_thing_and_others_another() -> None:
    rooms: JsonValue = [{"hotel_id": "h1", "room_id": "r1"}]
    cars: JsonValue = [{"car_id": "k1"}]
    named: JsonObject = {"hotel_id": "h1", "room_id": "r1", "car_id": "k1"}
    made = find_things(named, [EarlierAnswer(rooms), EarlierAnswer(cars)])
    told = [[i.argument for i in thing.ids] for thing in made]
    assert told == [["hotel_id", "room_id"], ["car_id"]]


def test_a_card_says_where_a_thing_was_found_and_what_for() -> None:
    """The answer around it and what was asked tell what the thing itself does not."""
    answer = EarlierAnswer(
        body={"city": "Lisbon", "rooms": [{"room_id": "r1", "view": "sea", "price": EUR}]},
        arguments={"check_in": "2026-12-03"},
        title="Search rooms",
        at=QUOTED,
    )
    made = card({"room_id": "r1"}, answer)
    (thing,) = made.named

    assert thing.called == "Room id r1"
    assert thing.origin() == (
        "found by 'Search rooms' at 2026-11-21 09:30 UTC for check in 2026-12-03; city Lisbon"
    )
    assert str(made.price) == "90.50 EUR"
    assert made.folded() == "room id r1"
    assert made.warnings == ()


def test_a_second_thing_has_a_section_of_its_own() -> None:
    """The card shows what it is about; what else is named stands below."""
    rooms = EarlierAnswer(
        body=[{"room_id": "r1", "price": EUR, "view": "sea"}], title="Search rooms"
    )
    people = EarlierAnswer(body=[{"guest_key": "g1", "name": "Bo"}], title="List guests")
    made = card({"room_id": "r1", "guest_key": "g1"}, rooms, people)
    (section,) = [part for part in made.sections() if part.title == "Guest key g1"]
    assert [(line.label, line.value) for line in section.lines] == [
        ("Name", "Bo"),
        ("Origin", "found by 'List guests'"),
    ]


def test_an_id_that_nothing_explains_is_told() -> None:
    """Unless a person gave it; also one that several things bear."""
    made = card({"room_id": "r9", "guest_id": "g1"}, given=("g1",))
    several = EarlierAnswer(body=[{"room_id": "r1", "view": "sea"}, {"room_id": "r1"}])
    (told,) = card({"room_id": "r1"}, several).warnings

    assert made.warnings == ("no earlier answer says what room id r9 is",)
    assert told.startswith("several things in an earlier answer bear room id r1")


def test_an_argument_that_differs_from_what_was_found_is_told() -> None:
    """Another day than the offer's, another price than was quoted; less of a time is no other."""
    answer = EarlierAnswer(
        body=[{"room_id": "r1", "check_in": "2026-12-03", "price": EUR, "at": "2026-12-03T18:00"}]
    )
    dearer: JsonObject = {"amount": 80.5, "currency": "EUR"}
    made = card({"room_id": "r1", "check_in": "2026-12-05", "price": dearer, "at": "18:00"}, answer)

    assert made.warnings == (
        "the price is not certain, for the call also has 80.50 EUR, 90.50 EUR",
        "Check in is 2026-12-05 here, and 2026-12-03 in what r1 is",
        "Price is 80.50 EUR here, and 90.50 EUR in what r1 is",
    )


def test_the_callers_own_reference_is_no_part_of_what_was_found() -> None:
    """Each call has one of its own: that of the payment is not that of its refund."""
    answer = EarlierAnswer(body=[{"room_id": "r1", "client_reference": "m-1.pay.2"}])
    arguments: JsonObject = {"room_id": "r1", "client_reference": "m-2.refund.1"}
    asking = tool(reference_inputs=("client_reference",))
    context = CardContext(goal="a room", answers=(answer,))
    made = build_card(CALL, asking, arguments, quoted=[], expires_at=NOW, context=context)

    assert made.warnings == ()


def test_a_number_counts_only_when_a_person_changed_it() -> None:
    """Rooms that are left and rooms that are wanted bear one name."""
    answer = EarlierAnswer(body=[{"room_id": "r1", "rooms": 5}])
    arguments: JsonObject = {"room_id": "r1", "rooms": 2}

    assert card(arguments, answer).warnings == ()
    assert card(arguments, answer, changed_by_people=("rooms",)).warnings == (
        "Rooms is 2 here, and 5 in what r1 is",
    )
