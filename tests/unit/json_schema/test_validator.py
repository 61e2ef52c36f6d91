"""The formats that values are held to, and what counts as an answer to a question."""

import pytest
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.validation import field_problems
from orchestrator.json_schema.validator import ANSWER_FORMATS, REQUEST_FORMATS


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("byte", ["", "aGk=", 5], ["a", "é", "aGk", "a b="]),
        ("int32", [0, -(2**31), 2**31 - 1, "x"], [2**31, -(2**31) - 1]),
        ("int64", [2**63 - 1, 1.5], [2**63]),
        ("float", [1, 1.5], []),
        ("double", [1, 1.5], []),
        ("binary", ["\x00é"], []),
        ("password", ["x"], []),
        ("date", ["2026-12-03"], ["3.12.2026", "2026-13-01"]),
        ("date-time", ["2026-12-03T09:00:00Z"], ["2026-12-03", "2026-12-03T09:00:00"]),
        ("time", ["09:30:00Z"], ["9.30"]),
        ("duration", ["PT1H30M", "P1Y2M3D", "P2W", "PT0.5S"], ["P", "PT", "1h", "P1DT"]),
        ("email", ["a@b.c"], ["nobody"]),
        ("uuid", ["3f2504e0-4f89-11d3-9a0c-0305e82c3301"], ["3f25"]),
        ("uri", ["https://a.b/c?d#e", "urn:x:y", "mailto:a@b.c"], ["a.b/c", "/x", "http://a b"]),
        ("ipv4", ["10.0.0.1"], ["10.0.0"]),
        ("ipv6", ["::1"], ["10.0.0.1"]),
        ("of-our-own", ["anything"], []),
    ],
)
def test_formats_of_requests(name: str, good: list[JsonValue], bad: list[JsonValue]) -> None:
    """Values of other types than the format speaks of pass it by."""
    assert [value for value in good if not REQUEST_FORMATS.conforms(value, name)] == []
    assert [value for value in bad if REQUEST_FORMATS.conforms(value, name)] == []


def test_a_link_in_an_answer_may_be_relative() -> None:
    """An order that was made must not seem unclear for it."""
    assert ANSWER_FORMATS.conforms("/orders/1", "uri")
    assert not ANSWER_FORMATS.conforms("3.12.2026", "date")


FIELDS: dict[str, JsonObject] = {
    "day": {"type": "string", "format": "date"},
    "guests": {"type": "integer", "minimum": 1},
}


def test_values_that_fit_have_no_problems() -> None:
    """Each by its own schema; a handle stands for a value that is checked later."""
    assert field_problems(FIELDS, {"day": "2026-12-03", "guests": 2}) == ()
    assert field_problems(FIELDS, {"day": "pii:birthday", "guests": 2}) == ()


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({"day": "soon", "guests": 2}, ("day must be a date like 2026-12-03",)),
        ({"day": "2026-12-03", "guests": 0}, ("guests must be at least 1",)),
        ({"day": "2026-12-03", "guests": "two"}, ("guests must be an integer",)),
        ({"day": "2026-12-03"}, ("answer with day, guests", "missing: guests")),
        (
            {"day": "2026-12-03", "guests": 2, "emial": "a@x"},
            ("answer with day, guests", "not asked for: emial"),
        ),
    ],
)
def test_a_problem_names_the_field_and_no_value(
    values: JsonObject, problems: tuple[str, ...]
) -> None:
    """The sender knows what was sent; the text may end up in a log."""
    assert field_problems(FIELDS, values) == problems


def test_what_is_wrong_inside_of_a_value_is_placed() -> None:
    """A list or an object is named with the step into it."""
    fields: dict[str, JsonObject] = {"seats": {"type": "array", "items": {"type": "integer"}}}

    assert field_problems(fields, {"seats": [1, "x"]}) == ("seats: [1] must be an integer",)


def test_a_schema_that_cannot_be_evaluated_refuses_nothing() -> None:
    """The call that the answer is for is checked anyway, and says whose fault it is."""
    fields: dict[str, JsonObject] = {"seat": {"type": "string", "pattern": "("}}

    assert field_problems(fields, {"seat": "12A"}) == ()
