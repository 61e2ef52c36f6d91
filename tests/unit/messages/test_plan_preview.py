"""The digest of a plan: what an approval of it covers."""

from typing import Any

import pytest

from orchestrator.messages.plan_preview import (
    PlannedLeg,
    PlannedTool,
    PlanPreview,
    is_shown,
    plan_digest,
)
from orchestrator.planning.models import Doubt, Mention, MissionPlan
from orchestrator.saga.served import Order
from orchestrator.testing import fake_leg

LEG = PlannedLeg(
    leg_id="book",
    goal="do book",
    agent="book",
    stage=1,
    tools=(PlannedTool(name="book_flight", is_side_effect=True),),
    consequences=("book a flight",),
)
SHOWN = PlanPreview(goal="go", digest="", legs=(LEG,), catalog_digest="c1")
LOST = Doubt(kind="not_understood", about="the cat", why="no tool")


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
        {"legs": (LEG.model_copy(update={"consequences": ()}),)},
        {"legs": (LEG.model_copy(update={"only_if": ("if it rains",)}),)},
        {"unserved": ("the cat",)},
        {"doubts": (LOST,)},
    ],
    ids=str,
)
def test_all_that_is_approved_is_covered(change: dict[str, Any]) -> None:
    """Another plan has another digest."""
    assert plan_digest(SHOWN.model_copy(update=change)) != plan_digest(SHOWN)


def test_what_only_explains_is_not_covered() -> None:
    """How words were read may be told better by the next release."""
    told = {"left_over": (Mention(text="cat", kind="thing"),), "needs_approval": True}

    assert plan_digest(SHOWN.model_copy(update=told)) == plan_digest(SHOWN)


def test_an_approval_is_of_the_legs_that_begin() -> None:
    """What was shown has to be this plan, with the digest that it says."""
    order = Order(clause="book a flight", tools=("book_flight",))
    plan = MissionPlan(legs=(fake_leg("book", orders=[order]),))
    shown = SHOWN.model_copy(update={"digest": plan_digest(SHOWN)})
    more = MissionPlan(legs=(*plan.legs, fake_leg("pay")))

    assert is_shown(plan, shown)
    assert not is_shown(more, shown)
    assert not is_shown(plan.model_copy(update={"doubts": (LOST,)}), shown)
    assert not is_shown(plan, SHOWN)
