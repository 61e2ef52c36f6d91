"""Money, tokens, budgets and spending: pure arithmetic."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Annotated, Final, Literal

from iso4217 import Currency as _Entry
from pydantic import Field

from orchestrator.core.errors import UsageError
from orchestrator.core.record import Record

EXPONENTS: Final[Mapping[str, int]] = {
    entry.code: entry.exponent for entry in _Entry if entry.exponent is not None
}
"""Maps each currency code to its number of decimals. Metals, units of account and the codes for
tests and for no currency are omitted, as no price is stated in them."""


def is_currency(code: str) -> bool:
    """Return True if a code, in capitals, is of a currency in which prices are stated."""
    return code in EXPONENTS


def in_major_units(amount: Decimal, exponent: int) -> Decimal:
    """Convert an amount in minor units to units of a currency with that many decimals.

    >>> in_major_units(Decimal(2500), 2)
    Decimal('25.00')
    """
    return amount.scaleb(-exponent)


def in_minor_units(amount: Decimal, exponent: int) -> int | None:
    """Convert an amount to a whole number of minor units; None if it is not whole.

    >>> in_minor_units(Decimal("25.5"), 2)
    2550
    """
    minor = amount.scaleb(exponent)
    return int(minor) if minor == minor.to_integral_value() else None


def has_too_many_decimals(amount: Decimal, code: str) -> bool:
    """Return True if an amount is finer than its currency allows: 2,500.50 without cents."""
    return in_minor_units(amount, EXPONENTS.get(code, 2)) is None


Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code")]


class Money(Record):
    """An amount in one currency: `Money(amount="181.40", currency="EUR")`."""

    # Written out for people, 1e999999999 would be a text of 1 GB.
    amount: Decimal = Field(ge=0, allow_inf_nan=False, max_digits=60)
    currency: Currency

    def __str__(self) -> str:
        """Return text for people: `181.40 EUR`, `1,000 JPY`; no given decimal is dropped."""
        written = -int(self.amount.normalize().as_tuple().exponent)
        decimals = max(EXPONENTS.get(self.currency, 2), written)
        return f"{self.amount:,.{decimals}f} {self.currency}"


def check_currencies(value: object) -> None:
    """Refuse a value of ours in which any amount is in an unknown currency.

    Messages are not checked when they are read, so that messages recorded under an older table of
    currencies stay readable.
    """
    if isinstance(value, Money) and not is_currency(value.currency):
        raise UsageError(
            f"{value.currency!r} is no currency of ISO 4217, so nothing can be paid in it; "
            "write a code such as EUR, USD or JPY"
        )
    if isinstance(value, Record):
        value = [getattr(value, name) for name in type(value).model_fields]
    if isinstance(value, dict):
        value = list(value.values())
    for inner in value if isinstance(value, list | tuple) else ():
        check_currencies(inner)


class Spend(Record):
    """Amounts spent, by currency; amounts in different currencies are never added."""

    by_currency: dict[Currency, Decimal] = Field(default_factory=dict)
    unpriced: int = Field(default=0, ge=0, description="number of calls with an unknown price")

    def __str__(self) -> str:
        """Return text for people: `12.00 EUR and 1 call of unknown price`, `nothing`."""
        parts = [*map(str, self.amounts())]
        if self.unpriced:
            parts.append(f"{self.unpriced} call{'s' if self.unpriced > 1 else ''} of unknown price")
        return " and ".join(parts) or "nothing"

    def plus(self, money: Money | None) -> "Spend":
        """Return this spending plus one more amount; None adds nothing."""
        if money is None:
            return self
        total = self.by_currency.get(money.currency, Decimal(0)) + money.amount
        return self.model_copy(update={"by_currency": {**self.by_currency, money.currency: total}})

    def amounts(self) -> list[Money]:
        """Return one amount per currency, sorted by currency code."""
        return [Money(amount=a, currency=c) for c, a in sorted(self.by_currency.items())]

    @staticmethod
    def total(spends: "Iterable[Spend]") -> "Spend":
        """Return the sum of several."""
        every = tuple(spends)
        unpriced = Spend(unpriced=sum(s.unpriced for s in every))
        return reduce(Spend.plus, (money for s in every for money in s.amounts()), unpriced)


class Usage(Record):
    """Tokens and costs of requests to models."""

    requests: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0, description="includes cached tokens")
    cached_tokens: int = Field(default=0, ge=0, description="input tokens read from a cache")
    written_tokens: int = Field(default=0, ge=0, description="input tokens written to a cache")
    output_tokens: int = Field(default=0, ge=0, description="includes reasoning tokens")
    reasoning_tokens: int = Field(default=0, ge=0, description="output tokens of reasoning")
    cost_usd: Decimal = Field(default=Decimal(0), ge=0, description="sum of the known prices")
    unpriced: int = Field(default=0, ge=0, description="requests without a known price")

    def plus(self, other: "Usage | None") -> "Usage":
        """Return this usage plus another; None adds nothing."""
        if other is None:
            return self
        return Usage.model_validate(
            {name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields}
        )

    def __str__(self) -> str:
        """Return text: `2 requests, 4,120 tokens in (3,072 cached), 210 out, 0.01 USD`."""
        if not self.requests:
            return "no model was asked"
        cached = f" ({self.cached_tokens:,} cached)" if self.cached_tokens else ""
        asked = f"{self.requests} request{'s' if self.requests > 1 else ''}"
        tokens = f"{self.input_tokens:,} tokens in{cached}, {self.output_tokens:,} out"
        return f"{asked}, {tokens}, {self.cost_text}"

    @property
    def cost_text(self) -> str:
        """Return the cost as text for people; never 0 where the price is unknown."""
        if self.unpriced and self.unpriced == self.requests:
            return "price unknown"
        known = f"{self.cost_usd:.4f} USD"
        return f"{known} and {self.unpriced} of unknown price" if self.unpriced else known

    @staticmethod
    def total(usages: "Iterable[Usage]") -> "Usage":
        """Return the sum of several."""
        return reduce(Usage.plus, usages, Usage())


def left_of(budget: Money, spend: Spend) -> Money:
    """Return the rest of a budget, never below zero."""
    spent = spend.by_currency.get(budget.currency, Decimal(0))
    return Money(amount=max(budget.amount - spent, budget.amount * 0), currency=budget.currency)


def rest_text(left: Money, unpriced: int) -> str:
    """Return the rest of a budget as text, with "at most" while the price of calls is unknown."""
    if not unpriced:
        return str(left)
    return f"{left} at most, not counting {Spend(unpriced=unpriced)},"


def overspent(budget: Money | None, spend: Spend) -> str:
    """Return how a budget was, or may have been, exceeded, as part of a sentence; else ''."""
    if budget is None:
        return ""
    account = f"exceeded its budget of {budget} (spent: {spend})"
    if spend.by_currency.get(budget.currency, Decimal(0)) > budget.amount:
        return f"has {account}"
    return (
        f"may have {account}" if spend.unpriced or {*spend.by_currency} - {budget.currency} else ""
    )


def over_budget(budget: Money | None, spend: Spend, price: Money | None) -> str | None:
    """Return why `price` on top of `spend` exceeds `budget`; None when it does not.

    An unknown price fits until the budget is exceeded. A price in another currency than the
    budget's does not fit: we have no exchange rates, and guessing would risk somebody's money.
    """
    if budget is None:
        return None
    if price is None:
        sentence = overspent(budget, spend)
        return f"the mission {sentence}" if sentence.startswith("has") else None
    if price.currency != budget.currency:
        return f"the price {price} is not in the budget's currency, {budget.currency}"
    spent = spend.by_currency.get(budget.currency, Decimal(0))
    if spent + price.amount <= budget.amount:
        return None
    left = rest_text(left_of(budget, spend), spend.unpriced)
    return f"{price} is more than the {left} left of the budget of {budget}"


def over_budget_with_fee(
    budget: Money | None, spend: Spend, price: Money | None, fee: Money | None
) -> str | None:
    """Return why a price and its cancellation fee do not fit `budget`; None when they do."""
    if (refusal := over_budget(budget, spend, price)) is not None:
        return refusal
    refusal = over_budget(budget, spend.plus(price), fee) if fee is not None else None
    if refusal is None:
        return None
    return f"cancelling it may cost {fee}, which is reserved: {refusal}"


OnOvercharge = Literal["ask", "keep", "cancel"]
"""The consequence of a charge above the approved price."""


class SpendingLimit(Record):
    """The maximum cost of one call, and the consequence of a higher charge."""

    approved: Money = Field(description="amount that people, or rules for them, approved")
    at_most: Money = Field(description="highest charge that nobody is asked about")
    on_overcharge: OnOvercharge = "ask"

    def exceeded_by(self, charged: Money | None) -> Money | None:
        """Return the amount charged above the approved price; None if there is none or none known.

        For a charge in another currency no part is known to be approved, as we have no exchange
        rates.
        """
        if charged is None:
            return None
        if charged.currency != self.approved.currency:
            return charged
        if charged.amount <= self.at_most.amount:
            return None
        return Money(amount=charged.amount - self.approved.amount, currency=charged.currency)


class Overcharge(Record):
    """The difference between the charged and the approved price."""

    approved: Money
    charged: Money
    more: Money = Field(
        description="amount above the approval; the whole charge if the currency differs"
    )

    def __str__(self) -> str:
        """Return part of a sentence."""
        return f"{self.charged} was charged, and {self.approved} was approved"


def limit_of(
    approved: Money,
    *,
    tolerance: Decimal = Decimal(0),
    standing: Money | None = None,
    on_overcharge: OnOvercharge = "ask",
) -> SpendingLimit:
    """Return the limit of a call that was approved at this price.

    The tolerance is a fraction of the price: 0.05 is 5 %. `standing` is the highest price that the
    call's standing approval covers, if it sets an amount.
    """
    most = approved.amount * (1 + tolerance)
    if standing is not None and standing.currency == approved.currency:
        most = max(most, standing.amount)
    at_most = Money(amount=most, currency=approved.currency)
    return SpendingLimit(approved=approved, at_most=at_most, on_overcharge=on_overcharge)
