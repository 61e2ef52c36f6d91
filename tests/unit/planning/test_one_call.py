"""Missions of one call: its tool and inputs, whatever the words of the goal say."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import ToolNotFound
from orchestrator.core.record import JsonObject
from orchestrator.planning.models import (
    AgentProfile,
    AskUser,
    CallTool,
    Finish,
    GiveUp,
    GoalBrief,
    Observation,
    OneCall,
    StepContext,
)
from orchestrator.planning.one_call import plan_of_call, selection_of_call, step_of_call
from orchestrator.planning.planner import check_decision, check_plan
from tests.refusals import raises_code

NOW = datetime(2026, 11, 29, 8, tzinfo=UTC)
CANCEL = OneCall(tool="flight_cancel_booking", arguments={"booking_id": "B1"})
READ = OneCall(tool="flight_get_booking", arguments={"booking_id": "B1"})


def _brief(call: OneCall) -> GoalBrief:
    goal = "Book a hotel in Lisbon"
    return GoalBrief(mission_id="m", goal=goal, now=NOW, catalog_digest="d", call=call)


def _context(call: OneCall, seen: tuple[Observation, ...] = (), **inputs: Any) -> StepContext:
    return StepContext(
        mission_id="m",
        leg_id="1-x",
        step=1 + len(seen),
        mission_goal="Book a hotel in Lisbon",
        leg_goal="Book a hotel in Lisbon",
        agent=AgentProfile(name="any"),
        inputs=inputs,
        observations=seen,
        now=NOW,
        catalog_digest="d",
        call=call,
    )


@pytest.mark.parametrize(("call", "orders"), [(CANCEL, 1), (READ, 0)])
def test_a_plan_of_one_call_is_one_leg_that_orders_it_once(
    shipped: Catalog, call: OneCall, orders: int
) -> None:
    """A read orders nothing; the goal's own words choose no tool."""
    plan = plan_of_call(call, _brief(call), shipped, ())

    check_plan(plan)
    (leg,) = plan.legs
    assert leg.call == call
    assert [order.tools for order in leg.orders] == [(call.tool,)] * orders


def test_the_call_goes_to_an_agent_that_may_make_it(shipped: Catalog) -> None:
    """Walls hold; without an agent inside them nothing begins."""
    hotels = AgentProfile(name="hotels", domains=("hotels",))
    flights = AgentProfile(name="flights", tools=(READ.tool,))

    assert plan_of_call(READ, _brief(READ), shipped, (hotels, flights)).legs[0].agent == flights
    with raises_code("NothingAllowed"):
        plan_of_call(READ, _brief(READ), shipped, (hotels,))
    with pytest.raises(ToolNotFound):
        plan_of_call(OneCall(tool="none"), _brief(READ), shipped, ())


@pytest.mark.parametrize("call", [CANCEL, READ])
def test_the_first_step_is_exactly_the_call(shipped: Catalog, call: OneCall) -> None:
    """It passes what every decision passes, over a selection of that one tool."""
    context = _context(call)
    decision = step_of_call(call, context, shipped)

    check_decision(decision, selection_of_call(call, shipped), context, shipped)
    assert isinstance(decision, CallTool)
    assert (decision.tool, decision.arguments) == (call.tool, call.arguments)


def test_a_required_input_that_is_open_is_asked_for_and_then_used(shipped: Catalog) -> None:
    """Personal ones are the vault's: the call is prepared with their handles."""
    call = OneCall(tool="weather_get_history", arguments={"city": "Oslo"})

    asked = step_of_call(call, _context(call), shipped)
    answered = step_of_call(call, _context(call, date="2026-11-01"), shipped)

    assert isinstance(asked, AskUser)
    assert list(asked.fields) == ["date"]
    assert isinstance(answered, CallTool)
    assert answered.arguments == {"city": "Oslo", "date": "2026-11-01"}


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [("succeeded", Finish), ("rejected", GiveUp), ("refused", GiveUp), ("invalid", GiveUp)],
)
def test_the_outcome_of_the_call_ends_the_leg(shipped: Catalog, outcome: Any, kind: type) -> None:
    """Nothing else is tried in its place."""
    body: JsonObject = {"more": 1, "offers": [{"offer_id": "o1"}, {"offer_id": "o2"}]}
    seen = Observation(step=1, tool=READ.tool, outcome=outcome, body=body)

    decision = step_of_call(READ, _context(READ, (seen,)), shipped)

    assert isinstance(decision, kind)
    if isinstance(decision, Finish):
        assert decision.table is not None
        assert decision.table.rows == (("o1",), ("o2",))
