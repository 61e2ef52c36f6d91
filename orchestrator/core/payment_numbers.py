"""Recognise card and account numbers by their check digits, in the forms that people type."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue
from stdnum import iban, luhn

_GAP: Final = r"(?: ?[./-])? ?"
_DIGITS: Final = re.compile(rf"(?<![\w-])\d(?:{_GAP}\d){{12,18}}(?![\w-])")
_IBAN: Final = re.compile(rf"\b[A-Z]{{2}}\d{{2}}(?:{_GAP}[A-Z0-9]){{11,30}}\b", re.IGNORECASE)
_HYPHENS: Final = {ord(c): "-" for c in "\u2010\u2011\u2012\u2013\u2014\u2212"}


def payment_number(value: JsonValue) -> str | None:
    """Return the kind of number in a value, such as `a card number`; None without one.

    The result never quotes the value.
    """
    return next((kind for text in texts_of(value) if (kind := kind_of(plain(text)))), None)


def kind_of(text: str) -> str | None:
    """Return the kind of payment number in a plain text."""
    if any(luhn.is_valid(re.sub(r"\D", "", found)) for found in _DIGITS.findall(text)):
        return "a card number"
    if any(iban.is_valid(found, check_country=False) for found in _IBAN.findall(text)):
        return "an account number (IBAN)"
    return None


def plain(text: str) -> str:
    """Return a text in plain digits and signs, without invisible characters."""
    folded = unicodedata.normalize("NFKC", text).translate(_HYPHENS)
    seen = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return " ".join(seen.split())


def texts_of(value: JsonValue) -> Iterator[str]:
    """Yield every text and number of a value, with property names; numbers without exponents."""
    if isinstance(value, dict):
        for name, held in value.items():
            yield name
            yield from texts_of(held)
    elif isinstance(value, list):
        for held in value:
            yield from texts_of(held)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:.0f}" if value == value // 1 else str(value)
