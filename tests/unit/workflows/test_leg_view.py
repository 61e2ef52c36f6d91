"""A leg as others see it, read from the leg as it stands."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.messages.leg import LegInput, LegState
from orchestrator.messages.mission_policy import CatalogPin
from orchestrator.planning.models import Observation
from orchestrator.saga.ledger import Ledger
from orchestrator.saga.obligation import ObligationState
from orchestrator.saga.orders import Order
from orchestrator.workflows.leg_view import is_served, leg_result
from orchestrator.workflows.mission_budget import MissionBudget
from orchestrator.workflows.progress import Progress
from tests.fakes import fake_leg, fake_obligation


def leg(state: LegState) -> LegInput:
    return LegInput(
        mission_id="trip",
        mission_goal="go to Lisbon",
        leg=fake_leg("1-flight"),
        catalog=CatalogPin(digest="d", size=3),
        started_at=datetime(2026, 11, 21, tzinfo=UTC),
        state=state,
    )


def saw(step: int, tool: str, *, outcome: str = "succeeded", effect: bool = False) -> Observation:
    return Observation.model_validate(
        {"step": step, "tool": tool, "arguments": {}, "outcome": outcome, "side_effect": effect}
    )


def test_the_legs_that_follow_learn_what_was_done() -> None:
    """Side effects alone, each under the title of its obligation; without one the last find."""
    ledger = Ledger(obligations=(fake_obligation("trip.1-flight.2", title="Book a flight"),))
    seen = (saw(1, "find"), saw(2, "book", effect=True), saw(3, "find"))
    facts = leg_result(leg(LegState(observations=seen, ledger=ledger))).facts

    assert [(f.source, f.tool, f.title) for f in facts] == [("1-flight.2", "book", "Book a flight")]
    seen = (saw(1, "find"), saw(2, "look"), saw(3, "read", outcome="rejected"))
    assert [f.tool for f in leg_result(leg(LegState(observations=seen))).facts] == ["look"]


def test_what_is_kept_is_taught_as_before() -> None:
    """Of a leg that has seen it all itself, and of one that has let go of it, step by step."""
    ledger = Ledger(obligations=(fake_obligation("trip.1-flight.2", title="Book a flight"),))
    seen = (saw(1, "find"), saw(2, "book", effect=True), saw(3, "find"))
    whole = leg(LegState(observations=seen, ledger=ledger))

    for at_once in (1, 2, 3):
        progress = Progress(whole, lambda: None, MissionBudget(None), Ledger)
        progress.kept("k", at_once)

        kept = leg_result(progress.leg)
        assert len(progress.state.observations) == 3 - at_once
        assert kept.facts == leg_result(whole).facts


@pytest.mark.parametrize(
    ("order", "obligation", "served"),
    [
        ({}, {}, True),
        ({"count": 2}, {}, False),
        ({"each": "guest"}, {}, False),
        ({"when": "if it rains"}, {"tool": "call_taxi"}, False),
        ({}, {"state": ObligationState.INTENDED}, False),
        ({}, {"state": ObligationState.CANCELLED}, False),
    ],
    ids=["committed", "one of two", "of a list", "not decided", "in doubt", "cancelled"],
)
def test_a_leg_is_served_only_if_all_its_orders_surely_are(
    order: dict[str, Any], obligation: dict[str, Any], served: bool
) -> None:
    """So that a limit which ends it may leave what it made."""
    stated = {"tool": "book_flight", "state": ObligationState.COMMITTED, **obligation}
    made = fake_obligation("trip.1-flight.2", **stated)
    of_leg = leg(LegState(ledger=Ledger(obligations=(made,))))
    planned = of_leg.leg.model_copy(update={"orders": (Order(tools=("book_flight",), **order),)})

    assert is_served(of_leg.model_copy(update={"leg": planned})) is served


def test_a_repair_forgets_the_refusals_before() -> None:
    """The planner reads a refusal again as if for the first time."""
    reopened = leg(LegState(noted=("it was refused",), error="lost")).reopened()

    assert (reopened.state.noted, reopened.state.error) == ((), None)
