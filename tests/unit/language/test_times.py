"""Times of day, and what they may mean."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.language.slots import find_slots, read_slots
from orchestrator.language.times import find_time_phrases


def times(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each time as written, with its readings."""
    return [
        (slot.text, slot.readings or (str(slot.value),))
        for slot in read_slots(text, now=None)
        if slot.kind == "time"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("at 19:30", [("19:30", ("19:30",))]),
        ("at 8:00", [("8:00", ("08:00",))]),
        ("on 4 December at 14:30: call the bank", [("14:30", ("14:30",))]),
        ("at 9 am: lunch is ready", [("9 am", ("09:00",))]),
        ("dinner at 8:00", [("8:00", ("20:00",))]),
        ("8 pm", [("8 pm", ("20:00",))]),
        ("12 am", [("12 am", ("00:00",))]),
        ("at noon", [("noon", ("12:00",))]),
        ("at 20 on Friday", [("20", ("20:00",))]),
        ("at 12", [("12", ("12:00",))]),
        ("at 8 and at 18", [("8", ("08:00",)), ("18", ("18:00",))]),
        ("19h30", [("19h30", ("19:30",))]),
        ("eight pm", [("eight pm", ("20:00",))]),
        ("in the evening at 8", [("8", ("20:00",))]),
        ("at eight in the evening", [("eight", ("20:00",))]),
        ("quarter to nine in the morning", [("quarter to nine", ("08:45",))]),
        ("26 November, 6 in the evening", [("6", ("18:00",))]),
        ("a table for 2 in the evening", []),
        ("lunch at 1", [("1", ("13:00",))]),
        ("tonight at 9", [("9", ("21:00",))]),
        ("two hours before 18:00", [("two hours before 18:00", ("16:00",))]),
        ("half an hour after noon", [("half an hour after noon", ("12:30",))]),
        ("an hour and a half before 8 pm", [("an hour and a half before 8 pm", ("18:30",))]),
        ("for two hours before 5 pm", [("5 pm", ("17:00",))]),
        ("at night at 2", [("2", ("02:00",))]),
        ("Breakfast at 9 and dinner at 8", [("9", ("09:00",)), ("8", ("20:00",))]),
        ("from 2 to 4 pm", [("2", ("14:00",)), ("4 pm", ("16:00",))]),
        ("from 10 to 2 pm", [("10", ("10:00",)), ("2 pm", ("14:00",))]),
        ("between 9 and 11 am", [("9", ("09:00",)), ("11 am", ("11:00",))]),
        ("no later than noon", [("no later than noon", ("12:00",))]),
        ("earlier than 14:30", [("earlier than 14:30", ("14:30",))]),
        ("not before 9 in the evening", [("not before 9", ("21:00",))]),
        ("tonight at midnight", [("midnight", ("23:59",))]),
        ("until midnight", [("midnight", ("23:59",))]),
        ("at 19:00 at the earliest", [("19:00 at the earliest", ("19:00",))]),
    ],
)
def test_times_that_are_told(text: str, found: list[tuple[str, tuple[str, ...]]]) -> None:
    """By the clock, by am and pm, or by a word for a part of the day."""
    assert times(text) == found


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("not before 20:00", "after"),
        ("no earlier than 8 pm", "after"),
        ("later than 15:00", "after"),
        ("at 8 at the earliest", "after"),
        ("19:00 or later", "after"),
        ("no later than noon", "by"),
        ("not after 6 pm", "by"),
        ("at 14:00 at the latest", "by"),
        ("at 14:00, and the latest flight", None),
        ("not at noon", None),
    ],
)
def test_the_earliest_and_the_latest_time(text: str, bound: str | None) -> None:
    """By the words before a time, or behind it; of "no later than" the "no" belongs to it."""
    assert [phrase.bound for phrase in find_time_phrases(text)] == [bound]


def test_an_hour_that_is_moved_out_of_its_day_is_not_told() -> None:
    """Before the midnight on Friday it may be either day."""
    (phrase,) = find_time_phrases("an hour before midnight on Friday")

    assert phrase.readings == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("at 8 tomorrow", [("8", ("08:00", "20:00"))]),
        ("at half past seven", [("half past seven", ("07:30", "19:30"))]),
        ("quarter to nine", [("quarter to nine", ("08:45", "20:45"))]),
        ("8 o'clock", [("8 o'clock", ("08:00", "20:00"))]),
        ("at 7.30", [("7.30", ("07:30", "19:30"))]),
        (
            "from 2 to half past three",
            [("2", ("02:00", "14:00")), ("half past three", ("03:30", "15:30"))],
        ),
        ("on Friday at midnight", [("midnight", ("00:00", "23:59"))]),
        ("from 9 to 5", [("9", ("09:00", "21:00")), ("5", ("05:00", "17:00"))]),
    ],
)
def test_times_that_may_mean_two(text: str, found: list[tuple[str, tuple[str, ...]]]) -> None:
    """Both are kept, and neither is a value."""
    assert times(text) == found
    assert not [slot for slot in find_slots(text, now=None) if slot.kind == "time"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tomorrow at 9 am EST", ["9 am EST"]),
        ("at 19:30 (UTC+2) on Friday", ["19:30 (UTC+2)"]),
        ("at 3 pm New York time", ["3 pm New York time"]),
        ("from 15:00 to 16:00 CET", ["15:00", "16:00 CET"]),
    ],
)
def test_the_hour_of_another_clock_is_not_told(text: str, said: list[str]) -> None:
    """It is not the requester's hour of that name."""
    slots = [slot for slot in read_slots(text, now=None) if slot.kind == "time"]

    assert [(slot.text, slot.value, slot.readings) for slot in slots] == [
        (one, None, ()) for one in said
    ]


@pytest.mark.parametrize("text", ["at 9 am Time Square", "at 9:00 IN the hall", "at 9:00 my time"])
def test_what_follows_an_hour_is_seldom_its_clock(text: str) -> None:
    """Words with capitals, and one's own time."""
    (slot,) = [slot for slot in read_slots(text, now=None) if slot.kind == "time"]

    assert slot.value == "09:00"


@pytest.mark.parametrize(
    "text",
    ["at 8 Main Street", "at 8 EUR", "from 3 to 6 people", "ten to 12 people", "at 100", "for 8"],
)
def test_other_numbers_are_no_times(text: str) -> None:
    """What counts or numbers something."""
    assert times(text) == []


@given(st.text(alphabet="at8 1230:.pmfohalfsevnquri'clck-", max_size=40))
def test_any_text_can_be_searched(text: str) -> None:
    """None makes it raise, every reading is a time, and values never overlap."""
    slots = read_slots(text, now=None)

    assert all(a.position + len(a.text) <= b.position for a, b in pairwise(slots))
    assert all(r[:2] < "24" and r[3:] < "60" for _, found in times(text) for r in found)
