"""One request for several things, and what goes on without a verb of its own."""

import pytest

from orchestrator.language.coordination import coordinated, goal_without
from orchestrator.language.ellipsis import continued


@pytest.mark.parametrize(
    ("text", "requests"),
    [
        (
            "Send a message to Ana, Bo and Cy saying lunch is at 12:00",
            [f"Send a message to {who} saying lunch is at 12:00" for who in ("Ana", "Bo", "Cy")],
        ),
        (
            "Reserve tables in Porto and in Lisbon on 5 December at 19:00 for two",
            [f"Reserve tables in {p} on 5 December at 19:00 for two" for p in ("Porto", "Lisbon")],
        ),
        (
            "Create events for 3 and 4 December called Sprint",
            [f"Create events for {day} December called Sprint" for day in (3, 4)],
        ),
        (
            "Reserve a table at Roma on 5 December at 19:00 and at 21:00",
            [f"Reserve a table at Roma on 5 December at {t}" for t in ("19:00", "21:00")],
        ),
        ("Is it colder in Oslo or in Rome", ["Is it colder in Oslo", "Is it colder in Rome"]),
        ("Trains to Rome or Milan", ["Trains to Rome", "Trains to Milan"]),
        ("Pay Anna 20 EUR and Bob 30 EUR", ["Pay Anna 20 EUR", "Pay Bob 30 EUR"]),
        (
            "Reserve a locker on Monday in Lisbon and on Tuesday in Porto",
            ["Reserve a locker on Monday in Lisbon", "Reserve a locker on Tuesday in Porto"],
        ),
        ("Delete a.txt, b.txt and c.txt", ["Delete a.txt", "Delete b.txt", "Delete c.txt"]),
        (
            "Share a.pdf with ann@example.com and bob@example.com",
            ["Share a.pdf with ann@example.com", "Share a.pdf with bob@example.com"],
        ),
        (
            "Email bob, ana and carl that lunch is ready",
            [f"Email {who} that lunch is ready" for who in ("bob", "ana", "carl")],
        ),
        (
            "Tell the general and random channels that we are live",
            [f"Tell the {name} channel that we are live" for name in ("general", "random")],
        ),
        (
            "Share the budget and the pitch deck with ann@example.com",
            [f"Share the {f} with ann@example.com" for f in ("budget", "pitch deck")],
        ),
        ("delete my notes and the old plan", ["delete my notes", "delete the old plan"]),
        (
            "pay the open and overdue invoices",
            ["pay the open invoices", "pay the overdue invoices"],
        ),
        (
            "Reserve a locker in each of Rome, Milan and Turin",
            [f"Reserve a locker in {c}" for c in ("Rome", "Milan", "Turin")],
        ),
        (
            "Book a locker in Rome and a locker in Milan, both for 2 December",
            [f"Book a locker in {c} for 2 December" for c in ("Rome", "Milan")],
        ),
        (
            "Book two lockers in Porto, one for me and one for Jana",
            ["Book a locker in Porto for me", "Book a locker in Porto for Jana"],
        ),
        (
            "Book three lockers, one in Rome and two in Faro at 20:00",
            [f"Book a locker in {c} at 20:00" for c in ("Rome", "Faro", "Faro")],
        ),
        (
            "What is the weather in Oslo and Rome",
            [f"What is the weather in {c}" for c in ("Oslo", "Rome")],
        ),
    ],
)
def test_a_list_is_one_request_for_each(text: str, requests: list[str]) -> None:
    """Names, places, days, hours, ids, and groups of them that go together."""
    found = coordinated(text)

    assert found is not None
    assert list(found.clauses) == requests


@pytest.mark.parametrize(
    ("text", "requests"),
    [
        (
            "Reserve a table in Lisbon on 5 December and one in Porto",
            ["Reserve a table in Lisbon on 5 December", "Reserve a table in Porto on 5 December"],
        ),
        (
            "Reserve a table for two in Lisbon on Monday at 19:00 and another one for Thursday",
            [f"Reserve a table for two in Lisbon on {d} at 19:00" for d in ("Monday", "Thursday")],
        ),
        (
            "Book a flight from Berlin to Rome on Friday, and another on Monday back",
            [
                "Book a flight from Berlin to Rome on Friday",
                "Book a flight from Rome to Berlin on Monday",
            ],
        ),
        (
            "I need a flight to Rome from Berlin on Friday and one back on Monday",
            [
                "I need a flight to Rome from Berlin on Friday",
                "I need a flight to Berlin from Rome on Monday",
            ],
        ),
        (
            "Book a flight to Rome on Friday and another back on Monday",
            ["Book a flight to Rome on Friday", "Book a flight from Rome on Monday"],
        ),
        (
            "Book a table in Rome on 5 December at 8 pm and one the day after at 9 pm",
            [
                "Book a table in Rome on 5 December at 8 pm",
                "Book a table in Rome the day after at 9 pm",
            ],
        ),
        (
            "Schedule a review on 5 December at 10:00 and another one two days later at 11:00",
            [
                "Schedule a review on 5 December at 10:00",
                "Schedule a review two days later at 11:00",
            ],
        ),
        (
            "Send a message to Ana and the same to Bo",
            [f"Send a message to {w}" for w in ("Ana", "Bo")],
        ),
        (
            "Book a locker in Rome on 3 December, and the same for Jana in Faro",
            ["Book a locker in Rome on 3 December", "Book a locker in Faro on 3 December for Jana"],
        ),
        (
            "What is the weather in Oslo on Monday, and the same for Rome",
            [f"What is the weather in {c} on Monday" for c in ("Oslo", "Rome")],
        ),
        (
            "Book a flight to Rome and one to Oslo on 3 December from Berlin",
            [f"Book a flight to {p} on 3 December from Berlin" for p in ("Rome", "Oslo")],
        ),
        (
            "Book two rooms in Lisbon and one in Porto",
            ["Book two rooms in Lisbon", "Book a room in Porto"],
        ),
        (
            "Reserve a table in Lisbon and two in Porto",
            ["Reserve a table in Lisbon", *["Reserve a table in Porto"] * 2],
        ),
        (
            "Book a hotel in Lisbon from 2026-12-03, and one in Porto from 2026-12-06",
            ["Book a hotel in Lisbon from 2026-12-03", "Book a hotel in Porto from 2026-12-06"],
        ),
    ],
)
def test_a_further_one_needs_no_verb_of_its_own(text: str, requests: list[str]) -> None:
    """It differs by what it says; all else is as the first one says."""
    found = coordinated(text)

    assert found is not None
    assert list(found.clauses) == requests


