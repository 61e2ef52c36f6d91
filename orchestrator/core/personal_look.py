"""Whether a value looks like a person's own: a card, an account, a passport, an e-mail, a phone.

It is asked only of values that nobody declared, where a false alarm costs a better name.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from email_validator import EmailNotValidError, validate_email
from phonenumbers import PhoneNumberMatcher
from pydantic import JsonValue
from stdnum import iban, luhn

_GAP: Final = r"(?: ?[./-])? ?"
_DIGITS: Final = re.compile(rf"(?<![\w-])\d(?:{_GAP}\d){{12,18}}(?![\w-])")
_IBAN: Final = re.compile(rf"\b[A-Z]{{2}}\d{{2}}(?:{_GAP}[A-Z0-9]){{11,30}}\b", re.IGNORECASE)
_EMAIL: Final = re.compile(r"[^\s@<>()\[\]{},;:\"'=/?&|]{1,64}@[^\s@<>()\[\]{},;:\"'=/?&|]{1,255}")
_PASSPORT: Final = re.compile(r"(?=(?:[A-Z]*\d){5})[A-Z][A-Z0-9]{7,8}", re.IGNORECASE)
"""A letter, then letters and digits, eight or nine in all and most of them digits: passports have
no form in common, and check digits only in their machine-readable zone."""
_HYPHENS: Final = {ord(c): "-" for c in "\u2010\u2011\u2012\u2013\u2014\u2212"}
_LONGEST: Final = 10_000
"""How much of a text is searched for phone numbers, which takes longer than all else."""


def personal_look(value: JsonValue) -> str | None:
    """What a value, or something in it, looks like: `an e-mail address`; None for nothing of it.

    The answer never quotes the value.
    """
    return next((kind for text in _texts(value) if (kind := _kind_of(_plain(text)))), None)


def _kind_of(text: str) -> str | None:
    if any(luhn.is_valid(re.sub(r"\D", "", found)) for found in _DIGITS.findall(text)):
        return "a card number"
    if any(iban.is_valid(found) for found in _IBAN.findall(text)):
        return "an account number (IBAN)"
    if any(_is_email(found.strip(".")) for found in _EMAIL.findall(text)):
        return "an e-mail address"
    if "+" in text and PhoneNumberMatcher(text[:_LONGEST], None).has_next():
        return "a phone number"
    if _PASSPORT.fullmatch(text.strip()):
        return "the number of a passport"
    return None


def _plain(text: str) -> str:
    """The text as it is read: in plain digits and signs, without what nobody sees."""
    plain = unicodedata.normalize("NFKC", text).translate(_HYPHENS)
    seen = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    return " ".join(seen.split())


def _is_email(word: str) -> bool:
    try:
        validate_email(word, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError:
        return False
    return True


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for name, held in value.items():
            yield name
            yield from _texts(held)
    elif isinstance(value, list):
        for held in value:
            yield from _texts(held)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:.0f}" if value == value // 1 else str(value)
