"""What the user's words say about an input."""

from datetime import UTC, datetime

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.amounts import amount_doubts
from orchestrator.planning.rules.argument_draft import ArgumentDraft
from orchestrator.planning.rules.parameters import Parameter, read_parameters
from orchestrator.planning.rules.utterance import read_utterance
from orchestrator.planning.rules.utterance_sources import value_from_utterances

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)

DAY: JsonObject = {"type": "string", "format": "date"}
CLOCK: JsonObject = {"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"}
MOMENT: JsonObject = {"type": "string", "format": "date-time"}
STRING: JsonObject = {"type": "string"}
INTEGER: JsonObject = {"type": "integer"}
NUMBER: JsonObject = {"type": "number"}


def inputs(*, required: bool = True, **schemas: JsonObject) -> tuple[Parameter, ...]:
    schema: JsonObject = {"type": "object", "properties": dict(schemas)}
    schema["required"] = list(schemas) if required else []
    return read_parameters(schema, schema)


def stated(text: str, parameters: tuple[Parameter, ...]) -> JsonObject:
    draft = ArgumentDraft(parameters)
    for parameter in draft.open_inputs():
        value = value_from_utterances(parameter, [read_utterance(text, now=NOW)], draft)
        if value is not None:
            draft.values[parameter.name] = value
    return draft.values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "fly on 2026-12-03, returning 2026-12-06",
            {"depart_on": "2026-12-03", "return_date": "2026-12-06"},
        ),
        (
            "from the 3rd to the 6th of December",
            {"depart_on": "2026-12-03", "return_date": "2026-12-06"},
        ),
        ("on 2026-12-03", {"depart_on": "2026-12-03"}),
        ("until 2026-12-06", {"return_date": "2026-12-06"}),
        ("on 2026-12-03 for 3 nights", {"depart_on": "2026-12-03", "return_date": "2026-12-06"}),
        ("on 2026-12-03 for 2 weeks", {"depart_on": "2026-12-03", "return_date": "2026-12-17"}),
    ],
)
def test_dates_go_to_the_end_they_belong_to(text: str, expected: JsonObject) -> None:
    """The first date starts, the second or a stay of so many nights ends; one date ends nothing."""
    assert stated(text, inputs(depart_on=DAY, return_date=DAY)) == expected


def test_a_name_before_where_one_goes_is_where_one_starts() -> None:
    """Without a preposition: "book Berlin to Lisbon"."""
    ends = inputs(origin=STRING, destination=STRING)

    assert stated("book Berlin to Lisbon tomorrow", ends)["origin"] == "Berlin"
    assert "origin" not in stated("book a trip to Lisbon with Bo", ends)


def test_places_go_by_direction() -> None:
    """Where one comes from and where one goes are told apart."""
    both = inputs(origin=STRING, destination=STRING)

    assert stated("fly from Berlin to Lisbon", both) == {
        "origin": "Berlin",
        "destination": "Lisbon",
    }
    assert stated("fly to Lisbon", both) == {"destination": "Lisbon"}
    assert stated("a hotel in Lisbon", inputs(city=STRING)) == {"city": "Lisbon"}


def test_moment_joins_a_date_and_a_time() -> None:
    """A date-time is said in two parts; an end that nobody tells is not made up."""
    both = inputs(starts_at=MOMENT, ends_at=MOMENT)
    start = {"starts_at": "2026-12-04T20:00:00Z"}
    whole = {**start, "ends_at": "2026-12-04T22:00:00Z"}

    assert stated("meet on 2026-12-04 at 20:00", both) == start
    assert stated("meet on 2026-12-04 at 20:00 for two hours", both) == whole
    assert stated("meet on 2026-12-04 from 20:00 to 22:00", both) == whole


def test_time_takes_the_form_that_the_schema_wants() -> None:
    """HH:MM and HH:MM:SS are the same time."""
    longer: JsonObject = {"type": "string", "pattern": "^[0-9]{2}:[0-9]{2}:[0-9]{2}$"}

    assert stated("at 8 pm", inputs(time=CLOCK)) == {"time": "20:00"}
    assert stated("at 8 pm", inputs(time=longer)) == {"time": "20:00:00"}


