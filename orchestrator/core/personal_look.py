"""Recognise values that look personal: a card, an account, a passport, an e-mail, a phone number.

Only undeclared values are checked, where a false alarm merely requires a better name.
"""

import re
from contextlib import suppress
from typing import Final

from email_validator import EmailNotValidError, validate_email
from phonenumbers import PhoneNumberMatcher
from pydantic import JsonValue

from orchestrator.core.payment_numbers import kind_of, plain, texts_of

_EMAIL: Final = re.compile(r"[^\s@<>()\[\]{},;:\"'=/?&|]{1,64}@[^\s@<>()\[\]{},;:\"'=/?&|]{1,255}")
_PASSPORT: Final = re.compile(r"(?=(?:[A-Z]*\d){5})[A-Z][A-Z0-9]{7,8}", re.IGNORECASE)
"""A letter, then letters and digits, eight or nine characters, mostly digits: passports share no
form, and have check digits only in their machine-readable zone."""
_LONGEST: Final = 10_000
"""Characters of a text that are searched for phone numbers, the slowest of the checks."""


def personal_look(value: JsonValue) -> str | None:
    """Return the kind of personal value in a value, such as `an e-mail address`; None without one.

    The result never quotes the value.
    """
    for text in map(plain, texts_of(value)):
        if (number := kind_of(text)) is not None:
            return number
        for found in _EMAIL.findall(text):
            with suppress(EmailNotValidError):
                word = found.strip(".")
                validate_email(word, check_deliverability=False, globally_deliverable=False)
                return "an e-mail address"
        if "+" in text and PhoneNumberMatcher(text[:_LONGEST], None).has_next():
            return "a phone number"
        if _PASSPORT.fullmatch(text.strip()):
            return "the number of a passport"
    return None
