"""Currencies and their decimals, from the table of ISO 4217 itself."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from iso4217 import Currency as _Entry

EXPONENTS: Final[Mapping[str, int]] = {
    entry.code: entry.exponent for entry in _Entry if entry.exponent is not None
}
"""Maps each currency code to its number of decimals. Metals, units of account and the codes for
tests and for no currency are omitted, as no price is stated in them."""


def exists(code: str) -> bool:
    """Return True if a code, in capitals, is of a currency in which prices are stated."""
    return code in EXPONENTS


def in_major_units(amount: Decimal, exponent: int) -> Decimal:
    """Convert an amount in minor units to units of a currency with that many decimals.

    >>> in_major_units(Decimal(2500), 2)
    Decimal('25.00')
    """
    return amount.scaleb(-exponent)


def in_minor_units(amount: Decimal, exponent: int) -> int | None:
    """Convert an amount to a whole number of minor units; None if it is not whole.

    >>> in_minor_units(Decimal("25.5"), 2)
    2550
    """
    minor = amount.scaleb(exponent)
    return int(minor) if minor == minor.to_integral_value() else None


def has_too_many_decimals(amount: Decimal, code: str) -> bool:
    """Return True if an amount is finer than its currency allows: 2,500.50 without cents."""
    return in_minor_units(amount, EXPONENTS.get(code, 2)) is None
