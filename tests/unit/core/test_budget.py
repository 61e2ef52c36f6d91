"""Money, spend and budgets."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.core.budget import Money, Spend, over_budget, overspent

amounts = st.decimals(min_value=0, max_value=10**9, places=2)
monies = st.builds(Money, amount=amounts, currency=st.sampled_from(["EUR", "USD", "JPY"]))


@pytest.mark.parametrize(
    ("amount", "currency"),
    [
        ("-1", "EUR"), ("NaN", "EUR"), ("Infinity", "EUR"), ("1", "euro"),
        ("1e999999999", "EUR"), ("1e-999999999", "EUR"),
    ],
)  # fmt: skip
def test_what_is_no_money_is_refused(amount: str, currency: str) -> None:
    """An amount is a number that is not negative, a currency three capital letters."""
    with pytest.raises(ValidationError):
        Money(amount=Decimal(amount), currency=currency)


def test_money_reads_as_people_write_it() -> None:
    """Two decimals, thousands apart, then the currency."""
    assert str(Money(amount=Decimal("1234.5"), currency="EUR")) == "1,234.50 EUR"


@given(st.lists(monies))
def test_currencies_are_never_added_up(paid: list[Money]) -> None:
    """Spend holds for each currency the sum of what was paid in it, and nothing else."""
    spend = Spend()
    for money in paid:
        spend = spend.plus(money)

    for currency in ("EUR", "USD", "JPY"):
        total = sum((m.amount for m in paid if m.currency == currency), Decimal(0))
        assert spend.by_currency.get(currency, Decimal(0)) == total


@given(st.lists(st.lists(monies)))
def test_a_total_is_what_was_spent_in_each(parts: list[list[Money]]) -> None:
    """The total of several spends does not depend on how they were split."""
    split = []
    whole = Spend()
    for part in parts:
        spend = Spend()
        for money in part:
            spend, whole = spend.plus(money), whole.plus(money)
        split.append(spend)

    assert Spend.total(split) == whole


@given(amounts, amounts, amounts)
def test_a_price_fits_exactly_when_budget_covers_it(
    budget: Decimal, spent: Decimal, price: Decimal
) -> None:
    """A price fits a budget if and only if spent and price together do not pass it."""
    spend = Spend().plus(Money(amount=spent, currency="EUR"))

    why_not = over_budget(
        Money(amount=budget, currency="EUR"), spend, Money(amount=price, currency="EUR")
    )

    assert (why_not is None) == (spent + price <= budget)


def test_a_price_in_another_currency_does_not_fit() -> None:
    """No exchange rate is guessed: the refusal names both currencies."""
    why_not = over_budget(
        Money(amount=Decimal(900), currency="EUR"),
        Spend(),
        Money(amount=Decimal(1), currency="USD"),
    )

    assert why_not is not None
    assert "USD" in why_not
    assert "EUR" in why_not


def test_without_a_budget_everything_fits() -> None:
    """No budget and no price are no reasons to refuse."""
    price = Money(amount=Decimal(10**6), currency="EUR")

    assert over_budget(None, Spend(), price) is None
    assert over_budget(price, Spend(), None) is None


@pytest.mark.parametrize(
    ("spend", "told"),
    [
        (Spend(by_currency={"EUR": Decimal(80)}), ""),
        (Spend(by_currency={"EUR": Decimal("80.01")}), "has exceeded its budget of 80.00 EUR"),
        (Spend(by_currency={"USD": Decimal(1)}), "may have exceeded its budget of 80.00 EUR"),
        (Spend(unpriced=1), "may have exceeded its budget of 80.00 EUR"),
    ],
)
def test_what_may_have_been_spent_beyond_a_budget_is_said(spend: Spend, told: str) -> None:
    """A charge above it is certain; another currency, or a price that nobody knows, may be."""
    eighty = Money(amount=Decimal(80), currency="EUR")
    said = overspent(eighty, spend)

    assert said.partition(" (")[0] == told
    assert overspent(None, spend) == ""
    assert (over_budget(eighty, spend, None) is not None) == said.startswith("has")
