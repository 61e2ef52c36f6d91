"""What was approved of a price, and by how much more was charged."""

from decimal import Decimal

import pytest

from orchestrator.core.budget import Money, limit_of


def eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


@pytest.mark.parametrize(
    ("charged", "tolerance", "more"),
    [
        ("78.00", "0", None),
        ("77.99", "0", None),
        ("78", "0", None),
        ("78.01", "0", "0.01"),
        ("97.50", "0", "19.50"),
        ("81.90", "0.05", None),
        ("81.91", "0.05", "3.91"),
    ],
)
def test_more_than_the_tolerance_is_too_much(
    charged: str, tolerance: str, more: str | None
) -> None:
    """By how much it is more than was approved: the tolerance forgives, and is no approval."""
    limit = limit_of(eur("78.00"), tolerance=Decimal(tolerance))

    assert limit.exceeded_by(eur(charged)) == (None if more is None else eur(more))


def test_another_currency_is_too_much_by_all_of_it() -> None:
    """However little it may be: nobody converts it."""
    dollar = Money(amount=Decimal("0.01"), currency="USD")

    assert limit_of(eur("78.00")).exceeded_by(dollar) == dollar


def test_a_charge_that_nobody_states_is_not_too_much() -> None:
    """It is unknown, and counted as approved."""
    assert limit_of(eur("78.00")).exceeded_by(None) is None


def test_what_is_free_is_overcharged_by_any_charge() -> None:
    """A tolerance of nothing is nothing."""
    limit = limit_of(eur("0"), tolerance=Decimal("1"))

    assert limit.exceeded_by(eur("0.01")) == eur("0.01")


@pytest.mark.parametrize(
    ("standing", "more"), [("100", None), ("97.50", None), ("97.49", "19.50"), ("50", "19.50")]
)
def test_a_standing_approval_approves_up_to_its_amount(standing: str, more: str | None) -> None:
    """And never less than the price at which it approved the call."""
    limit = limit_of(eur("78.00"), standing=eur(standing))

    assert limit.exceeded_by(eur("97.50")) == (None if more is None else eur(more))


def test_a_standing_approval_in_another_currency_says_nothing() -> None:
    """It approved no amount that could be compared."""
    standing = Money(amount=Decimal(500), currency="USD")

    assert limit_of(eur("78.00"), standing=standing).at_most == eur("78.00")
