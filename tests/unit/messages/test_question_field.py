"""A field of a question, as a person reads it."""

from datetime import date

import pytest
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.validation import field_problems
from orchestrator.messages.leg import open_choice
from orchestrator.messages.question_field import answer_problems, question_field

DAY = date(2026, 11, 23)


DATE: JsonObject = {"type": "string", "format": "date", "description": "Day of it. Not past."}
MONEY: JsonObject = {"properties": {"amount": {}, "currency": {}}}
CITY: JsonObject = {"type": "string", "title": "Where to", "examples": ["Oslo"]}
WHOLE = "a whole number, such as 2 or two"


@pytest.mark.parametrize(
    ("name", "schema", "told"),
    [
        ("on", DATE, "on: Day of it; a day, such as tomorrow, next Friday or 2026-12-03"),
        ("partySize", {"type": "integer"}, f"party size: {WHOLE}"),
        ("for_minutes", {"type": "integer", "default": 60}, f"{WHOLE}, in minutes; nothing for 60"),
        ("max_cents", {"type": "integer"}, f"max cents: {WHOLE}, in cents"),
        ("city", CITY, "Where to: in your own words, e.g. Oslo"),
        ("time", {"type": "string"}, "time: a time of day, such as 8 pm or 20:00"),
        ("direct_only", {"type": "boolean"}, "direct only: yes or no"),
        ("price", {"$ref": "#/$defs/M", "$defs": {"M": MONEY}}, "an amount with its currency, "),
    ],
)
def test_a_field_says_what_it_takes(name: str, schema: JsonObject, told: str) -> None:
    """Its name in words, what its document says of it, and an example that can be typed."""
    assert told in question_field(name, schema).described(DAY)


def test_choices_are_numbered_and_readable() -> None:
    """The words of a machine come apart, and what an option stands for is told."""
    cabin = question_field("cabin", {"enum": ["economy", "premium_economy", None]})
    options = {"go on": "make this call", "stop": ""}
    answer = question_field("answer", open_choice(options, other="x"))

    assert list(cabin.listed()) == ["1. economy", "2. premium economy"]
    assert list(answer.listed()) == ["1. go on: make this call", "2. stop"]
    assert answer.described(DAY) == "answer: one of those listed, or x"
    assert not cabin.is_open
    assert answer.is_open


def test_an_open_choice_takes_its_options_and_other_texts() -> None:
    """Without a word for other texts it takes its options alone."""
    opened, closed = open_choice({"go on": ""}, other="what you want"), open_choice({"go on": ""})

    assert field_problems({"a": opened}, {"a": "go on"}) == ()
    assert field_problems({"a": opened}, {"a": "rather Friday"}) == ()
    assert field_problems({"a": opened}, {"a": ""}) != ()
    assert field_problems({"a": closed}, {"a": "go on"}) == ()
    assert field_problems({"a": closed}, {"a": "rather Friday"}) != ()


@pytest.mark.parametrize(
    "typed",
    [
        "4111 1111 1111 1111",
        "pay with 4111-1111-1111-1111 please",
        4111111111111111,
        "DE89 3704 0044 0532 0130 00",
        ["Ann", "4111111111111111".translate({n: n + 0xFEE0 for n in range(48, 58)})],
    ],
)
def test_a_payment_number_is_no_answer(typed: JsonValue) -> None:
    """It would stand in histories; the sentence names the vault's handle and quotes nothing."""
    (problem,) = answer_problems({"method": {}}, {"method": typed})

    assert "pii:method" in problem
    assert "4111" not in problem
    assert "3704" not in problem


@pytest.mark.parametrize(
    ("name", "typed"), [("passport_number", "C01X00T47"), ("iban", "12345678")]
)
def test_a_field_that_asks_for_personal_data_takes_a_handle(name: str, typed: JsonValue) -> None:
    """Its value belongs in the vault, whatever it looks like."""
    assert answer_problems({name: {}}, {name: typed})
    assert not answer_problems({name: {}}, {name: f"pii:{name}"})


@pytest.mark.parametrize(
    "typed", ["ana@example.com", "+351 912 345 678", "B12345678", "2026-12-05T20:00:00Z", 4711]
)
def test_what_goals_hold_may_be_answered(typed: JsonValue) -> None:
    """An address or an id that a planner asks for is part of what is wanted."""
    assert answer_problems({"to": {}}, {"to": typed}) == ()
