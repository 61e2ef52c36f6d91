"""Currencies: which exist, and how many decimals each has, both by the table of ISO 4217 itself."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from iso4217 import Currency as _Entry

EXPONENTS: Final[Mapping[str, int]] = {
    entry.code: entry.exponent for entry in _Entry if entry.exponent is not None
}
"""The code of each currency to its number of decimals. Metals, units of account and the codes for
tests and for no currency have none, and no price is in them."""


def exists(code: str) -> bool:
    """Whether a code, in capitals, is that of a currency in which things are paid."""
    return code in EXPONENTS


def in_major_units(amount: Decimal, exponent: int) -> Decimal:
    """An amount in minor units as one in units of the currency, in which it has that many decimals.

    >>> in_major_units(Decimal(2500), 2)
    Decimal('25.00')
    """
    return amount.scaleb(-exponent)


def in_minor_units(amount: Decimal, exponent: int) -> int | None:
    """An amount in units of the currency as a whole number of minor ones; None when it is none.

    >>> in_minor_units(Decimal("25.5"), 2)
    2550
    """
    minor = amount.scaleb(exponent)
    return int(minor) if minor == minor.to_integral_value() else None


def has_too_many_decimals(amount: Decimal, code: str) -> bool:
    """Whether nothing can cost that: a currency without cents has no amount of 2,500.50."""
    return in_minor_units(amount, EXPONENTS.get(code, 2)) is None
