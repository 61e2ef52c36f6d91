"""What a field of a thing is to become."""

import pytest

from orchestrator.language.changes_said import change_said


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("Rename the playlist Road trip to Coast drive", "", "Coast drive"),
        ("rename booking 700 as 'Board'", "", "Board"),
        (
            'Change the description of Dinner jazz to "slow evenings"',
            "description",
            "slow evenings",
        ),
        ("Set the volume to 40 percent", "volume", "40 percent"),
        ("Update Bo Larsen's phone to +4512345678.", "phone", "+4512345678"),
    ],
)
def test_a_change_is_read_with_its_field(text: str, field: str, value: str) -> None:
    found = change_said(text)

    assert found is not None
    assert (found.field, found.value) == (field, value)
    assert value in text[found.start : found.end]


@pytest.mark.parametrize(
    "text",
    [
        "Change the date of the meeting to Friday",
        "Move the meeting to 15:00",
        "Set a reminder to call Bo",
        "Change my flight to Rome",
        "Send the description of Dinner jazz to Bo",
        "Set the limit of Food to 40 EUR",
    ],
)
def test_a_day_an_amount_or_another_deed_is_no_such_change(text: str) -> None:
    assert change_said(text) is None
