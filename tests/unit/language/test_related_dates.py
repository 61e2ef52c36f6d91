"""Days that are said by other days."""

from datetime import datetime

import pytest

from orchestrator.language.dates import find_date_phrases

NOW = datetime(2026, 11, 23, 10)


def days(text: str, before: str = "") -> list[tuple[str, str]]:
    """Each phrase as written with its day; "" where it is not told."""
    return [
        (text[p.start : p.end], p.day.isoformat() if p.day else "")
        for p in find_date_phrases(text, now=NOW, before=before)
    ]


@pytest.mark.parametrize(
    ("text", "phrase", "day"),
    [
        ("a flight on 5 December and a hotel the day before", "the day before", "2026-12-04"),
        ("on 5 December and the following day", "the following day", "2026-12-06"),
        ("out on 5 December, returning three days later", "three days later", "2026-12-08"),
        ("a flight on 5 December and a table that day", "that day", "2026-12-05"),
        ("the day after 5 December", "the day after 5 December", "2026-12-06"),
        ("on 5 December, and a car for the day after I land", "the day after", "2026-12-06"),
        ("two days before 5 December", "two days before 5 December", "2026-12-03"),
        ("a week from today", "a week from today", "2026-11-30"),
        ("five days from today", "five days from today", "2026-11-28"),
        ("a week today", "a week today", "2026-11-30"),
        ("two weeks tomorrow", "two weeks tomorrow", "2026-12-08"),
        ("a week from tomorrow", "a week from tomorrow", "2026-12-01"),
        ("the Friday after 5 December", "the Friday after 5 December", "2026-12-11"),
        (
            "a meeting on 5 December and a flight the day before the meeting",
            "the day before the meeting",
            "2026-12-04",
        ),
        (
            "the night before my flight to Rome on 5 December",
            "the night before my flight",
            "2026-12-04",
        ),
        ("the last Friday of January", "the last Friday of January", "2027-01-29"),
        ("the first Monday in December", "the first Monday in December", "2026-12-07"),
        ("the second Tuesday of next month", "the second Tuesday of next month", "2026-12-08"),
        ("the last day of the month", "the last day of the month", "2026-11-30"),
        ("Friday next week", "Friday next week", "2026-12-04"),
        ("next week on Friday", "next week on Friday", "2026-12-04"),
        ("Friday week", "Friday week", "2026-12-04"),
        ("the Friday after next", "the Friday after next", "2026-12-04"),
        ("in a fortnight", "in a fortnight", "2026-12-07"),
        ("Friday the 4th of December", "Friday the 4th of December", "2026-12-04"),
    ],
)
def test_days_that_are_told(text: str, phrase: str, day: str) -> None:
    """By what the text says of the day that they are counted from."""
    assert (phrase, day) in days(text)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("a hotel the day before", "the day before"),
        ("a hotel the day before the meeting", "the day before the meeting"),
        ("from 5 to 8 December, and a hotel the day before", "the day before"),
        ("a week later", "a week later"),
        ("next week", "next week"),
        ("Tuesday in January", "Tuesday in January"),
        ("Thursday of the second week of December", "Thursday of the second week of December"),
        ("Friday in two weeks", "Friday in two weeks"),
        ("in the first week of December, Tuesday", "in the first week of December, Tuesday"),
        ("Friday of the week after next", "Friday of the week after next"),
        ("in January", "in January"),
        ("at the end of the month", "at the end of the month"),
        ("this weekend", "this weekend"),
        ("on Friday the 5th of December", "Friday the 5th of December"),
    ],
)
def test_days_that_are_not(text: str, phrase: str) -> None:
    """What they are counted from is not said, or they are several: they are seen, without a day."""
    assert (phrase, "") in days(text)


def test_what_was_said_before_tells() -> None:
    """The day of another clause of the same goal."""
    said = "Book a flight to Rome on 5 December and "

    assert days("a hotel the day before", said) == [("the day before", "2026-12-04")]
    assert days("a call the day before the flight", said)[0][1] == "2026-12-04"
    assert days("a call the day before the party", said)[0][1] == ""


def test_a_weekend_has_two_days() -> None:
    """Either may be meant."""
    (phrase,) = find_date_phrases("the last weekend of January", now=NOW)

    assert [day.isoformat() for day in phrase.readings] == ["2027-01-30", "2027-01-31"]


def test_a_stay_begins_on_its_day() -> None:
    """Three nights from a day are how long, and not when."""
    assert days("for 3 nights from 5 December") == [("5 December", "2026-12-05")]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("on 21 November", ["2026-11-21", "2027-11-21"]),
        ("on 21 November 2027", []),
        ("on 21 March", []),
        ("on 24 November", []),
    ],
)
def test_a_day_that_has_just_gone_by_may_be_that_of_either_year(
    text: str, readings: list[str]
) -> None:
    """A year ahead is not what who says "the 21st" two days later means for sure."""
    (phrase,) = find_date_phrases(text, now=NOW)

    assert [day.isoformat() for day in phrase.readings] == readings


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("a car for the two days after 4 December", ["2026-12-05", "2026-12-06"]),
        ("the 2 days before 5 December", ["2026-12-03", "2026-12-04"]),
        ("a room for two nights after 7 December", ["2026-12-08", "2026-12-09"]),
    ],
)
def test_several_days_beside_another_are_no_single_one(text: str, readings: list[str]) -> None:
    """Each of them may be the one that is meant, and none is guessed."""
    (phrase,) = find_date_phrases(text, now=NOW)

    assert phrase.day is None
    assert [day.isoformat() for day in phrase.readings] == readings


@pytest.mark.parametrize(
    "text", ["an event lasting three days from 7 December", "a car for three days from 7 December"]
)
def test_how_long_something_lasts_moves_no_day(text: str) -> None:
    """It begins on the day that is said."""
    assert days(text) == [("7 December", "2026-12-07")]


def test_how_often_something_is_to_be_counts_from_no_day() -> None:
    """The box comes every two weeks, the first on the day that is said."""
    assert days("a box every two weeks from 3 December") == [("3 December", "2026-12-03")]
