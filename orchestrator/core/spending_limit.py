"""Approved prices, and charges above them: pure arithmetic."""

from decimal import Decimal
from typing import Literal

from pydantic import Field

from orchestrator.core.budget import Money
from orchestrator.core.record import Record

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

    Args:
        approved: the expected price at the time of the approval.
        tolerance: a fraction of the price: 0.05 is 5 %.
        standing: the highest price that the call's standing approval covers; None: there is none,
            or it sets no amount.
        on_overcharge: the consequence when the call costs more.
    """
    most = approved.amount * (1 + tolerance)
    if standing is not None and standing.currency == approved.currency:
        most = max(most, standing.amount)
    at_most = Money(amount=most, currency=approved.currency)
    return SpendingLimit(approved=approved, at_most=at_most, on_overcharge=on_overcharge)
