"""Date phrases and the days they mean."""

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.dates import find_date_phrases


def found(text: str, now: datetime | None) -> list[tuple[str, str | None]]:
    """Each phrase as written with its day."""
    return [
        (text[p.start : p.end], p.day.isoformat() if p.day else None)
        for p in find_date_phrases(text, now=now)
    ]


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("on 2026-12-03, back 2026-12-06", [("2026-12-03", "2026-12-03"), ("2026-12-06",) * 2]),
        ("12.-14. December", [("12.", "2026-12-12"), ("14. December", "2026-12-14")]),
        ("on 12. December", [("12. December", "2026-12-12")]),
        ("tomorrow", [("tomorrow", "2026-11-22")]),
        ("the day after tomorrow", [("the day after tomorrow", "2026-11-23")]),
        ("next friday", [("next friday", "2026-11-27")]),
        ("on Friday", [("Friday", "2026-11-27")]),
        ("Sunday to Wednesday", [("Sunday", "2026-11-22"), ("Wednesday", "2026-11-25")]),
        ("Friday to Monday", [("Friday", "2026-11-27"), ("Monday", "2026-11-30")]),
        ("Friday and Monday", [("Friday", "2026-11-27"), ("Monday", "2026-11-23")]),
        ("last Friday", [("last Friday", "2026-11-20")]),
        ("this saturday", [("this saturday", "2026-11-21")]),
        ("3 December", [("3 December", "2026-12-03")]),
        ("Dec 3rd, 2027", [("Dec 3rd, 2027", "2027-12-03")]),
        ("in two weeks", [("in two weeks", "2026-12-05")]),
        ("from the 3rd to the 6th", [("the 3rd", "2026-12-03"), ("the 6th", "2026-12-06")]),
        ("the 28th to the 2nd", [("the 28th", "2026-11-28"), ("the 2nd", "2026-12-02")]),
        ("3-6 December 2027", [("3", "2027-12-03"), ("6 December 2027", "2027-12-06")]),
        ("December 3 to 6", [("December 3", "2026-12-03"), ("6", "2026-12-06")]),
    ],
)
def test_phrases_mean_days(text: str, phrases: list[tuple[str, str]], now: datetime) -> None:
    """Absolute, relative and open days; open ones are in the future."""
    assert found(text, now) == phrases


@pytest.mark.parametrize(
    "text", ["2026-13-45", "the 5th floor", "may I sit on the sun deck", "version 1.2.3 of it"]
)
def test_what_is_no_date_is_left_alone(text: str, now: datetime) -> None:
    """Impossible dates, ordinals that count something, words that only look like months."""
    assert found(text, now) == []


def test_without_now_only_full_dates_are_resolved() -> None:
    """A relative phrase is still seen, so that its words are not taken for something else."""
    assert found("tomorrow or 3 December 2027", None) == [
        ("tomorrow", None),
        ("3 December 2027", "2027-12-03"),
    ]


@given(st.text(alphabet="0123456789-/. thndTomarwMy", max_size=40))
def test_any_text_can_be_searched(text: str) -> None:
    """No text makes it raise, and phrases never overlap."""
    phrases = find_date_phrases(text, now=datetime(2026, 11, 21))

    assert all(a.end <= b.start for a, b in pairwise(phrases))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("a room for two nights from the 4th for one guest", date(2026, 12, 4)),
        ("a room until the 7th for 2", date(2026, 12, 7)),
        ("on New Year\u2019s Eve", date(2026, 12, 31)),
        ("on Christmas Eve", date(2026, 12, 24)),
        ("the day before Christmas Eve", date(2026, 12, 23)),
        ("a day before my flight on 5 December", date(2026, 12, 4)),
        ("the week before my trip on the 8th to Rome", date(2026, 12, 1)),
    ],
)
def test_a_day_that_other_words_follow(text: str, day: date) -> None:
    """Of each year, of a month that is not said, or of what a day is counted from."""
    now = datetime(2026, 11, 24, 12, tzinfo=UTC)

    assert [phrase.day for phrase in find_date_phrases(text, now=now)] == [day]


@pytest.mark.parametrize("text", ["on the 2nd floor", "the 1st with a view", "christmas biscuits"])
def test_an_ordinal_is_no_day(text: str) -> None:
    """Where it counts something."""
    assert find_date_phrases(text, now=datetime(2026, 11, 24, tzinfo=UTC)) == []