@pytest.mark.parametrize(
    "text",
    [
        "Book a room in Lisbon, Portugal",
        "Book a table for Ann and Bob in Rome",
        "Add an event with Ann and Bob in Lisbon",
        "Tell Ana that Bo and Cy are late",
        "Reserve a table for two, one of them a child",
        "Book a flight from Berlin to Lisbon on 3 December returning on 6 December",
        "Book a hotel between Monday and Thursday",
        "Reserve a table in Lisbon unless it rains in Lisbon and Porto",
        "Create an event called Ann and Bob",
        "Book a room in Lisbon or in Porto",
        "File the flight and the hotel",
        "Share budget and pitch deck with ann@example.com",
    ],
)
def test_what_belongs_together_is_one_request(text: str) -> None:
    """Company, what is told, a stretch, a condition, a name: each is of one thing."""
    assert coordinated(text) is None


def test_two_days_without_more_may_be_a_stretch() -> None:
    """Said of several things, or with the preposition again, they are two."""
    texts = (
        "Add an event on 3 and 5 May",
        "Add events on 3 and 5 May",
        "Rent a car on 3 May and on 5 May",
    )

    assert [found.is_stretch for text in texts if (found := coordinated(text))] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("earlier", "clause", "whole"),
    [
        ("Message Ana that lunch is ready", "do the same for Bo", "Message Bo that lunch is ready"),
        ("Reserve a locker in Berlin", "then reserve one in Rome", "Reserve a locker in Rome"),
        ("Reserve a locker in Berlin", "do the same for Bo", "Reserve a locker in Berlin for Bo"),
        ("Find a flight to Rome", "book one to Oslo", ""),
        ("Reserve a locker in Berlin", "do it again", ""),
        ("Reserve a locker in Berlin", "book a hotel in Rome", ""),
    ],
)
def test_the_same_goes_on_about_the_clause_before(earlier: str, clause: str, whole: str) -> None:
    """Only with what tells the next one, and when the verb is of the same kind."""
    assert continued(earlier, clause) == whole


def test_one_of_several_is_left_out_with_its_clause() -> None:
    """What is said of another one is none of its surroundings."""
    goal = "Send a message to Ana and Bo, and reserve a table in Rome"

    assert goal_without(goal, "Send a message to Bo") == ("", ", and reserve a table in Rome")


@pytest.mark.parametrize(
    "text",
    [
        "email bob and ask him to call",
        "send flowers and cakes to my mother",
        "upload terms and conditions",
        "tell my team that bread and butter are out",
    ],
)
def test_plain_words_are_no_list_of_receivers(text: str) -> None:
    """Verbs, what is sent to somebody else, and what somebody is told."""
    assert coordinated(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Book a hotel in Rome, 12 to 14 December",
        "Book a hotel in Rome, 12th to 14th of December",
        "Book a table in Rome on Friday, 4 at most",
        "Reserve a table for 4 in Rome 12.12. 20:00",
    ],
)
def test_a_number_behind_a_pause_is_no_number_of_further_ones(text: str) -> None:
    """A part of a day is none, nor is what stands beside something that was not counted."""
    assert coordinated(text) is None


@pytest.mark.parametrize(
    ("clause", "each"),
    [
        (
            "Write to Ana that I am late and to Ben that I am not",
            ("Write to Ana that I am late", "Write to Ben that I am not"),
        ),
        (
            "Email ana@x.com that it is booked, and bo@x.com that it is not",
            ("Email ana@x.com that it is booked", "Email bo@x.com that it is not"),
        ),
        (
            "Let Ana know that I am late and Bo that I am ill",
            ("Let Ana know that I am late", "Let Bo know that I am ill"),
        ),
        (
            "Write to the team channel that I am in and to the travel channel that I am out",
            ("Write to the team channel that I am in", "Write to the travel channel that I am out"),
        ),
        (
            "Ask Ana to call the bank and Ben to pay the bill",
            ("Ask Ana to call the bank", "Ask Ben to pay the bill"),
        ),
    ],
)
def test_each_is_told_what_is_meant_for_them(clause: str, each: tuple[str, ...]) -> None:
    """And the first is not told what is for the second."""
    found = coordinated(clause)

    assert found is not None
    assert found.clauses == each


@pytest.mark.parametrize(
    "clause",
    [
        "Tell Ana that Bo is late and Carl is ill",
        'Tell Ana "meet Carl and Bo that evening"',
        "Tell Ana that the car is here and the box that she wanted",
    ],
)
def test_who_is_spoken_of_is_told_nothing(clause: str) -> None:
    """What somebody is told may be about several."""
    assert coordinated(clause) is None
