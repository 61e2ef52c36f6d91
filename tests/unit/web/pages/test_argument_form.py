"""Forms for arguments: each schema has its field, and untouched fields change nothing."""

from typing import Any

import pytest
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.web.pages.argument_form import (
    PREFIX,
    ArgumentField,
    ReadForm,
    argument_fields,
    changeable_inputs,
    read_arguments,
)
from tests.unit.web.pages.samples import hostile_card

SCHEMAS: dict[str, JsonObject] = {
    "city": {"type": "string", "description": "Where. In one word."},
    "cabin": {"type": "string", "enum": ["economy", "premium_economy"]},
    "refundable": {"type": "boolean"},
    "party_size": {"type": "integer", "minimum": 1, "maximum": 12},
    "amount": {"type": "number"},
    "day": {"type": "string", "format": "date"},
    "items": {"type": "array", "items": {"type": "object", "required": ["name"]}},
    "address": {"type": "object", "properties": {"street": {"type": "string"}}},
    "note": {"type": ["string", "null"]},
}
ARGUMENTS: JsonObject = {
    "city": "Lisbon",
    "cabin": "economy",
    "party_size": 2,
    "day": "2026-12-03",
    "items": [{"name": "a"}],
    "traveler_id": "pii:traveler_id",
}


def fields() -> dict[str, ArgumentField]:
    names = [*SCHEMAS, "traveler_id"]
    made = argument_fields(ARGUMENTS, SCHEMAS, names=names, personal=("traveler_id",))
    return {one.name: one for one in made}


def read(**texts: str) -> ReadForm:
    """Read the form as a browser sends it: every field, those that are named with other texts."""
    shown = fields()
    sent = {one.key: one.shown for one in shown.values()}
    sent |= {PREFIX + name: text for name, text in texts.items()}
    return read_arguments(shown.values(), SCHEMAS, sent.get)


@pytest.mark.parametrize(
    ("name", "widget"),
    [
        ("city", "text"),
        ("cabin", "choice"),
        ("refundable", "choice"),
        ("party_size", "number"),
        ("day", "date"),
        ("items", "json"),
        ("address", "json"),
        ("traveler_id", "handle"),
    ],
)
def test_each_type_has_its_field(name: str, widget: str) -> None:
    """Texts, numbers, choices and days have fields; the rest is JSON; a personal one a handle."""
    assert fields()[name].widget == widget


def test_an_untouched_form_changes_nothing() -> None:
    """Every field is sent as it was shown; hidden characters are shown escaped."""
    assert read().changes == {}
    assert read().problems == ()
    arguments: JsonObject = {"city": "Lis\u202ebon\r\n"}
    shown = argument_fields(arguments, SCHEMAS, names=["city"])
    found = read_arguments(shown, SCHEMAS, lambda key: shown[0].shown)
    assert "\u202e" not in shown[0].shown
    assert found.changes == {}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("city", "Porto", "Porto"),
        ("city", "42", "42"),
        ("cabin", '"premium_economy"', "premium_economy"),
        ("refundable", "true", True),
        ("party_size", "3", 3),
        ("amount", "12.50", 12.5),
        ("day", "2026-12-04", "2026-12-04"),
        ("items", '[{"name": "b"}]', [{"name": "b"}]),
        ("note", "later", "later"),
        ("traveler_id", "pii:other_traveler", "pii:other_traveler"),
    ],
)
def test_a_changed_field_is_the_only_change(name: str, text: str, value: JsonValue) -> None:
    assert read(**{name: text}).changes == {name: value}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("party_size", "many"),
        ("party_size", "13"),
        ("party_size", "2.5"),
        ("party_size", ""),
        ("items", "[{"),
        ("items", '[{"nam": 1}]'),
        ("items", "[" * 100_000),
        ("amount", "NaN"),
        ("amount", "Infinity"),
        ("day", "tomorrow-ish"),
        ("cabin", '"cargo"'),
        ("address", "[]"),
    ],
)
def test_a_text_that_is_no_value_is_a_problem_of_its_field(name: str, text: str) -> None:
    """The form is shown again with the text and the reason, and nothing is changed."""
    found = read(**{name: text})

    assert found.changes == {}
    (wrong,) = [one for one in found.fields if one.problem]
    assert (wrong.name, wrong.value) == (name, text)
    assert len(found.problems) == 1


def test_a_personal_value_is_refused_and_not_repeated() -> None:
    """A passport number that somebody types is on no page afterwards."""
    found = read(traveler_id="C01X00T47")
    (wrong,) = [one for one in found.fields if one.problem]

    assert found.changes == {}
    assert wrong.value == ""
    assert "pii:traveler_id" in wrong.problem
    assert "C01X00T47" not in repr(found)


def test_without_a_schema_texts_stay_texts_and_the_rest_is_json() -> None:
    arguments: JsonObject = {"city": "Lisbon", "party_size": 2}
    shown = argument_fields(arguments, {}, names=["city", "party_size", "new"])
    found = read_arguments(
        shown, {}, {"argument.city": "12", "argument.party_size": "3", "argument.new": ""}.get
    )

    assert {one.name: one.widget for one in shown} == {
        "city": "text",
        "party_size": "json",
        "new": "json",
    }
    assert found.changes == {"city": "12", "party_size": 3}


@pytest.mark.parametrize(
    ("inputs", "named"), [(("city",), ["city"]), (None, ["city", "day"]), ((), [])]
)
def test_only_inputs_of_the_card_and_no_generated_reference(inputs: Any, named: list[str]) -> None:
    """A client reference that we made cannot be amended."""
    arguments = {"city": "Lisbon", "client_reference": "m.1-dinner.2"}
    card = hostile_card(arguments=arguments, inputs=inputs)

    assert changeable_inputs(card, {"city": {}, "day": {}}) == named
