"""An order of all is not over while something that was found, and is meant as well, is left."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.core.record import JsonObject
from orchestrator.planning.finishing import doubt_about_finish
from orchestrator.planning.left_of_all import LEAVE, left_of_all, question_about
from orchestrator.planning.models import AgentProfile, Observation, StepContext
from orchestrator.saga.served import Order

BILLS: JsonObject = {
    "bills": [
        {"bill_id": "b-1", "name": "Acme", "state": "open"},
        {"bill_id": "b-2", "name": "Globex", "state": "open"},
        {"bill_id": "b-3", "name": "Initech", "state": "paid"},
    ]
}


def ended(clause: str, *paid: str, is_all: bool = True, **more: Any) -> StepContext:
    """A leg whose planner has looked at the bills and paid some."""
    found = Observation(step=1, tool="find_bills", outcome="succeeded", body=BILLS)
    calls = [
        Observation(
            step=2 + n,
            tool="pay_bill",
            outcome="succeeded",
            side_effect=True,
            arguments={"bill_id": bill},
        )
        for n, bill in enumerate(paid)
    ]
    return StepContext(
        mission_id="m",
        leg_id="1-bills",
        step=9,
        mission_goal=clause,
        leg_goal=clause,
        agent=AgentProfile(name="bills"),
        observations=(found, *calls),
        orders=(Order(clause=clause, tools=("pay_bill",), is_all=is_all),),
        now=datetime(2026, 11, 23, tzinfo=UTC),
        catalog_digest="d" * 64,
        **more,
    )


def test_what_is_meant_as_well_is_left() -> None:
    """Another one bears the same words of the order; the paid one does not."""
    context = ended("pay all open bills", "b-1")

    (left,) = left_of_all(context)
    assert "Globex" in left
    assert "Globex" in (doubt_about_finish(context) or "")
    asked = question_about((left,), context)
    assert asked is not None
    assert "Globex" in asked.question
    assert [*asked.fields] == [LEAVE]


@pytest.mark.parametrize(
    "context",
    [
        ended("pay all open bills", "b-1", "b-2"),
        ended("pay the bill of Acme", "b-1", is_all=False),
        ended("pay all bills of Acme", "b-1"),
        ended("pay all bills except Globex", "b-1", "b-3"),
        ended("pay all bills due before 3 December", "b-1"),
        ended("pay all open bills of March", "b-1"),
        ended("pay all bills", "b-1", "b-2"),
    ],
    ids=lambda context: context.leg_goal,
)
def test_what_is_done_or_not_meant_is_not(context: StepContext) -> None:
    """All are done, one was meant, or words alone do not tell which."""
    assert left_of_all(context) == ()


def test_a_person_who_leaves_the_rest_is_asked_once() -> None:
    """Their answer is among the inputs from then on."""
    context = ended("pay all open bills", "b-1", inputs={LEAVE: True})

    assert question_about(left_of_all(context), context) is None
