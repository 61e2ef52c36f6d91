"""The budget of a mission: what its legs have reserved and spent is counted once, and all of it."""

import asyncio
from datetime import UTC, datetime
from decimal import Decimal

from orchestrator.core.budget import Money, Spend
from orchestrator.messages.leg import LegInput, LegState
from orchestrator.messages.mission_policy import CatalogPin
from orchestrator.messages.tool_call import PreparedCall
from orchestrator.workflows.mission_budget import MissionBudget
from tests.fakes import fake_leg


def euros(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def reserve(budget: MissionBudget, leg_id: str, price: str, *, spent: str = "0") -> str | None:
    """Why the call of a leg that has spent so much does not fit; None: it is reserved."""
    leg = LegInput(
        mission_id="trip",
        mission_goal="go to Lisbon",
        leg=fake_leg(leg_id),
        budget=euros("100"),
        catalog=CatalogPin(digest="d", size=3),
        started_at=datetime(2026, 11, 21, tzinfo=UTC),
        state=LegState(spend=Spend().plus(euros(spent))),
    )
    call = PreparedCall(spends=True, price=euros(price))
    return asyncio.run(budget.reserve(leg, call))


def test_legs_side_by_side_cannot_spend_the_same_money() -> None:
    """What one leg holds is gone for the other, before anything is spent."""
    budget = MissionBudget(euros("100"))
    first = reserve(budget, "flights", "70")
    second = reserve(budget, "hotels", "40")

    assert first is None
    assert second is not None
    assert "30.00 EUR left" in second


def test_a_leg_holds_no_more_than_its_newest_reservation() -> None:
    """What is refused is not held, and a leg that is over lets go of what it did not spend."""
    budget = MissionBudget(euros("100"))
    reserve(budget, "flights", "70")

    assert reserve(budget, "flights", "90") is None
    budget = MissionBudget(euros("100"))
    reserve(budget, "flights", "120", spent="10")
    assert reserve(budget, "hotels", "90") is None
    budget = MissionBudget(euros("100"))
    reserve(budget, "flights", "70")
    budget.settle("flights", Spend().plus(euros("20")))
    assert reserve(budget, "hotels", "80") is None
    assert reserve(budget, "hotels", "81") is not None


def test_what_is_left_is_never_less_than_nothing() -> None:
    budget = MissionBudget(euros("100"))
    budget.settle("flights", Spend().plus(euros("30")))

    assert budget.left("hotels", Spend()) == euros("70")
    assert budget.left("flights", Spend().plus(euros("30"))) == euros("70")
    assert budget.left("hotels", Spend().plus(euros("130"))) == euros("0")
    assert reserve(MissionBudget(None), "flights", "1000000") is None
