"""x-orchet-price of an operation, read."""

from typing import Final

from orchestrator.catalog.expressions import Message, parse_expression
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.price_contract import PRICE, PriceContract, PricePlace
from orchestrator.core import currencies
from orchestrator.json_schema.document import DocumentNode

_ENDS: Final = ("expected", "charged")
_LAYOUT: Final = frozenset({"amount", "currency", "minor-units"})
MOST_DECIMALS: Final = 9


def read_price(operation: Operation) -> PriceContract | None:
    """What the operation declares of the price of a call; None when it declares nothing.

    `$request...` alone is what a call will cost, `$response...` what it did cost.

    Raises:
        DocumentInvalid: it is no expression, no layout, or reads an answer before there is one.
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


def _units(node: DocumentNode) -> bool | int:
    value = node.value
    if isinstance(value, bool) or (isinstance(value, int) and 0 <= value <= MOST_DECIMALS):
        return value
    raise node.invalid("minor-units is true, false or a number of decimals")


def _message(place: PricePlace) -> Message:
    return parse_expression(place.amount).message