def test_amounts_go_by_their_bound() -> None:
    """A word like under makes a most, never the price itself; cents are counted in cents."""
    limits = inputs(max_price=NUMBER, amount=NUMBER, currency=STRING)
    cents = inputs(amount_cents=INTEGER)

    assert stated("a room under 90 EUR", limits) == {"max_price": 90, "currency": "EUR"}
    assert stated("pay 12.50 EUR", limits) == {"amount": 12.5, "currency": "EUR"}
    assert stated("pay 12.50 EUR", cents) == {"amount_cents": 1250}


SMALLEST: JsonObject = {"type": "integer", "description": "In the smallest currency unit."}


@pytest.mark.parametrize(
    ("text", "amount", "expected"),
    [
        ("charge 25 EUR", SMALLEST, {"amount": 2500, "currency": "EUR"}),
        ("charge 2500 JPY", SMALLEST, {"amount": 2500, "currency": "JPY"}),
        ("charge 2.5 KWD", SMALLEST, {"amount": 2500, "currency": "KWD"}),
        ("charge €25.50", SMALLEST, {"amount": 2550, "currency": "EUR"}),
        ("charge 25 EUR", NUMBER, {"amount": 25, "currency": "EUR"}),
        ("charge 25 EUR", {**INTEGER, "x-orchet-minor-units": 3}, {"amount": 25000}),
        ("charge 25 EUR", {**INTEGER, "x-orchet-minor-units": False}, {"amount": 25}),
        ("charge 25 EUR", INTEGER, {}),
        ("charge 25.005 EUR", SMALLEST, {}),
        ("charge 25.005 EUR", NUMBER, {}),
        ("charge 2500.50 JPY", NUMBER, {}),
    ],
)
def test_an_amount_is_sent_in_the_units_of_the_tool(
    text: str, amount: JsonObject, expected: JsonObject
) -> None:
    """Never rounded, and not at all where it is not known in which."""
    found = stated(text, inputs(amount=amount, currency=STRING))

    assert {"currency": found["currency"], **expected} == found


def test_an_amount_in_another_currency_is_not_sent() -> None:
    """Not under the tool's own, whatever its default."""
    euros: JsonObject = {"type": "string", "enum": ["EUR"], "default": "EUR"}
    lower: JsonObject = {"type": "string", "description": "The currency, in lowercase."}

    assert stated("charge 25 USD", inputs(amount=NUMBER, currency=euros)) == {}
    assert stated("charge 25 USD", inputs(amount_eur=NUMBER)) == {}
    assert stated("charge 25 USD", inputs(amount=NUMBER, currency=lower)) == {
        "amount": 25,
        "currency": "usd",
    }


def test_why_an_amount_is_asked_about_is_said() -> None:
    """The question names the amount and what is wrong with it."""
    asked = inputs(amount=SMALLEST, currency=STRING)
    untold = inputs(amount=INTEGER)

    def doubts(text: str, parameters: tuple[Parameter, ...]) -> str:
        draft = ArgumentDraft(parameters)
        return " ".join(amount_doubts(parameters, read_utterance(text, now=NOW), draft))

    assert "25.005 EUR has more decimals" in doubts("charge 25.005 EUR", asked)
    assert "smallest unit is not declared" in doubts("charge 25 EUR", untold)
    assert "PTS is no currency" in doubts("charge 100 PTS", asked)
    assert doubts("charge 25 EUR", asked) == ""


def test_counts_go_by_what_is_counted() -> None:
    """Guests, stars and copies do not take each other's numbers, and nobody takes the nights."""
    counts = inputs(guests=INTEGER, min_stars=INTEGER, copies=INTEGER)

    found = stated("a 4 star hotel for two guests for 3 nights", counts)

    assert found == {"guests": 2, "min_stars": 4}
    assert stated("a table for four", inputs(party_size=INTEGER)) == {"party_size": 4}


