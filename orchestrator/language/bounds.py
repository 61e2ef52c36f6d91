"""Whether an amount in a request is a most or a least: "under 900 EUR", "300 USD or less"."""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from typing import Final, Literal

from orchestrator.language.intent import Slot
from orchestrator.language.word_lists import WordLists

Limit = Literal["max", "min"]

_LISTS: Final = WordLists("money")
_COUNTED: Final = 20
"""More than anybody counts people, nights or things up to, who names none of them."""
_DENIED: Final = re.compile(
    rf"(?:\b(?:{'|'.join(_LISTS.words('denied'))})|n['\u2019]t)\b(?:\s+[\w'\u2019]+){{0,3}}\s*$"
)
"""What makes a least the most: "nothing over", "don't pay more than"."""
_LONGEST: Final = 40
"""Characters around an amount in which its bound stands."""


def limit_of(text: str, slot: Slot) -> Limit | None:
    """What the words beside a value make of it; None when it is the very amount."""
    end = slot.position + len(slot.text)
    before = text[max(0, slot.position - _LONGEST) : slot.position].lower()
    after = text[end : end + _LONGEST].lower()
    limit = _said(before, _before())
    if limit == "min" and (least := _before()["min"].search(before)) is not None:
        return "max" if _DENIED.search(before[: least.start()]) else limit
    return limit or _said(after, _behind())


def bare_limits(text: str, quantities: Iterable[Slot]) -> list[tuple[Limit, Decimal]]:
    """The bounds among the numbers of a text that are too great to count people or things.

    "No more than 200" without a noun is about money, whichever; "for no more than four" is not.
    """
    return [
        (limit, Decimal(str(slot.value)))
        for slot in quantities
        if isinstance(slot.value, int | float)
        and slot.value > _COUNTED
        and len(slot.text.split()) == 1
        and (limit := limit_of(text, slot)) is not None
    ]


def _said(text: str, phrases: "dict[Limit, re.Pattern[str]]") -> Limit | None:
    """The kind with the longest phrase there: "no more than" is no "more than".

    What is denied before it is the other kind: "nothing over 100" is at most that.
    """
    found = [
        (len(m.group(1)), kind, m.start()) for kind, p in phrases.items() if (m := p.search(text))
    ]
    if not found:
        return None
    _, kind, start = max(found)
    if _DENIED.search(text[:start]) is None:
        return kind
    return "min" if kind == "max" else "max"


@cache
def _before() -> "dict[Limit, re.Pattern[str]]":
    return {
        # Of "between 100 and 200 EUR" the second is an amount, and the most.
        "max": re.compile(rf"(?<!\w)({_any('most')}|between\s\S+(?:\s\S+)?\sand)(?:\sof)?[\s:]*$"),
        "min": re.compile(rf"(?<!\w)({_any('least')})(?:\s+of)?[\s:]*$"),
    }


@cache
def _behind() -> "dict[Limit, re.Pattern[str]]":
    return {
        "max": re.compile(rf"^[\s,(]*({_any('most_behind')})(?!\w)"),
        "min": re.compile(rf"^[\s,(]*({_any('least_behind')})(?!\w)"),
    }


def _any(key: str) -> str:
    phrases: Iterable[str] = sorted(_LISTS.lines(key), key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in phrases)
