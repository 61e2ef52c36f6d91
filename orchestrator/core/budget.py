"""Money, tokens, budgets and what has been spent of them: pure arithmetic."""

from collections.abc import Iterable
from decimal import Decimal
from functools import reduce
from typing import Annotated

from pydantic import Field

from orchestrator.core.currencies import EXPONENTS, exists
from orchestrator.core.errors import CurrencyUnknown
from orchestrator.core.record import Record

Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code")]


class Money(Record):
    """An amount in one currency: `Money(amount="181.40", currency="EUR")`."""

    amount: Decimal = Field(ge=0, allow_inf_nan=False)
    currency: Currency

    def __str__(self) -> str:
        """As a person reads it: `181.40 EUR`, `1,000 JPY`; no decimal that is there is left out."""
        written = -int(self.amount.normalize().as_tuple().exponent)
        decimals = max(EXPONENTS.get(self.currency, 2), written)
        return f"{self.amount:,.{decimals}f} {self.currency}"


def check_currencies(value: object) -> None:
    """See that every amount in a value of ours is in a currency that exists.

    Not where messages are read: what was recorded under an older table of currencies stays
    readable.

    Raises:
        CurrencyUnknown: one is not.
    """
    if isinstance(value, Money) and not exists(value.currency):
        raise CurrencyUnknown(value.currency)
    if isinstance(value, Record):
        value = [getattr(value, name) for name in type(value).model_fields]
    if isinstance(value, dict):
        value = list(value.values())
    for inner in value if isinstance(value, list | tuple) else ():
        check_currencies(inner)


class Spend(Record):
    """What was spent, by currency; amounts in different currencies are never added."""

    by_currency: dict[Currency, Decimal] = Field(default_factory=dict)
    unpriced: int = Field(
        default=0, ge=0, description="calls beside that cost something, and nobody knows how much"
    )

    def __str__(self) -> str:
        """As a person reads it: `12.00 EUR and 1 call of unknown price`, `nothing`."""
        parts = [*map(str, self.amounts())]
        if self.unpriced:
            parts.append(f"{self.unpriced} call{'s' if self.unpriced > 1 else ''} of unknown price")
        return " and ".join(parts) or "nothing"

    def plus(self, money: Money | None) -> "Spend":
        """This and one more amount; None adds nothing."""
        if money is None:
            return self
        total = self.by_currency.get(money.currency, Decimal(0)) + money.amount
        return self.model_copy(update={"by_currency": {**self.by_currency, money.currency: total}})

    def amounts(self) -> list[Money]:
        """One amount per currency, by currency code."""
        return [Money(amount=a, currency=c) for c, a in sorted(self.by_currency.items())]

    @staticmethod
    def total(spends: "Iterable[Spend]") -> "Spend":
        """The sum of several."""
        every = tuple(spends)
        unpriced = Spend(unpriced=sum(s.unpriced for s in every))
        return reduce(Spend.plus, (money for s in every for money in s.amounts()), unpriced)


class Usage(Record):
    """What models were asked and answered, in tokens."""

    requests: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0, description="cached ones included")
    cached_tokens: int = Field(default=0, ge=0, description="of the input, read from a cache")
    written_tokens: int = Field(default=0, ge=0, description="of the input, written to a cache")
    output_tokens: int = Field(default=0, ge=0, description="those of reasoning included")
    reasoning_tokens: int = Field(default=0, ge=0, description="of the output")
    cost_usd: Decimal = Field(default=Decimal(0), ge=0, description="of all whose price is known")
    unpriced: int = Field(default=0, ge=0, description="requests whose price nobody knows")

    def plus(self, other: "Usage | None") -> "Usage":
        """This and another; None adds nothing."""
        if other is None:
            return self
        return Usage.model_validate(
            {name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields}
        )

    def __str__(self) -> str:
        """As a person reads it: `2 requests, 4,120 tokens in (3,072 cached), 210 out, 0.01 USD`."""
        if not self.requests:
            return "no model was asked"
        cached = f" ({self.cached_tokens:,} cached)" if self.cached_tokens else ""
        asked = f"{self.requests} request{'s' if self.requests > 1 else ''}"
        tokens = f"{self.input_tokens:,} tokens in{cached}, {self.output_tokens:,} out"
        return f"{asked}, {tokens}, {self.told_cost}"

    @property
    def told_cost(self) -> str:
        """What it cost as a person reads it: never 0 for what nobody knows the price of."""
        if self.unpriced and self.unpriced == self.requests:
            return "price unknown"
        known = f"{self.cost_usd:.4f} USD"
        return f"{known} and {self.unpriced} of unknown price" if self.unpriced else known

    @staticmethod
    def total(usages: "Iterable[Usage]") -> "Usage":
        """The sum of several."""
        return reduce(Usage.plus, usages, Usage())


def left_of(budget: Money, spend: Spend) -> Money:
    """What is left of a budget, never below zero."""
    spent = spend.by_currency.get(budget.currency, Decimal(0))
    return Money(amount=max(budget.amount - spent, budget.amount * 0), currency=budget.currency)


def told_left(left: Money, unpriced: int) -> str:
    """What is left, as it is told to people: at most that, while the price of calls is unknown."""
    if not unpriced:
        return str(left)
    return f"{left} at most, not counting {Spend(unpriced=unpriced)},"


def over_budget(budget: Money | None, spend: Spend, price: Money | None) -> str | None:
    """Why `price` on top of `spend` does not fit `budget`; None when it does.

    A price in another currency than the budget's does not fit: we hold no exchange rates, and a
    guess would be a guess with somebody's money.
    """
    if budget is None or price is None:
        return None
    if price.currency != budget.currency:
        return f"the price {price} is not in the budget's currency, {budget.currency}"
    spent = spend.by_currency.get(budget.currency, Decimal(0))
    if spent + price.amount <= budget.amount:
        return None
    left = told_left(left_of(budget, spend), spend.unpriced)
    return f"{price} is more than the {left} left of the budget of {budget}"


def over_budget_with_fee(
    budget: Money | None, spend: Spend, price: Money | None, fee: Money | None
) -> str | None:
    """Why a price, and what undoing may cost, do not fit `budget` together; None when they do."""
    if (refusal := over_budget(budget, spend, price)) is not None:
        return refusal
    refusal = over_budget(budget, spend.plus(price), fee)
    if refusal is None:
        return None
    return f"undoing it may cost {fee}, which is kept aside: {refusal}"