def test_choices_are_read_as_words() -> None:
    """The longest value that is said wins; everyday words need a word of their parameter beside."""
    cabin: JsonObject = {"type": "string", "enum": ["economy", "premium_economy", "first"]}

    assert stated("fly premium economy", inputs(cabin=cabin)) == {"cabin": "premium_economy"}
    assert stated("find the first flight", inputs(cabin=cabin)) == {}
    assert stated("fly first class", inputs(cabin=cabin)) == {"cabin": "first"}


def test_flags_are_raised_by_their_own_word() -> None:
    """A boolean input is set when its word is said, never cleared."""
    direct = inputs(direct_only={"type": "boolean"})

    assert stated("a direct flight", direct) == {"direct_only": True}
    assert stated("a flight", direct) == {}


def test_ids_need_their_noun_or_none() -> None:
    """An id said with another noun is not this id, and a file name is no id."""
    booking = inputs(booking_id=STRING)

    assert stated("cancel my booking BK-123", booking) == {"booking_id": "BK-123"}
    assert stated("cancel BK-123", booking) == {"booking_id": "BK-123"}
    assert stated("cancel the invoice INV-9", booking) == {}
    assert stated("share q3-report.xlsx", inputs(file_id=STRING)) == {}


def test_an_optional_id_needs_its_noun() -> None:
    """The tickets of one customer are not those of all; an id of no noun filters nothing."""
    filters = inputs(required=False, customer_id=STRING)

    assert stated("list the tickets of customer cus_7f31", filters) == {"customer_id": "cus_7f31"}
    assert stated("list the tickets like tic_20931", filters) == {}
    assert stated("list tic_20931", filters) == {}


def test_an_address_is_an_id_only_where_it_is_said_to_be_one() -> None:
    """A link that stands somewhere in a goal is not what a booking or an offer is known by."""
    offer = inputs(offer_id=STRING)
    linked = inputs(page_id={"type": "string", "format": "uri"})

    assert stated("book a table, see https://shop.example/42", offer) == {}
    assert stated("book a table ![y](https://shop.example)", offer) == {}
    assert stated("book offer urn://o/42", offer) == {"offer_id": "urn://o/42"}
    assert stated("delete https://shop.example/42", linked) == {
        "page_id": "https://shop.example/42"
    }


def test_value_that_the_schema_refuses_is_not_taken() -> None:
    """A city name is no airport code."""
    code: JsonObject = {"type": "string", "pattern": "^[A-Z]{3}$"}

    assert stated("fly to Lisbon", inputs(destination=code)) == {}


@pytest.mark.parametrize("word", ["called", "named", "titled"])
def test_what_a_thing_is_called_is_its_name(word: str) -> None:
    """An input that is the name of the thing takes it; one that names something else does not."""
    text = f"Create a workspace {word} Ops"
    assert stated(text, inputs(name=STRING)) == {"name": "Ops"}
    assert stated(text, inputs(owner_name=STRING)) == {} or word == "named"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("create a trip called Winter trip tomorrow", "Winter trip"),
        ("create a trip called Winter", "Winter"),
        ("create a trip called Winter for Bo", "Winter"),
        ("create a song titled Blue in Green", None),
        ("create a song titled Blue, in Rome", "Blue"),
    ],
)
def test_a_name_goes_on_as_far_as_something_tells(text: str, name: str | None) -> None:
    """Plain words belong to it; of a place behind it, and an input for none, nothing is known."""
    assert stated(text, inputs(title=STRING)).get("title") == name


def test_a_name_ends_where_a_place_is_taken() -> None:
    """The place has an input of its own."""
    found = stated("plan a meeting called Launch in Rome", inputs(title=STRING, city=STRING))

    assert found == {"title": "Launch", "city": "Rome"}


def test_the_number_of_a_thing_is_its_numeric_id() -> None:
    """Not the first of those that an earlier call was made for."""
    assert stated("a pass for resort 12", inputs(resortId=INTEGER)) == {"resortId": 12}
    assert stated("a pass for resort 12", inputs(resortId=STRING)) == {}


