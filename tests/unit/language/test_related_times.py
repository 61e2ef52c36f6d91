"""Times of day that are said by others."""

from datetime import UTC, datetime

import pytest

from orchestrator.language.slots import read_slots

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


def times(text: str, before: str = "") -> list[tuple[str, str | None]]:
    """Each time as written, with its value."""
    return [
        (slot.text, str(slot.value) if slot.value else None)
        for slot in read_slots(text, now=NOON, before=before)
        if slot.kind == "time"
    ]


@pytest.mark.parametrize(
    ("before", "text", "found"),
    [
        ("Book a table at 8 pm and ", "remind me an hour before", [("an hour before", "19:00")]),
        (
            "Book a table at 8 pm, ",
            "schedule drinks half an hour earlier",
            [("half an hour earlier", "19:30")],
        ),
        ("Lunch at noon, ", "a call three hours later", [("three hours later", "15:00")]),
        (
            "Book dinner at 8 pm. ",
            "Remind me 90 minutes before dinner",
            [("90 minutes before dinner", "18:30")],
        ),
        (
            "Book a table at 8 pm and ",
            "remind me an hour before that",
            [("an hour before that", "19:00")],
        ),
        ("", "at 9 am, and an hour later", [("9 am", "09:00"), ("an hour later", "10:00")]),
        (
            "",
            "an hour before the meeting at 3 pm",
            [("an hour before the meeting at 3 pm", "14:00")],
        ),
        ("", "remind me in two hours to stretch", [("in two hours", "14:00")]),
        ("", "remind me in half an hour", [("in half an hour", "12:30")]),
        ("", "ten minutes from now", [("ten minutes from now", "12:10")]),
    ],
)
def test_what_is_counted_from_a_time_that_is_said(
    before: str, text: str, found: list[tuple[str, str | None]]
) -> None:
    """From the one that stands before it, or that is of the thing it names."""
    own = [f for f in times(text, before) if f[0] in dict(found)]
    assert own == found


@pytest.mark.parametrize(
    ("before", "text", "said"),
    [
        (
            "Book a flight on 4 December and ",
            "remind me an hour before the flight to pack",
            "an hour before the flight",
        ),
        ("Book a flight on 4 December and ", "remind me an hour before", "an hour before"),
        ("Add a review from 4 pm to 6 pm and ", "drinks an hour later", "an hour later"),
        ("Add a review at 4 pm for an hour and ", "drinks an hour later", "an hour later"),
        (
            "Add lunch at noon, dinner at 8 pm. ",
            "Call Bo an hour before the movie",
            "an hour before the movie",
        ),
        (
            "Book a table at 8 pm and ",
            "remind me an hour before we leave",
            "an hour before we leave",
        ),
        ("Add a party at 11 pm and ", "drinks two hours later", "two hours later"),
        ("", "remind me an hour before my flight on Friday at 9 am", "an hour before my flight"),
        ("", "remind me in 13 hours to sleep", "in 13 hours"),
    ],
)
def test_what_nothing_tells_is_still_a_time(before: str, text: str, said: str) -> None:
    """It is asked about, and is no part of what is told or made."""
    assert (said, None) in times(text, before)


@pytest.mark.parametrize(
    "text",
    [
        "a car for two hours before noon",
        "for three hours",
        "in two hours of work",
        "an hour later than planned",
    ],
)
def test_a_length_is_no_time(text: str) -> None:
    """Nothing is counted from anything there."""
    assert [found for found in times(text) if "hour" in found[0]] == []
