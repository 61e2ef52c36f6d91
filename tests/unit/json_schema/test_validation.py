"""What counts as an answer to a question."""

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.json_schema.validation import field_problems

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