def test_a_number_behind_the_noun_of_an_id_is_that_id_and_no_count() -> None:
    """Whatever its name is: a whole number that is called so counts nothing."""
    order = inputs(eventId=INTEGER, ticketTypeId=INTEGER, quantity=INTEGER)
    assert stated("buy two tickets for event 4711", order) == {"eventId": 4711, "quantity": 2}
    assert stated("buy tickets for event 4711", order) == {"eventId": 4711}
    assert stated("return hire 220 because it broke", inputs(hire_no=INTEGER)) == {"hire_no": 220}
    assert stated("return hire 220", inputs(hire_no=STRING)) == {"hire_no": "220"}
    assert stated("book 2 rooms", inputs(roomId=INTEGER)) == {}


def test_who_something_is_for_is_told_by_name() -> None:
    """Of one person alone; the day of a birth is no day on which something is done."""
    patient = inputs(full_name=STRING, birth_date=DAY)
    said = "book a check-up on 2 December for Jan Kowalski, born on 4 May 1980"
    assert stated(said, patient) == {"full_name": "Jan Kowalski", "birth_date": "1980-05-04"}
    assert stated(said, inputs(day=DAY)) == {"day": "2026-12-02"}
    assert stated("book a check-up for Jan and for Eva", inputs(full_name=STRING)) == {}


def test_what_is_before_a_day_begins_at_none() -> None:
    """Of two that only filter; "on" is that day."""
    window = inputs(required=False, from_date=DAY, to_date=DAY)
    assert stated("free slots before 5 December", window) == {"to_date": "2026-12-05"}
    assert stated("free slots after 5 December", window) == {"from_date": "2026-12-05"}


def test_what_is_dropped_off_may_begin_or_end() -> None:
    """A car is picked up first and a dog is dropped off first: the order of both tells."""
    said = "from 3 to 6 December"
    first, last = "2026-12-03", "2026-12-06"
    assert stated(said, inputs(pickUp=DAY, dropOff=DAY)) == {"pickUp": first, "dropOff": last}
    assert stated(said, inputs(dropOff=DAY, pickUp=DAY)) == {}
    assert stated(said, inputs(dropOff=DAY, collection=DAY)) == {}
    assert stated(said, inputs(start=DAY, dropOff=DAY)) == {"start": first, "dropOff": last}


def test_codes_are_told_by_their_form_and_by_where_they_lead() -> None:
    """A postcode has a blank in it; of two places each is the one that its preposition tells."""
    moved = inputs(sku=STRING, qty=INTEGER, fromLocation=STRING, toLocation=STRING)
    expected = {"sku": "AB-1234", "qty": 20, "fromLocation": "A-12", "toLocation": "B-07"}
    assert stated("move 20 of AB-1234 from A-12 to B-07", moved) == expected
    assert stated("move from A-12 to B-07: 20 of AB-1234", moved) == expected
    assert stated("bin days at LS6 3AA", inputs(postcode=STRING)) == {"postcode": "LS6 3AA"}
    article: JsonObject = {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"}
    assert stated("stock of AB-1234 in A-12", inputs(article=article)) == {"article": "AB-1234"}
    plain: JsonObject = {"type": "string", "pattern": "^[a-z0-9.-]+$"}
    assert stated("create a network in nyc3", inputs(name=plain)) == {}


def test_a_period_fills_both_ends_of_what_filters() -> None:
    """Nothing that is ordered begins with a week."""
    week = {"from_date": "2026-11-23", "to_date": "2026-11-29"}
    assert (
        stated("free slots next week", inputs(required=False, from_date=DAY, to_date=DAY)) == week
    )
    assert stated("book a room next week", inputs(arrival=DAY, departure=DAY)) == {}
    window = inputs(required=False, from_date=DAY, to_date=DAY)
    assert stated("free slots for Jan Kowalski", window) == {}
    assert stated("free slots for Jan Kowalski, born 4 May 1980", window) == {}
