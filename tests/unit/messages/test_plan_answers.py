"""What a mission asks about its plan, and what an answer means."""

from datetime import UTC, datetime

import pytest

from orchestrator.messages.plan_answers import (
    PlanAnswer,
    asks_first,
    gone_past,
    plan_question,
    what_it_means,
    why_asked,
)
from orchestrator.planning.models import Doubt, Mention, MissionPlan
from orchestrator.saga.served import Order
from orchestrator.testing import fake_leg

LOST = Doubt(kind="not_understood", about="and feed the cat", why="no tool does that.")
OTHER = Doubt(kind="not_matched", about="Acme", why="nobody is", choices=("Acme Ltd", "Acne"))
TONGUE = Doubt(kind="language", about="Wie geht es", why="it is not English")
BOOK = Order(clause="book it", tools=("book",))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("go on", "go on"),
        (" Go  on! ", "go on"),
        ("Yes.", "go on"),
        ("STOP", "stop"),
        ("no", "stop"),
        ("go on with the flight", "said otherwise"),
        ("no flight, only a hotel", "said otherwise"),
        ("stop the newsletter", "said otherwise"),
    ],
)
def test_two_words_are_an_answer_and_all_else_is_the_goal(text: str, meant: str) -> None:
    """Whatever begins like one of them is a goal."""
    assert what_it_means(text) == meant


@pytest.mark.parametrize(
    ("plan", "asks"),
    [
        (MissionPlan(legs=(fake_leg("a", orders=[BOOK]),)), False),
        (MissionPlan(legs=(fake_leg("a"),), doubts=(LOST,)), False),
        (MissionPlan(legs=(fake_leg("a"),), doubts=(TONGUE,)), True),
        (MissionPlan(legs=(fake_leg("a", orders=[BOOK]),), doubts=(LOST,)), True),
        (MissionPlan(legs=(fake_leg("a"),), orders=(BOOK,), doubts=(OTHER,)), True),
    ],
    ids=["no-doubt", "reads", "language", "leg-orders", "goal-orders"],
)
def test_a_doubt_is_asked_about_where_it_may_change_something(
    plan: MissionPlan, *, asks: bool
) -> None:
    """Or where nothing could be read."""
    assert asks_first(plan) is asks


def test_the_question_says_what_would_be_done_and_what_was_not_understood() -> None:
    """Legs by their numbers, doubts with what was found; a failed restatement comes first."""
    legs = (fake_leg("look"), fake_leg("book", after=("look",), orders=[BOOK]))
    plan = MissionPlan(legs=legs, doubts=(LOST, OTHER))

    asked = plan_question(plan, "no tool fits 'sing'.")

    assert asked == (
        "That cannot be planned: no tool fits 'sing'. "
        "I would do this: (1) do look; (2) do book [after 1, changes something]. "
        "I have not understood: 'and feed the cat': no tool does that; 'Acme': nobody is (found: "
        "Acme Ltd, Acne). Nothing was done yet. Answer 'go on' (as above; the result says what was "
        "not understood), 'stop' (nothing is done), or say the whole goal otherwise."
    )


def test_it_says_why_it_is_asked() -> None:
    """A goal that could not be read is another matter than a part of it."""
    assert "could not be read" in why_asked(MissionPlan(legs=(), doubts=(LOST, TONGUE)))
    assert "would change something" in why_asked(MissionPlan(legs=(), doubts=(LOST,)))


def test_what_is_left_is_told_with_who_went_on_past_it() -> None:
    """What was read, and may be meant so, is settled by who goes on."""
    plan = MissionPlan(legs=(), doubts=(LOST, OTHER))
    at = datetime(2026, 12, 1, tzinfo=UTC)
    answers = [
        PlanAnswer(id="m.plan-1", came_to="said otherwise", text="x", by="bo", at=at),
        PlanAnswer(id="m.plan-2", came_to="go on", by="ann", at=at),
    ]

    assert gone_past(plan, answers) == (
        ("and feed the cat", "it was not understood, and ann said to go on"),
    )
    assert gone_past(plan, []) == (("and feed the cat", "it was not understood"),)


def test_a_goal_that_only_reads_is_told_what_nothing_of_it_took_up() -> None:
    """What asks for something; not whose boss asks, nor what is not wanted."""
    mentions = (
        Mention(text="weather", kind="thing", leg_id="a", used_as="its words"),
        Mention(text="frobnicate the widget", kind="quality"),
        Mention(text="My boss", kind="name"),
        Mention(text="no booking please", kind="negation"),
    )
    reads = MissionPlan(legs=(fake_leg("a"),), mentions=mentions)
    orders = MissionPlan(legs=(fake_leg("a", orders=[BOOK]),), mentions=mentions)

    assert gone_past(reads, []) == (("frobnicate the widget", "nothing of the plan takes it up"),)
    assert gone_past(orders, []) == ()
