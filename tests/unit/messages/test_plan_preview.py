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
from orchestrator.planning.models import Doubt, MissionPlan
from orchestrator.saga.orders import Order
from orchestrator.testing import fake_leg

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
    """Another plan has another digest."""
    assert plan_digest(SHOWN.model_copy(update=change)) != plan_digest(SHOWN)


def test_what_only_explains_is_not_covered() -> None:
    """Which words a leg quotes, and how it is begun."""
    told = {"legs": (LEG.model_copy(update={"serves": ("x",)}),), "needs_approval": True}

    assert plan_digest(SHOWN.model_copy(update=told)) == plan_digest(SHOWN)


def test_an_approval_is_of_the_legs_that_begin() -> None:
    """What was shown has to be this plan, with the digest that it says."""
    plan = MissionPlan(legs=(fake_leg("book", orders=[ORDER]),))
    shown = SHOWN.model_copy(update={"digest": plan_digest(SHOWN)})
    more = MissionPlan(legs=(*plan.legs, fake_leg("pay")))

    assert is_shown(plan, shown)
    assert not is_shown(more, shown)
    assert not is_shown(plan.model_copy(update={"doubts": (LOST,)}), shown)
    assert not is_shown(plan, SHOWN)
