"""Whether an answer says what a condition is about."""

import pytest
from pydantic import JsonValue

from orchestrator.saga.judged import is_about, says

DAY = ("2026-12-04",)


@pytest.mark.parametrize(
    ("body", "so"),
    [
        ({"text": "Rain on and off"}, True),
        ({"text": "raining all day"}, True),
        ({"text": "Sunny all day."}, False),
        ({"text": "No rain is expected"}, False),
        ({"rain": True, "text": "wet"}, True),
        ({"rain": False}, False),
        ({"rain_mm": 0}, False),
        ([], False),
        (None, False),
        (
            [
                {"date": "2026-12-03", "text": "rain"},
                {"date": "2026-12-04", "text": "sunny"},
            ],
            False,
        ),
        ([{"text": "sunny"}, {"text": "heavy rain"}], True),
    ],
)
def test_an_answer_says_it_in_its_words(body: JsonValue, so: bool) -> None:
    """Or by the name of what is true; of several days those count that were ordered."""
    assert says(body, ("rain",), DAY) is so


def test_an_answer_about_another_day_is_none() -> None:
    """Of one that names no day, nobody knows better."""
    assert is_about({"date": "2026-12-04"}, {}, DAY)
    assert is_about({"city": "Oslo"}, {"text": "sunny"}, DAY)
    assert is_about({"date": "2026-12-05"}, {}, ())
    assert not is_about({"date": "2026-12-05"}, {"text": "sunny"}, DAY)
