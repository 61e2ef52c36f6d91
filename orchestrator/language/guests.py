"""Whom an order adds to what it makes: "and invite ana@example.com", "with Bo as a guest"."""

import re
from typing import Final

from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("clauses")
_INVITING: Final = "|".join(_LISTS.words("inviting"))
_ADDING: Final = "|".join(_LISTS.words("adding"))
_GUEST: Final = "|".join(_LISTS.words("guests"))
_EMAIL: Final = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_NAME: Final = r"[A-Z][\w'\u2019-]*(?:\s+[A-Z][\w'\u2019-]*)*"
_NAMED: Final = rf"(?:{_EMAIL}|{_NAME}|(?:(?i:him|her|them)|{_NAME})\s+(?i:at|on|via)\s+{_EMAIL})"
_JOINED: Final = r"(?:\s*,\s*(?i:and\s+)?|\s+(?i:and|&|plus)\s+)"
_END: Final = r"(?=\s*(?:[,.;!?]|$)|\s+(?i:and|then|but|plus)\b)"
_GUESTS: Final = re.compile(
    rf"(?:(?i:please|also|then|to)\s+)*(?:(?i:{_INVITING})\s+(?:(?i:just|only|both)\s+)?{_NAMED}"
    rf"(?:{_JOINED}{_NAMED})*(?:\s+(?i:to\s+it|too|as\s+well|by\s+e-?mail))?"
    rf"|(?i:{_ADDING})\s+{_NAMED}(?:{_JOINED}{_NAMED})*\s+(?i:as\s+(?:an?\s+)?(?:{_GUEST})))"
    rf"{_END}"
)
_LED: Final = re.compile(r"(?:\s|,|\band\b|\bplus\b)+$", re.IGNORECASE)


def adds_guests(text: str, start: int = 0) -> bool:
    """Whether a text goes on, from there, with nothing but whom to invite.

    That is a part of what was ordered before it, and no order of its own: an invitation to
    something else says to what.
    """
    return _GUESTS.match(text, start) is not None


def guests_span(text: str) -> tuple[int, int] | None:
    """Where a clause says whom to invite, with what joins it to the rest; None: nowhere.

    What begins with it invites them to something else.
    """
    for found in _GUESTS.finditer(text):
        led = _LED.search(text[: found.start()])
        if led is not None and led.start() > 0:
            return led.start(), found.end()
    return None
