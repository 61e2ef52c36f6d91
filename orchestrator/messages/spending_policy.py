"""What a mission's policy says of money: of prices that nobody knows, and of charges above them."""

from decimal import Decimal
from typing import Final, Literal

from pydantic import Field

from orchestrator.core.record import Record
from orchestrator.core.spending_limit import OnOvercharge

UnknownPrice = Literal["ask", "refuse", "allow"]

_UNKNOWN_PRICE: Final[tuple[UnknownPrice, ...]] = ("allow", "ask", "refuse")
_ON_OVERCHARGE: Final[tuple[OnOvercharge, ...]] = ("keep", "ask", "undo")
"""The widest first."""


class SpendingPolicy(Record):
    """Rules on the money of a mission, beside its budget."""

    unknown_price: UnknownPrice = Field(
        default="ask",
        description="of a call that costs nobody knows what, in a mission with a budget: a person "
        "decides, it is refused, or it is treated as any other",
    )
    overcharge_tolerance: Decimal = Field(
        default=Decimal(0),
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="the fraction of the approved price by which more may be charged without an "
        "overcharge: 0.05 is 5 %",
    )
    fee_share: Decimal = Field(
        default=Decimal(0),
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="the share of the price of each call that can be undone which is kept aside of "
        "the budget for a fee, where its document says no fee: 0.1 is 10 %",
    )
    on_overcharge: OnOvercharge = Field(
        default="ask",
        description="of what cost more than was approved: a person decides, it is kept, or undone",
    )

    def beside(self, other: "SpendingPolicy") -> "SpendingPolicy":
        """What holds where both do: of each rule the stricter."""
        return SpendingPolicy(
            unknown_price=max(self.unknown_price, other.unknown_price, key=_UNKNOWN_PRICE.index),
            overcharge_tolerance=min(self.overcharge_tolerance, other.overcharge_tolerance),
            fee_share=max(self.fee_share, other.fee_share),
            on_overcharge=max(self.on_overcharge, other.on_overcharge, key=_ON_OVERCHARGE.index),
        )

    def wider_than(self, other: "SpendingPolicy") -> tuple[str, ...]:
        """What this one allows beyond the other, a sentence each.

        The stricter rule holds anyway, so a default counts as not said.
        """
        usual, found = SpendingPolicy(), []
        for name in SpendingPolicy.model_fields:
            mine = getattr(self, name)
            if mine != getattr(usual, name) and mine != getattr(self.beside(other), name):
                theirs = getattr(other, name)
                found.append(f"spending.{name} ({mine}) is wider than the worker's ({theirs})")
        return tuple(found)
