"""Budget reservations: what legs have reserved and spent is counted once, and all of it."""

from decimal import Decimal

from orchestrator.core.budget import Money, Spend
from orchestrator.messages.leg import ReserveInput
from workflows.reservations import BudgetReservations


def euros(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def wish(leg_id: str, price: str, *, spent: str = "0") -> ReserveInput:
    return ReserveInput(
        leg_id=leg_id,
        call_id=f"trip.{leg_id}.1",
        spent=Spend().plus(euros(spent)),
        price=euros(price),
    )


def test_legs_side_by_side_cannot_spend_the_same_money() -> None:
    """What one leg holds is gone for the other, before anything is spent."""
    budget = BudgetReservations(euros("100"))

    first = budget.reserve(wish("flights", "70"))
    second = budget.reserve(wish("hotels", "40"))

    assert (first.call_id, first.refusal) == ("trip.flights.1", None)
    assert second.refusal is not None
    assert "30.00 EUR left" in second.refusal


def test_a_leg_that_asks_again_does_not_hold_twice() -> None:
    """Its newer wish replaces the older one, as after an amended call."""
    budget = BudgetReservations(euros("100"))
    budget.reserve(wish("flights", "70"))

    assert budget.reserve(wish("flights", "90")).refusal is None


def test_what_is_refused_is_not_held() -> None:
    """A price that does not fit takes nothing from the others."""
    budget = BudgetReservations(euros("100"))
    budget.reserve(wish("flights", "120", spent="10"))

    assert budget.reserve(wish("hotels", "90")).refusal is None


def test_a_leg_that_is_over_lets_go_of_what_it_did_not_spend() -> None:
    """Only what it spent still counts."""
    budget = BudgetReservations(euros("100"))
    budget.reserve(wish("flights", "70"))
    budget.settle("flights", Spend().plus(euros("20")))

    assert budget.reserve(wish("hotels", "80")).refusal is None
    assert budget.reserve(wish("hotels", "81")).refusal is not None


def test_without_a_budget_everything_fits() -> None:
    """No budget, no limit."""
    assert BudgetReservations(None).reserve(wish("flights", "1000000")).refusal is None
