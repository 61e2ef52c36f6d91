"""What undoing a call may cost, as its document declares it: x-orchet-compensation-fee."""

from decimal import Decimal
from typing import Final

from pydantic import Field

from orchestrator.core import currencies
from orchestrator.core.budget import Money
from orchestrator.core.record import Record
from orchestrator.json_schema.document import DocumentNode

_SUM: Final = frozenset({"amount", "currency"})
_SHARE: Final = frozenset({"share"})


class CompensationFee(Record):
    """What a provider keeps or charges when something is undone: a sum, or a share of the price."""

    amount: Money | None = None
    share: Decimal | None = Field(default=None, gt=0, le=1)

    def of(self, price: Money | None) -> Money | None:
        """What it comes to; None: a share of a price that nobody knows."""
        return self.amount or share_of(price, self.share)


def share_of(price: Money | None, share: Decimal | None) -> Money | None:
    """A share of a price; None where there is no price, or no share."""
    if price is None or not share:
        return None
    return Money(amount=price.amount * share, currency=price.currency)


def read_fee(declared: DocumentNode) -> CompensationFee:
    """The fee that an operation declares.

    Raises:
        DocumentInvalid: it is neither a sum nor a share.
    """
    written = declared.value
    keys = frozenset(written) if isinstance(written, dict) else frozenset()
    if keys == _SUM:
        currency = declared.require("currency")
        if not isinstance(currency.value, str) or not currencies.exists(currency.value):
            raise currency.invalid(f"{currency.value!r} is no currency of ISO 4217")
        amount = _number(declared.require("amount"))
        return CompensationFee(amount=Money(amount=amount, currency=currency.value))
    if keys == _SHARE:
        node = declared.require("share")
        share = _number(node)
        if not 0 < share <= 1:
            raise node.invalid("a share of the price is wanted: above 0, at most 1")
        return CompensationFee(share=share)
    raise declared.invalid("a fee is {amount, currency}, or {share} of the price")


def _number(node: DocumentNode) -> Decimal:
    """A number as it is written: 0.1 is a tenth."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise node.invalid("a number is wanted, 0 or more")
    return Decimal(str(value))
