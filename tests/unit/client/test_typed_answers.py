"""Answers as people type them, read by the schema of the field that they answer."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.client.typed_answers import read_answer
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.validation import field_problems
from orchestrator.messages.leg import open_choice

MONDAY = datetime(2026, 11, 23, 9, tzinfo=UTC)
DATE: JsonObject = {"type": "string", "format": "date"}
CLOCK: JsonObject = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
MOMENT: JsonObject = {"type": "string", "format": "date-time"}
MONEY: JsonObject = {
    "type": "object",
    "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
}
GUESTS: JsonObject = {"type": "integer", "minimum": 1, "maximum": 8}
CABIN: JsonObject = {"type": "string", "enum": ["economy", "premium_economy", "business", "first"]}
STARS: JsonObject = {"type": "integer", "enum": [3, 4, 5]}
MAILS: JsonObject = {"type": "array", "items": {"type": "string", "format": "email"}}
ROOMS: JsonObject = {"type": "array", "items": {"type": "integer"}}
ITEMS: JsonObject = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "amount", "currency"],
        "properties": {
            "description": {"type": "string"},
            "amount": {"type": "number"},
            "currency": {"type": "string"},
            "reference": {"type": "string"},
        },
    },
}
TIMES: JsonObject = {"type": "string", "enum": ["09:00", "21:00"]}
BILLS = {"oneOf": [{"const": "a", "title": "INV-58855, Blue"}, {"const": "b", "title": "Other"}]}
LONG: JsonObject = {
    "oneOf": [
        {"const": "b1", "title": "Nordwind, NW928, Berlin, Rome, 2026-12-05, 08:25, 70.35 EUR"},
        {"const": "b2", "title": "Atlantic Air, AT794, Berlin, Rome, 2026-12-05, 71.25 EUR"},
        {"const": "b3", "title": "Nordwind, NW222, Paris, Rome, 2026-12-05, 15:35, 78.71 EUR"},
    ]
}
GO_ON = open_choice({"go on": "make this call", "stop": "leave it"}, other="what you want instead")
WHICH = open_choice({"Nordic Hosting": "", "Blue Cleaning": ""}, other="who it is")
NAMED: JsonObject = {"oneOf": [{"const": "w", "title": "Window seat"}, {"const": "a"}]}
PRICE: JsonObject = {**MONEY, "properties": {"amount": {"type": "string"}, "currency": {}}}


@pytest.mark.parametrize(
    ("name", "schema", "typed", "value"),
    [
        ("day", DATE, "tomorrow", "2026-11-24"),
        ("day", DATE, "on the 3rd please", "2026-12-03"),
        ("day", DATE, "2026-12-03", "2026-12-03"),
        ("departure_date", {"type": "string"}, "tomorrow", "2026-11-24"),
        ("due_date", {"type": "string", "examples": ["03.12.2026"]}, "04.12.2026", "04.12.2026"),
        ("time", CLOCK, "8 pm", "20:00"),
        ("time", CLOCK, "half past seven in the evening", "19:30"),
        ("time", CLOCK, "20", "20:00"),
        ("time", CLOCK, "noon", "12:00"),
        ("time", {"type": "string", "format": "time"}, "8 pm", "20:00:00Z"),
        ("at", MOMENT, "tomorrow at 8 pm", "2026-11-24T20:00:00Z"),
        ("at", MOMENT, "2026-12-03T10:00:00Z", "2026-12-03T10:00:00Z"),
        ("price", MONEY, "120 euros", {"amount": 120, "currency": "EUR"}),
        ("price", MONEY, '{"amount": 5, "currency": "USD"}', {"amount": 5, "currency": "USD"}),
        (
            "items",
            ITEMS,
            "taxi 23.50 EUR, lunch for 12 euros and 1 USD for gum",
            [
                {"description": "taxi", "amount": 23.5, "currency": "EUR"},
                {"description": "lunch", "amount": 12, "currency": "EUR"},
                {"description": "gum", "amount": 1, "currency": "USD"},
            ],
        ),
        ("price", PRICE, "120 euros", {"amount": "120.00", "currency": "EUR"}),
        ("guests", GUESTS, "two", 2),
        ("guests", GUESTS, "for 4 people", 4),
        ("guests", GUESTS, "3", 3),
        ("guests", GUESTS, 3, 3),
        ("rate", {"type": "number"}, "1,200.50", 1200.5),
        ("direct", {"type": "boolean"}, "yes please", True),
        ("direct", {"type": "boolean"}, "nope", False),
        ("cabin", CABIN, "Premium economy", "premium_economy"),
        ("cabin", CABIN, "bus", "business"),
        ("cabin", CABIN, "buisness", "business"),
        ("cabin", CABIN, "the second one", "premium_economy"),
        ("cabin", CABIN, "the last one", "first"),
        ("cabin", CABIN, "first", "first"),
        ("cabin", CABIN, "2", "premium_economy"),
        ("cabin", CABIN, 2, "premium_economy"),
        ("stars", STARS, "4", 4),
        ("seat", NAMED, "window seat", "w"),
        ("city", {"type": "string"}, "Lisbon", "Lisbon"),
        ("city", {"type": "string"}, "12", "12"),
        ("anything", {}, "12", 12),
        ("anything", {}, "twelve", "twelve"),
        ("mails", MAILS, "a@b.co and c@d.co", ["a@b.co", "c@d.co"]),
        ("rooms", ROOMS, "two, 3", [2, 3]),
        ("rooms", ROOMS, "[4]", [4]),
        ("answer", GO_ON, "Go on.", "go on"),
        ("answer", GO_ON, "1", "go on"),
        ("answer", GO_ON, "yes", "go on"),
        ("answer", GO_ON, "no", "stop"),
        ("answer", GO_ON, "book it for Friday instead", "book it for Friday instead"),
        ("answer", WHICH, "the second one", "Blue Cleaning"),
        ("which", {"enum": ["INV-1, Nordic", "INV-2, Acme"]}, "acme", "INV-2, Acme"),
        ("hour", {"enum": ["08:00", "20:00"]}, "8 pm", "20:00"),
        ("hour", {"enum": ["08:00", "20:00"]}, "the first one", "08:00"),
        ("day", {"enum": ["2026-11-24", "2026-12-01"]}, "tomorrow", "2026-11-24"),
        ("answer", WHICH, "Papier & Co", "Papier & Co"),
        ("traveler", DATE, "pii:traveler", "pii:traveler"),
    ],
)
def test_an_answer_is_read_by_its_field(
    name: str, schema: JsonObject, typed: JsonValue, value: JsonValue
) -> None:
    """What people say becomes what the field takes."""
    understood = read_answer({name: schema}, {name: typed}, now=MONDAY)

    assert understood.problems == ()
    assert understood.values == {name: value}


@pytest.mark.parametrize(
    ("schema", "typed", "says"),
    [
        (DATE, "03/04/2027", "may be 2027-04-03 or 2027-03-04"),
        (DATE, "tomorrow or Friday", "several days"),
        (DATE, "soon", "such as tomorrow"),
        (DATE, "tomorrow with Anna", "more than a day"),
        (CLOCK, "half past seven", "may be 07:30 or 19:30"),
        (CLOCK, "25:00", "such as 8 pm"),
        (MOMENT, "tomorrow", "no time of it"),
        (MONEY, "120", "such as 120 EUR"),
        ({"type": "number"}, "120 euros", "a number alone"),
        (GUESTS, "12", "must be at most 8"),
        (GUESTS, "two or three", "not one number"),
        (GUESTS, "2.5", "integer"),
        ({"type": "boolean"}, "maybe", "neither yes nor no"),
        (ITEMS, "a taxi", "one thing with one amount and its currency; give several, with commas"),
        (ITEMS, "23.50 EUR", "does not say what costs that"),
        (TIMES, "25:00", "none of 09:00, 21:00"),
        (BILLS, "INV-58856, Blue", "none of INV-58855"),
        ({"enum": ["Luna", "Marta"]}, "not Luna", "none of Luna, Marta"),
        ({"enum": ["go on", "stop"]}, "don't go", "none of go on, stop"),
        (CABIN, "luxury", "none of economy, premium economy, business, first"),
        ({"enum": ["Berlin", "Bern"]}, "ber", "may be Berlin, Bern"),
        ({"enum": ["08:00", "20:00"]}, "9 pm", "none of 08:00, 20:00"),
        ({"enum": ["INV-1, Blue, 5 EUR", "INV-2, Blue, 7 EUR"]}, "Blue", "may be INV-1"),
        (MAILS, "nobody", "e-mail address"),
        (GO_ON, "stpo", "is 'stop' meant?"),
        (GO_ON, "go", "is 'go on' meant?"),
        (WHICH, "yes", "none of Nordic Hosting, Blue Cleaning"),
        (CABIN, "", "none of"),
        (DATE, " ", "nothing was said"),
        (DATE, "Forget it", "cancel the mission"),
        (LONG, "the cheap one", "none of the 3 that are listed"),
        (LONG, "none of these", "cancel the mission"),
        (LONG, "nordwind", "may be any of 1, 3; give one of those listed"),
    ],
)
def test_what_can_be_read_in_two_ways_or_in_none_is_not(
    schema: JsonObject, typed: str, says: str
) -> None:
    """One sentence names the readings, or what the field takes with an example."""
    understood = read_answer({"departure": schema}, {"departure": typed}, now=MONDAY)

    assert understood.values == {}
    (problem,) = understood.problems
    assert says in problem
    assert problem.startswith("departure: ")


ODD: list[Any] = [
    *({}, {"type": "weird"}, {"enum": []}, {"enum": [1, "two", None, {"a": 1}]}, {"const": "x"}),
    *({"type": "string", "pattern": "("}, {"type": ["integer", "null"]}, {"type": "array"}),
    *({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, {"allOf": [GUESTS]}),
    *({"format": 3, "examples": {}, "title": 4, "description": ["x"]}, DATE, CLOCK, MOMENT),
    *(MONEY, GUESTS, {"type": "number"}, {"type": "boolean"}, CABIN, MAILS, ROOMS, GO_ON, NAMED),
]
TEXTS: list[Any] = [
    *("", "0", "1e999", "NaN", "null", "[", "{}", "31 February", "30/02/2027", "99:99", "€", "½"),
    *("the", "12th", "0th", ",,", "x" * 3000, "\x00", "tomorrow at", "2026-12-01T25:00:00Z", "yes"),
    *(1, True, None, float("nan"), [1], {"a": 1}),
]


@pytest.mark.parametrize("schema", ODD)
def test_no_text_breaks_the_reading_or_becomes_a_value_that_is_not_taken(
    schema: JsonObject,
) -> None:
    """Whatever is typed into whatever field: a value that it takes, or a sentence."""
    for typed in TEXTS:
        understood = read_answer({"field": schema}, {"field": typed}, now=MONDAY)

        assert bool(understood.values) is not bool(understood.problems)
        if isinstance(typed, str) and understood.values:
            assert field_problems({"field": schema}, understood.values) == ()


def test_days_are_counted_from_the_clock_of_whoever_answers() -> None:
    """A question of Monday that is answered on Tuesday has Wednesday as its tomorrow."""
    east = datetime(2026, 11, 24, 1, tzinfo=timezone(timedelta(hours=2)))

    understood = read_answer({"at": MOMENT}, {"at": "tomorrow at 8 pm"}, now=east)

    assert understood.values == {"at": "2026-11-25T20:00:00+02:00"}


def test_what_was_made_of_it_is_told() -> None:
    """A day with its weekday, what things cost in no JSON, and nothing of what stays as typed.

    What was not asked for is left to the leg, which refuses it.
    """
    fields: dict[str, JsonObject] = {"day": DATE, "city": {"type": "string"}, "items": ITEMS}
    typed = {"day": "tomorrow", "city": "Lisbon", "items": "taxi 23.50 EUR and 1 dollar for gum"}

    understood = read_answer(fields, {**typed, "colour": "red"}, now=MONDAY)

    assert understood.notes == (
        "day: Tuesday 24 November 2026 (2026-11-24)",
        "items: taxi 23.5 EUR, gum 1 USD",
    )
    assert understood.values["colour"] == "red"


def test_an_end_before_its_start_is_asked_for_again() -> None:
    """The provider would refuse it, and the mission would be lost."""
    fields = {"check_in": DATE, "check_out": DATE}
    first, then = {"check_in": "next friday"}, {"check_out": "next friday"}
    turned = read_answer(fields, {**first, "check_out": "tomorrow"}, now=MONDAY)
    right = read_answer(fields, {"check_in": "tomorrow", **then}, now=MONDAY)

    assert "is before check in" in turned.problems[0]
    assert not right.problems
