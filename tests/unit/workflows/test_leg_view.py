"""A leg as others see it, read from the leg as it stands."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from orchestrator.core.budget import Money, Spend
from orchestrator.messages.leg import LegInput, LegState, LegWaiting, Question
from orchestrator.messages.mission_policy import CatalogPin
from orchestrator.planning.models import Observation
from orchestrator.saga.ledger import Ledger
from orchestrator.testing import fake_leg, fake_obligation
from workflows.leg_page import leg_page
from workflows.leg_view import leg_result, step_context
from workflows.progress import Progress


def leg(state: LegState, *, budget: Money | None = None) -> LegInput:
    return LegInput(
        mission_id="trip",
        mission_goal="go to Lisbon",
        leg=fake_leg("1-flight"),
        budget=budget,
        catalog=CatalogPin(digest="d", size=3),
        started_at=datetime(2026, 11, 21, tzinfo=UTC),
        state=state,
    )


def saw(step: int, tool: str, *, outcome: str = "succeeded", effect: bool = False) -> Observation:
    return Observation.model_validate(
        {"step": step, "tool": tool, "arguments": {}, "outcome": outcome, "side_effect": effect}
    )


def test_the_legs_that_follow_learn_what_was_done() -> None:
    """Side effects alone, each under the title of its obligation."""
    ledger = Ledger(obligations=(fake_obligation("trip.1-flight.2", title="Book a flight"),))
    seen = (saw(1, "find"), saw(2, "book", effect=True), saw(3, "find"))

    facts = leg_result(leg(LegState(observations=seen, ledger=ledger))).facts

    assert [(f.source, f.tool, f.title) for f in facts] == [("1-flight.2", "book", "Book a flight")]


def test_a_leg_that_did_nothing_passes_on_its_last_find() -> None:
    """What came to nothing is no find."""
    seen = (saw(1, "find"), saw(2, "look"), saw(3, "read", outcome="rejected"))

    assert [f.tool for f in leg_result(leg(LegState(observations=seen))).facts] == ["look"]


@pytest.mark.parametrize(("spent", "left"), [("0", "100"), ("30", "70"), ("130", "0")])
def test_a_planner_is_told_what_is_left_of_the_budget(spent: str, left: str) -> None:
    """Never less than nothing, however much was spent."""
    euros = Money(amount=Decimal(100), currency="EUR")
    spend = Spend().plus(Money(amount=Decimal(spent), currency="EUR"))

    told = step_context(leg(LegState(spend=spend), budget=euros)).budget_left

    assert told == Money(amount=Decimal(left), currency="EUR")


def test_the_temporal_ui_shows_what_a_leg_asks() -> None:
    """Below its status and goal."""
    asked = Question(
        question_id="trip.1-flight.1",
        mission_id="trip",
        leg_id="1-flight",
        question="Which seat?",
        fields={},
    )

    shown = leg_page(leg(LegState()), LegWaiting(question=asked))

    assert shown.startswith("**running**: do 1-flight")
    assert "asks: Which seat?" in shown
    assert "`orchestrator mission answer trip.1-flight.1`" in shown


def test_what_is_kept_is_taught_as_before() -> None:
    """Of a leg that has seen it all itself, and of one that has let go of it, step by step."""
    ledger = Ledger(obligations=(fake_obligation("trip.1-flight.2", title="Book a flight"),))
    seen = (saw(1, "find"), saw(2, "book", effect=True), saw(3, "find"))
    whole = leg(LegState(observations=seen, ledger=ledger))

    for at_once in (1, 2, 3):
        progress = Progress(whole, LegWaiting)
        progress.kept("k", at_once)

        kept = leg_result(progress.leg)
        assert len(progress.state.observations) == 3 - at_once
        assert kept.facts == leg_result(whole).facts
