"""Plans as people read them: the digest of an approval, and the question about doubts."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.messages.mission import PlanAnswer
from orchestrator.messages.plan_preview import (
    PlannedLeg,
    PlannedTool,
    PlanPreview,
    asks_first,
    is_shown,
    plan_digest,
    plan_question,
    set_aside,
    what_it_means,
)
from orchestrator.planning.models import Doubt, MissionPlan
from orchestrator.saga.orders import Order
from tests.fakes import fake_leg

ORDER = Order(clause="book a flight", tools=("book_flight",))
LEG = PlannedLeg(
    leg_id="book",
    goal="do book",
    agent="book",
    stage=1,
    tools=(PlannedTool(name="book_flight", is_side_effect=True),),
    orders=(ORDER,),
)
SHOWN = PlanPreview(goal="go", digest="", legs=(LEG,), catalog_digest="c1")
LOST = Doubt(kind="left_over", about="the cat", why="no tool")


@pytest.mark.parametrize(
    "change",
    [
        {"goal": "stay"},
        {"catalog_digest": "c2"},
        {"legs": (LEG, LEG.model_copy(update={"leg_id": "other"}))},
        {"legs": (LEG.model_copy(update={"goal": "do less"}),)},
        {"legs": (LEG.model_copy(update={"agent": "other"}),)},
        {"legs": (LEG.model_copy(update={"depends_on": ("x",)}),)},
        {"legs": (LEG.model_copy(update={"tools": ()}),)},
        {"legs": (LEG.model_copy(update={"orders": ()}),)},
        {"legs": (LEG.model_copy(update={"orders": (ORDER.model_copy(update={"count": 2}),)}),)},
        {"legs": (LEG.model_copy(update={"orders": (ORDER.model_copy(update={"when": "x"}),)}),)},
        {"uncovered": ("the cat",)},
        {"doubts": (LOST,)},
    ],
    ids=str,
)
def test_all_that_is_approved_is_covered(change: dict[str, Any]) -> None:
    """Another plan has another digest; what only explains it changes nothing."""
    assert plan_digest(SHOWN.model_copy(update=change)) != plan_digest(SHOWN)
    explains = {"legs": (LEG.model_copy(update={"serves": ("x",)}),), "needs_approval": True}
    assert plan_digest(SHOWN.model_copy(update=explains)) == plan_digest(SHOWN)


def test_an_approval_is_of_the_legs_that_begin() -> None:
    """What was shown has to be this plan, with the digest that it says."""
    plan = MissionPlan(legs=(fake_leg("book", orders=[ORDER]),))
    shown = SHOWN.model_copy(update={"digest": plan_digest(SHOWN)})
    more = MissionPlan(legs=(*plan.legs, fake_leg("pay")))

    assert is_shown(plan, shown)
    assert not is_shown(more, shown)
    assert not is_shown(plan.model_copy(update={"doubts": (LOST,)}), shown)
    assert not is_shown(plan, SHOWN)


LEFT = Doubt(kind="left_over", about="and feed the cat", why="no tool does that.")
OTHER = Doubt(kind="ambiguous", about="Acme", why="nobody is")
RAIN = Doubt(kind="not_carried_out", about="unless it rains", why="I do not carry it out")
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
    assert what_it_means(text) == meant


@pytest.mark.parametrize(
    ("plan", "asks"),
    [
        (MissionPlan(legs=(fake_leg("a", orders=[BOOK]),)), False),
        (MissionPlan(legs=(fake_leg("a"),), doubts=(LEFT,)), False),
        (MissionPlan(legs=(fake_leg("a", orders=[BOOK]),), doubts=(LEFT,)), True),
        (MissionPlan(legs=(fake_leg("a"),), doubts=(RAIN,)), True),
    ],
    ids=["no-doubt", "reads", "orders", "not-carried-out"],
)
def test_a_doubt_is_asked_about_unless_the_plan_only_reads(
    plan: MissionPlan, *, asks: bool
) -> None:
    """Words left over in a plan that only reads are listed in its result."""
    assert asks_first(plan) is asks


def test_the_question_says_what_would_be_done_and_what_was_not_understood() -> None:
    """Legs by their numbers, doubts with their reasons; a failed restatement comes first."""
    legs = (fake_leg("look"), fake_leg("book", after=("look",), orders=[BOOK]))
    plan = MissionPlan(legs=legs, doubts=(LEFT, OTHER))
    asked = plan_question(plan, "no tool fits 'sing'.")

    assert asked == (
        "That cannot be planned: no tool fits 'sing'. "
        "I would do this: (1) do look; (2) do book [after 1, changes something]. "
        "Not carried out: 'and feed the cat': no tool does that; 'Acme': nobody is. "
        "Nothing was done yet. Answer 'go on' (as above; the result lists what "
        "was set aside), 'stop' (nothing is done), or say the whole goal otherwise."
    )


def test_what_was_set_aside_is_listed_with_who_went_on_past_it() -> None:
    plan = MissionPlan(legs=(), doubts=(LEFT,))
    at = datetime(2026, 12, 1, tzinfo=UTC)
    answers = [
        PlanAnswer(id="m.plan-1", outcome="said otherwise", text="x", by="bo", at=at),
        PlanAnswer(id="m.plan-2", outcome="go on", by="ann", at=at),
    ]

    assert set_aside(plan, answers) == ("'and feed the cat': no tool does that; ann said to go on",)
    assert set_aside(plan, []) == ("'and feed the cat': no tool does that",)
