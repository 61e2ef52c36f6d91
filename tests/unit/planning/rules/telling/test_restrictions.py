"""What a request says of which things it means, and the call could not be told."""

from datetime import UTC, datetime

import pytest

from orchestrator.catalog.tool import Tool
from orchestrator.core.record import JsonObject
from orchestrator.planning.rules.telling import tell
from orchestrator.planning.rules.utterance import read_utterance

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
DATE: JsonObject = {"type": "string", "format": "date"}
PRICE: JsonObject = {
    "type": "object",
    "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
}
TALK: JsonObject = {"title": {}, "start_date": DATE, "time": {}, "price": PRICE}
TALKS = Tool(
    name="talk_list_talks",
    document="talks",
    domain="talks",
    summary="List talks.",
    input_schema={"type": "object", "properties": {"start_date": DATE}},
    output_schema={
        "type": "object",
        "properties": {"talks": {"type": "array", "items": {"type": "object", "properties": TALK}}},
    },
)
BODY: JsonObject = {
    "talks": [
        {
            "title": title,
            "start_date": day,
            "time": time,
            "price": {"amount": price, "currency": "EUR"},
        }
        for title, day, time, price in (
            ("Bees", "2026-11-24", "10:00", 5.0),
            ("Kites", "2026-11-24", "16:30", 20.0),
            ("Salt", "2026-12-08", "09:00", 9.0),
        )
    ]
}


def said(goal: str, arguments: JsonObject | None = None, body: JsonObject = BODY) -> str:
    return tell(TALKS, arguments or {}, body, read_utterance(goal, now=NOW)).sentence


@pytest.mark.parametrize(
    ("goal", "starts"),
    [
        ("which talks are this week?", "3 talks, 2 of them 'this week': Bees"),
        ("which talks are after 2 pm?", "3 talks, 1 of them 'after 2 pm': Kites"),
        (
            "which talks are between 2 and 5 pm?",
            "3 talks, 1 of them 'between 2 and 5 pm': Kites",
        ),
        ("which talks are in the morning?", "3 talks, 2 of them 'morning': Bees"),
        ("which talks cost less than 10 EUR?", "3 talks, 2 of them 'at most 10 EUR': Bees"),
        ("which talks are before 2026-12-01?", "3 talks, 2 of them 'before 2026-12-01': Bees"),
    ],
)
def test_what_no_argument_carried_is_held_against_what_was_found(goal: str, starts: str) -> None:
    """Weeks, hours, parts of the day, bounds on a price."""
    assert said(goal).startswith(starts)


def test_what_a_call_answers_beside_the_day_that_it_was_for_is_told_apart() -> None:
    """A first day bounds from below only: what comes later is not of that day."""
    told = said("which talks are on 2026-11-24?", {"start_date": "2026-11-24"})

    assert told.startswith("3 talks from 24 November, 2 of them on 24 November: Bees")


def test_what_nothing_that_was_found_tells_is_named() -> None:
    """Silence would say that all of them are meant."""
    bare: JsonObject = {"talks": [{"title": "Bees"}, {"title": "Salt"}]}

    assert said("which talks are after 2 pm?", body=bare).endswith(
        "Nothing here tells which are 'after 2 pm'."
    )


@pytest.mark.parametrize(
    ("goal", "left"),
    [
        ("list talks with slides", " Nothing here speaks of 'slides'."),
        ("find a dentist appointment", " Nothing here speaks of 'dentist appointment'."),
        ("list talks with a title", ""),
    ],
)
def test_what_neither_the_tool_nor_its_answer_speaks_of_is_named(goal: str, left: str) -> None:
    """What a thing is to have, and what is looked for at all."""
    told = said(goal)

    assert told.endswith(left) if left else "speaks of" not in told


COURSES = Tool(
    name="course_list_courses",
    document="courses",
    domain="courses",
    summary="List courses.",
    input_schema={"type": "object", "properties": {}},
    output_schema={
        "type": "object",
        "properties": {
            "courses": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "course_name": {},
                        "weekday": {"enum": ["monday", "saturday"]},
                        "course_state": {"enum": ["open", "full", "cancelled"]},
                        "has_paid": {"type": "boolean"},
                        "seats": {"type": "integer"},
                        "fee": PRICE,
                    },
                },
            }
        },
    },
)


def course(name: str, weekday: str, state: str, paid: bool, seats: int, fee: float) -> JsonObject:
    return {
        "course_name": name,
        "weekday": weekday,
        "course_state": state,
        "has_paid": paid,
        "seats": seats,
        "fee": {"amount": fee, "currency": "EUR"},
    }


THREE: JsonObject = {
    "courses": [
        course("Swimming for adults", "monday", "full", True, 7, 95.0),
        course("Judo", "saturday", "open", False, 9, 70.0),
        course("Yoga", "saturday", "open", False, 3, 110.0),
    ]
}


@pytest.mark.parametrize(
    ("goal", "starts"),
    [
        ("is there a swimming course", "3 courses, 1 of them 'swimming': Swimming for adults"),
        ("which course seats 7", "3 courses, 1 of them 'seats 7': seats 7, Swimming for"),
        (
            "courses with more than 7 seats",
            "3 courses, 1 of them 'more than 7 seats': seats 9, Judo",
        ),
        ("courses with at least 7 seats", "3 courses, 2 of them 'at least 7 seats': Swimming"),
        ("which courses are not full", "3 courses, 2 of them not full: Judo"),
        ("which courses have not been paid yet", "3 courses, 2 of them not paid: Judo"),
        ("which courses aren't full", "3 courses, 2 of them not full: Judo"),
        ("courses on saturday", "3 courses, 2 of them 'saturday': Judo"),
        ("what is the most expensive course", "The most expensive of 3 courses: Yoga"),
        ("which course has the most seats", "The most seats of 3 courses: seats 9, Judo"),
        ("which course has the fewest seats", "The fewest seats of 3 courses: seats 3, Yoga"),
    ],
)
def test_every_word_that_could_narrow_an_answer_is_held_against_it(goal: str, starts: str) -> None:
    """A word, a number beside the name of a field, a denial, a superlative of any number."""
    told = tell(COURSES, {}, THREE, read_utterance(goal, now=NOW)).sentence

    assert told.startswith(starts)
    assert "Nothing here" not in told


@pytest.mark.parametrize(
    ("goal", "left"),
    [
        ("is there a course for dancing", " Nothing here speaks of 'dancing'."),
        ("courses with 4 stars", " Nothing here tells which are '4 stars'."),
        ("which is the newest course", " Nothing here tells which of them is the 'newest'."),
        ("what do the courses cost in total", " Together they come to 275.00 EUR."),
        ("show me all the courses please", "Yoga, saturday, 110.00 EUR."),
    ],
)
def test_what_could_not_be_held_against_an_answer_is_named(goal: str, left: str) -> None:
    """So that nobody takes the whole for what was asked for."""
    assert tell(COURSES, {}, THREE, read_utterance(goal, now=NOW)).sentence.endswith(left)


def test_days_that_were_not_looked_up_are_named() -> None:
    """That none of what was found is on another day tells nothing of that day."""
    told = said("talks between 24 and 26 November", {"start_date": "2026-11-24"})

    assert told.endswith(" Not looked up: 26 November.")
    assert "none of them on 26 November" not in told
