"""Amounts of money: finds them in answers, and writes them in a given shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

DEFAULT_CURRENCY = "EUR"
# Ordered by trust: a total comes before the price of one part.
MONEY_NAMES = ("total_price", "total_amount", "total", "price", "amount", "charge", "fare", "cost")
_CENT = Decimal("0.01")


class CurrencyAmount(NamedTuple):
    """An exact amount with two decimals, and its ISO 4217 currency."""

    amount: Decimal
    currency: str = DEFAULT_CURRENCY

    def times(self, count: int) -> CurrencyAmount:
        """Return the amount multiplied by a count."""
        return CurrencyAmount(self.amount * count, self.currency)

    def to_json(self) -> dict[str, Any]:
        """Return {amount, currency}; the amount is a number with at most two decimals."""
        return {"amount": float(self.amount), "currency": self.currency}


def money(amount: Any, currency: str | None = None) -> CurrencyAmount:
    """Return an amount rounded to cents, half up.

    Raises:
        decimal.InvalidOperation: amount is not a number.
    """
    exact = Decimal(str(amount)).quantize(_CENT, rounding=ROUND_HALF_UP)
    return CurrencyAmount(exact, currency or DEFAULT_CURRENCY)


def total(parts: Iterable[CurrencyAmount]) -> CurrencyAmount:
    """Return the sum, in the currency of the first part; zero EUR for no parts."""
    listed = list(parts)
    if not listed:
        return money(0)
    return CurrencyAmount(
        sum((part.amount for part in listed), Decimal("0.00")), listed[0].currency
    )


def find_money(body: Any) -> CurrencyAmount | None:
    """Return an object's amount: {amount, currency} or a number, under a usual name."""
    if not isinstance(body, Mapping):
        return None
    for name in MONEY_NAMES:
        found = _read(body.get(name), body.get("currency"))
        if found:
            return found
    others = (_read(value, None) for value in body.values() if isinstance(value, Mapping))
    return next((found for found in others if found), None)


def raise_money(body: Any, factor: Decimal) -> None:
    """Multiply the amount of an object in place."""
    if not isinstance(body, dict):
        return
    for name in MONEY_NAMES:
        found = _read(body.get(name), body.get("currency"))
        if found:
            dearer = float(money(found.amount * factor).amount)
            is_pair = isinstance(body[name], Mapping)
            body[name] = {**body[name], "amount": dearer} if is_pair else dearer
            return
    for value in body.values():
        if isinstance(value, Mapping) and _read(value, None) is not None:
            raise_money(value, factor)
            return


def _read(value: Any, currency: Any) -> CurrencyAmount | None:
    if isinstance(value, Mapping) and _is_number(value.get("amount")):
        return money(value["amount"], value.get("currency") or currency)
    if _is_number(value):
        return money(value, currency if isinstance(currency, str) else None)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
