"""Declared prices and fees: x-orchet-price and x-orchet-compensation-fee, with their models."""

from decimal import Decimal
from typing import Final, Literal, cast

from pydantic import Field, JsonValue

from orchestrator.catalog.expressions import parse_expression
from orchestrator.catalog.operations import Operation
from orchestrator.core import budget
from orchestrator.core.budget import Money
from orchestrator.core.record import Record
from orchestrator.json_schema.document import DocumentNode

PRICE: Final = "x-orchet-price"
"""On an operation: the place of a call's price. On a property: it is the price of its object.

In a body in major units (see money.py): the price that such a property has.
"""
MINOR_UNITS: Final = "x-orchet-minor-units"
"""On a property, or the object around it: True if a number counts the currency's smallest unit."""
_ENDS: Final = frozenset({"expected", "charged"})
_MOST_DECIMALS: Final = 9


MinorUnits = bool | int | dict[str, int | Literal["iso"]]
"""A map has decimals by currency; `default` is for all others; `iso` means ISO 4217's decimals."""


class PricePlace(Record):
    """The place of one price: an amount, or an object of amount and currency."""

    amount: str = Field(description="a runtime expression")
    currency: str | None = Field(
        default=None,
        description="a runtime expression, or a code; None when it stands next to the amount",
    )
    minor_units: MinorUnits | None = Field(
        default=None,
        description="true, false, a number of decimals, or either by currency; None: by the schema",
    )


class PriceContract(Record):
    """The expected and the charged price of a call, each as far as it is declared."""

    is_free: bool = Field(default=False, description="true if a call costs nothing")
    expected: PricePlace | None = Field(
        default=None, description="price in the request; None: as quoted"
    )
    charged: PricePlace | None = Field(
        default=None, description="price in the answer; None: by its schema and names"
    )


def read_price(operation: Operation) -> PriceContract | None:
    """Return the price that the operation declares, or None.

    `$request...` alone is the expected price, `$response...` the charged price.

    Raises:
        DocumentInvalid: the expected price reads an answer, or a currency does not exist.
    """
    declared = operation.node.at(PRICE)
    if declared is None:
        return None
    if declared.value is False:
        return PriceContract(is_free=True)
    ends = dict(declared.items()) if isinstance(declared.value, dict) else {}
    if not ends.keys() & _ENDS:
        place = _place(declared)
        end = "expected" if parse_expression(place.amount).message == "request" else "charged"
        return PriceContract.model_validate({end: place})
    contract = PriceContract.model_validate({end: _place(node) for end, node in ends.items()})
    asked = contract.expected
    if asked is not None and parse_expression(asked.amount).message != "request":
        raise declared.require("expected").invalid("before the call there is only $request")
    return contract


def _place(declared: DocumentNode) -> PricePlace:
    if isinstance(declared.value, str):
        return PricePlace(amount=declared.value)
    currency, units = declared.at("currency"), declared.at("minor-units")
    if currency is not None and not currency.text().startswith("$"):
        check_currency(currency)
    if units is not None and minor_units_in(units.value) is None:
        raise units.invalid("a currency of this map is no currency of ISO 4217")
    return PricePlace(
        amount=declared.require("amount").text(),
        currency=currency.text() if currency is not None else None,
        minor_units=minor_units_in(units.value) if units is not None else None,
    )


def check_currency(node: DocumentNode) -> None:
    """Refuse a code that is not a currency.

    Raises:
        DocumentInvalid: ISO 4217 does not list the code.
    """
    if not budget.is_currency(node.text()):
        raise node.invalid(f"{node.text()!r} is no currency of ISO 4217")


def minor_units_in(value: JsonValue) -> MinorUnits | None:
    """Return a declaration of minor units, or None if the value is not one."""
    if not isinstance(value, dict):
        return cast("int", value) if isinstance(value, bool) or _is_decimals(value) else None
    are_known = all(name == "default" or budget.is_currency(name) for name in value)
    are_decimals = all(inner == "iso" or _is_decimals(inner) for inner in value.values())
    return cast("MinorUnits", value) if value and are_known and are_decimals else None


def _is_decimals(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_DECIMALS


class CompensationFee(Record):
    """The cost of a cancel: a sum, or a share of the price."""

    amount: Money | None = None
    share: Decimal | None = Field(default=None, gt=0, le=1)

    def of(self, price: Money | None) -> Money | None:
        """Return the fee for this price; None for a share of an unknown price."""
        return self.amount or share_of(price, self.share)


def share_of(price: Money | None, share: Decimal | None) -> Money | None:
    """Return a share of a price; None without a price or a share."""
    if price is None or not share:
        return None
    return Money(amount=price.amount * share, currency=price.currency)


def read_fee(declared: DocumentNode) -> CompensationFee:
    """Read the fee that an operation declares.

    Raises:
        DocumentInvalid: its currency does not exist.
    """
    if (share := declared.at("share")) is not None:
        return CompensationFee(share=Decimal(str(share.value)))
    currency, amount = declared.require("currency"), declared.require("amount")
    check_currency(currency)
    exact = Decimal(str(amount.value))  # by its text: 0.1 is a tenth
    return CompensationFee(amount=Money(amount=exact, currency=currency.text()))
