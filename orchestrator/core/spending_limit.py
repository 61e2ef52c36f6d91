"""What was approved of a price, and by how much a provider charged more: pure arithmetic."""

from decimal import Decimal
from typing import Literal

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.record import Record

OnOvercharge = Literal["ask", "keep", "undo"]
"""What follows when more was charged than was approved."""


class SpendingLimit(Record):
    """What one call may cost, and what follows when its provider charges more."""

    approved: Money = Field(description="what people, or the rules that stand for them, have seen")
    at_most: Money = Field(description="the highest charge that nobody is asked about")
    on_overcharge: OnOvercharge = "ask"

    def exceeded_by(self, charged: Money | None) -> Money | None:
        """How much more was charged than approved; None when it was not, or nobody says what was.

        In another currency none of it is known to be approved: we hold no exchange rates.
        """
        if charged is None:
            return None
        if charged.currency != self.approved.currency:
            return charged
        if charged.amount <= self.at_most.amount:
            return None
        return Money(amount=charged.amount - self.approved.amount, currency=charged.currency)


class Overcharge(Record):
    """What was charged beyond what was approved, once both are known."""

    approved: Money
    charged: Money
    more: Money = Field(description="by how much; in another currency than approved: all of it")

    def __str__(self) -> str:
        """As a part of a sentence."""
        return f"{self.charged} was charged, and {self.approved} was approved"


def limit_of(
    approved: Money,
    *,
    tolerance: Decimal = Decimal(0),
    standing: Money | None = None,
    on_overcharge: OnOvercharge = "ask",
) -> SpendingLimit:
    """What a call may cost that was approved at this price.

    Args:
        approved: the price as it was expected when the call was approved.
        tolerance: a fraction of it: 0.05 is 5 %.
        standing: up to what the standing approval that it has approves such calls; None: there is
            none, or it says no amount.
        on_overcharge: what follows when it costs more.
    """
    most = approved.amount * (1 + tolerance)
    if standing is not None and standing.currency == approved.currency:
        most = max(most, standing.amount)
    at_most = Money(amount=most, currency=approved.currency)
    return SpendingLimit(approved=approved, at_most=at_most, on_overcharge=on_overcharge)
