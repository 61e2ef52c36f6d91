"""Whether a value looks like a person's own: a card, an account, a passport, an e-mail, a phone.

It is asked only of values that nobody declared, where a false alarm costs a better name.
"""

import re
from collections.abc import Iterator
from typing import Final

from email_validator import EmailNotValidError, validate_email
from phonenumbers import PhoneNumberMatcher
from pydantic import JsonValue
from stdnum import iban, luhn

_DIGITS: Final = re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])")
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b", re.IGNORECASE)
_PASSPORT: Final = re.compile(r"(?=(?:[A-Z]*\d){5})[A-Z][A-Z0-9]{7,8}", re.IGNORECASE)
"""A letter, then letters and digits, eight or nine in all and most of them digits: passports have
no form in common, and check digits only in their machine-readable zone."""
_LONGEST: Final = 10_000


def personal_look(value: JsonValue) -> str | None:
    """What a value, or something in it, looks like: `an e-mail address`; None for nothing of it.

    The answer never quotes the value.
    """
    return next((kind for text in _texts(value) if (kind := _kind_of(text[:_LONGEST]))), None)


def _kind_of(text: str) -> str | None:
    if any(luhn.is_valid(re.sub(r"\D", "", found)) for found in _DIGITS.findall(text)):
        return "a card number"
    if any(iban.is_valid(found) for found in _IBAN.findall(text)):
        return "an account number (IBAN)"
    if any(_is_email(word.strip("<>()[],;:\"'.")) for word in text.split() if "@" in word):
        return "an e-mail address"
    if "+" in text and PhoneNumberMatcher(text, None).has_next():
        return "a phone number"
    if _PASSPORT.fullmatch(text.strip()):
        return "the number of a passport"
    return None


def _is_email(word: str) -> bool:
    try:
        validate_email(word, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError:
        return False
    return True


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for held in value.values():
            yield from _texts(held)
    elif isinstance(value, list):
        for held in value:
            yield from _texts(held)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
