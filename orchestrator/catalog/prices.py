"""The price that an answer states, read from JSON without knowing the provider."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from pydantic import JsonValue, ValidationError

from orchestrator.core.budget import Money
from orchestrator.core.record import JsonObject

_PRICE_NAMES = (
    "total",
    "total_price",
    "total_amount",
    "grand_total",
    "price",
    "cost",
    "charge",
    "charged",
    "amount",
)
"""Most telling first: a total holds the price of what it adds up."""
_CURRENCY_NAMES = ("currency", "currency_code")
_NO_PRICE = (
    "balance",
    "budget",
    "deposit",
    "discount",
    "fee",
    "limit",
    "refund",
    "saving",
    "tax",
)
"""Parts of names of money that is not what the call cost, or only a part of it."""


def price_of(body: JsonValue) -> Money | None:
    """What the body says that something costs; None when it does not say so plainly.

    Read are, in this order, `total`, `price` and their like at the top, each as an object of amount
    and currency or as a number beside a `currency`; then the same one level down, when one member
    alone states a price. Lists are not read (an answer that lists offers has no price of its own),
    nor are refunds, deposits, fees and other money that is not the price.

    Currencies are ISO 4217 codes in capitals: lower case ones come from providers that count in
    minor units, and reading cents as euros would be wrong by a factor of a hundred.
    """
    if not isinstance(body, dict):
        return None
    found = _stated_price(body)
    if found is not None:
        return found
    inner = [price for member in _members(body) if (price := _stated_price(member)) is not None]
    return inner[0] if len(inner) == 1 else None


def _stated_price(body: JsonObject) -> Money | None:
    for name in _PRICE_NAMES:
        value = body.get(name)
        money = _money_object(value) if isinstance(value, dict) else _beside_currency(value, body)
        if money is not None:
            return money
    return None


def _members(body: JsonObject) -> Iterator[JsonObject]:
    for name, value in body.items():
        if isinstance(value, dict) and not any(part in name.lower() for part in _NO_PRICE):
            yield value


def _money_object(value: JsonObject) -> Money | None:
    for name in ("amount", "value", "total"):
        money = _beside_currency(value.get(name), value)
        if money is not None:
            return money
    return None


def _beside_currency(amount: JsonValue, holder: JsonObject) -> Money | None:
    for name in _CURRENCY_NAMES:
        currency = holder.get(name)
        if isinstance(currency, str):
            return _money(amount, currency)
    return None


def _money(amount: JsonValue, currency: str) -> Money | None:
    """The money, when the amount is a number or the text of one, not negative."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | str):
        return None
    try:
        # By its text: 249.9 is the amount that was written, its binary neighbour was not.
        return Money(amount=Decimal(str(amount)), currency=currency)
    except (InvalidOperation, ValidationError):
        return None
