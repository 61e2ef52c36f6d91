"""Declared prices and fees: x-orchet-price and x-orchet-compensation-fee, with their models."""

from decimal import Decimal
from typing import Final, Literal, cast

from pydantic import Field, JsonValue

from orchestrator.catalog.expressions import Message, parse_expression
from orchestrator.catalog.operations import Operation
from orchestrator.core import currencies
from orchestrator.core.budget import Money
from orchestrator.core.record import Record
from orchestrator.json_schema.document import DocumentNode

PRICE: Final = "x-orchet-price"
"""On an operation: where the price of a call stands. On a property: it is the price of its object.
In a body in major units (see money_units.py): the price that such a property holds."""
MINOR_UNITS: Final = "x-orchet-minor-units"
"""On a property, or the object around it: True if a number counts the currency's smallest unit."""
_ENDS: Final = ("expected", "charged")
_LAYOUT: Final = frozenset({"amount", "currency", "minor-units"})
_MOST_DECIMALS: Final = 9
_SUM: Final = frozenset({"amount", "currency"})
_SHARE: Final = frozenset({"share"})


MinorUnits = bool | int | dict[str, int | Literal["iso"]]
"""A map has decimals by currency; `default` is for all others, and `iso` what ISO 4217 says."""


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

    `$request...` alone is the expected price, `$response...` the charged one.

    Raises:
        DocumentInvalid: a value is malformed, or the expected price reads an answer.
    """
    declared = operation.node.at(PRICE)
    if declared is None:
        return None
    if declared.value is False:
        return PriceContract(is_free=True)
    if not any(declared.at(end) is not None for end in _ENDS if isinstance(declared.value, dict)):
        place = _place(declared)
        end = "expected" if _message(place) == "request" else "charged"
        return PriceContract.model_validate({end: place})
    for name, inner in declared.raw_items():
        if name not in _ENDS:
            raise inner.invalid("a price has the ends expected and charged")
    ends = {end: declared.at(end) for end in _ENDS}
    places = {end: _place(node) for end, node in ends.items() if node is not None}
    contract = PriceContract.model_validate(places)
    if contract.expected is not None and _message(contract.expected) != "request":
        raise declared.require("expected").invalid("before the call there is only $request")
    return contract


def _place(declared: DocumentNode) -> PricePlace:
    if isinstance(declared.value, str):
        return PricePlace(amount=_expression(declared))
    for name, inner in declared.raw_items():
        if name not in _LAYOUT:
            raise inner.invalid("a price is laid out by amount, currency and minor-units")
    currency, units = declared.at("currency"), declared.at("minor-units")
    return PricePlace(
        amount=_expression(declared.require("amount")),
        currency=_currency(currency) if currency is not None else None,
        minor_units=_units(units) if units is not None else None,
    )


def _expression(node: DocumentNode) -> str:
    try:
        parse_expression(node.text())
    except ValueError as error:
        raise node.invalid(str(error)) from error
    return node.text()


def _currency(node: DocumentNode) -> str:
    text = node.text()
    if text.startswith("$"):
        return _expression(node)
    if not currencies.exists(text):
        raise node.invalid(f"{text!r} is no currency of ISO 4217")
    return text


def minor_units_in(value: JsonValue) -> MinorUnits | None:
    """Return a declaration of minor units, or None if the value is none."""
    if isinstance(value, bool) or _is_decimals(value):
        return cast("bool | int", value)
    if not isinstance(value, dict) or not value:
        return None
    are_known = all(name == "default" or currencies.exists(name) for name in value)
    are_decimals = all(inner == "iso" or _is_decimals(inner) for inner in value.values())
    return cast("MinorUnits", value) if are_known and are_decimals else None


def _is_decimals(value: JsonValue) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and 0 <= cast("int", value) <= _MOST_DECIMALS


def _units(node: DocumentNode) -> MinorUnits:
    if (found := minor_units_in(node.value)) is not None:
        return found
    raise node.invalid(
        "minor-units is true, false, a number of decimals, or a map of these by currency"
    )


def _message(place: PricePlace) -> Message:
    return parse_expression(place.amount).message


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
    """Read a number by its text: 0.1 is a tenth."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise node.invalid("a number is wanted, 0 or more")
    return Decimal(str(value))
