"""What a sentence says behind its request: how something is, how it is to be, what stays."""

import pytest

from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import leaves_alone
from orchestrator.language.negation import with_exceptions
from orchestrator.language.statements import orders_of_a_thing, states
from orchestrator.language.subclauses import read_goal


@pytest.mark.parametrize(
    ("goal", "request_", "remark"),
    [
        ("Cancel my hotel, the flight can stay.", "Cancel my hotel", "the flight can stay"),
        ("Cancel the hotel but the flight is fine", "Cancel the hotel", "the flight is fine"),
        ("Pay INV-1, the other one is wrong.", "Pay INV-1", "the other one is wrong"),
        ("Cancel lunch, Ana is ill, and book a car", "Cancel lunch, and book a car", "Ana is ill"),
    ],
)
def test_a_statement_behind_a_request_is_no_request(goal: str, request_: str, remark: str) -> None:
    """Its thing is not done to what the request names: the flight is not cancelled."""
    read = read_goal(goal)

    assert read.requests == request_
    assert [one.text for one in read.remarks] == [remark]


@pytest.mark.parametrize(
    "goal",
    [
        "Tell Ana I'm late, the flight is delayed",
        "Cancel the hotel and the flight I have booked",
        "Cancel the hotel, the flight to Rome and my car",
        "Book a hotel in Rome, the cheapest is fine",
        "Cancel the call and the meeting with Will Smith",
    ],
)
def test_what_is_told_or_named_is_no_statement(goal: str) -> None:
    """Nor is a thing that words with a verb of their own tell apart."""
    assert read_goal(goal).remarks == ()


@pytest.mark.parametrize(
    ("goal", "request_"),
    [
        ("Book a hotel in Rome. It must have a pool.", "Book a hotel in Rome with a pool."),
        ("Book a hotel in Rome, it should be quiet", "Book a hotel in Rome, quiet"),
        ("Book a hotel. The hotel has to include breakfast", "Book a hotel with breakfast"),
        ("Get me a car, it must cost less than 90 EUR", "Get me a car for less than 90 EUR"),
    ],
)
def test_what_a_thing_must_be_is_of_its_request(goal: str, request_: str) -> None:
    """Whichever way it is said, it is looked for."""
    assert read_goal(goal).requests == request_


def test_another_must_is_kept_apart() -> None:
    """No request has it then, and a person is asked."""
    read = read_goal("Book a hotel in Rome. The room must not have stairs.")

    assert read.requests == "Book a hotel in Rome. "
    assert orders_of_a_thing(read.remarks[0].text)
    assert not orders_of_a_thing("I should like a table")
    assert not states("my flight to Rome")


@pytest.mark.parametrize(
    ("goal", "meant"),
    [
        (
            "Pay all bills. Don't pay the one from Acme. Then email Bo",
            "Pay all bills but not the one from Acme. Then email Bo",
        ),
        ("Pay the bills but leave Acme's alone", "Pay the bills but not Acme's"),
        ("Pay Globex. Don't pay Acme", "Pay Globex. Don't pay Acme"),
        (
            "Delete the drafts. Don't delete them today",
            "Delete the drafts. Don't delete them today",
        ),
    ],
)
def test_what_is_left_out_of_many_stands_behind_them(goal: str, meant: str) -> None:
    """What is done to all would be done to it as well."""
    assert with_exceptions(goal) == meant


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("keep the flight", True),
        ("leave my car and hotel as they are", True),
        ("leave everything else", True),
        ("leave a note for Bo that I am out", False),
        ("keep me posted", False),
        ("leave the house at nine", False),
    ],
)
def test_what_stays_as_it_is_is_not_ordered(text: str, stays: bool) -> None:
    """A tool whose verb it is does it all the same."""
    assert leaves_alone(text) is stays
    assert read_clause(text).is_negated is stays
    assert not leaves_alone(text, verbs={"keep", "leave"})


@pytest.mark.parametrize(
    ("goal", "as_said"),
    [
        ("Check whether Ana is free; if she is, book a table", True),
        ("Do I have a hotel in Rome? If I do, cancel it.", True),
        ("See if there are flights to Rome. If there are, book one", True),
        ("Is there anything on Friday? If not, book a table", False),
        ("Is it raining? If it isn't, email Bo.", False),
    ],
)
def test_an_answer_decides_what_follows_its_question(goal: str, as_said: bool) -> None:
    """It is done in one of the two cases, and not in any."""
    (governed,) = read_goal(goal).governed

    assert governed.subclause.kind == "so"
    assert governed.as_said is as_said


def test_what_any_request_asks_is_no_condition() -> None:
    """Nothing could be booked where there is none."""
    assert read_goal("Book a table if there is one").governed == ()
