"""Numbers and amounts of money as people type them."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Final

from pydantic import JsonValue

from orchestrator.client.typed_answers.not_read import Unread
from orchestrator.core.record import JsonObject
from orchestrator.language.intent import Slot
from orchestrator.language.slots import find_slots
from orchestrator.language.word_lists import WordLists

_FILLERS: Final = WordLists("asked").word_set("fillers")


def read_number(text: str, *, now: datetime, whole: bool) -> int | float:
    """The one number that a text names: "two", "1,200.50", "for 4 people".

    Raises:
        Unread: it names none or several, an amount of a currency, or a part of one where a whole
            number is asked for.
    """
    slots = find_slots(text, now=now)
    amounts = [slot for slot in slots if slot.kind == "amount"]
    if amounts:
        money = amounts[0].value
        code = money.get("currency") if isinstance(money, dict) else ""
        raise Unread(f"{text!r} names a currency ({code}), and this takes a number alone")
    numbers = [slot for slot in slots if slot.kind == "quantity"]
    if len(numbers) != 1 or not _covers(text, numbers):
        raise Unread(f"{text!r} is not one number")
    value = numbers[0].value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unread(f"{text!r} is not one number")
    if whole and value != int(value):
        raise Unread(f"{text!r} is no whole number")
    return int(value) if whole else value


def read_money(text: str, *, now: datetime) -> JsonObject:
    """The amount and the currency that a text names.

    Raises:
        Unread: one of both is missing, or there is more.
    """
    amounts = [slot for slot in find_slots(text, now=now) if slot.kind == "amount"]
    if len(amounts) != 1 or not _covers(text, amounts):
        raise Unread(f"{text!r} is not one amount with its currency")
    value = amounts[0].value
    if not isinstance(value, dict) or not value.get("currency"):
        raise Unread(f"{text!r} names no currency")
    return value


def read_priced(text: str, *, now: datetime) -> tuple[str, JsonObject]:
    """What something is, and its amount: "taxi 23.50 EUR", "12 euros for lunch".

    Raises:
        Unread: there is no amount with its currency, or more than one, or nothing beside it.
    """
    amounts = [slot for slot in find_slots(text, now=now) if slot.kind == "amount"]
    if len(amounts) != 1:
        raise Unread(f"{text!r} is not one thing with one amount and its currency")
    slot = amounts[0]
    before, after = text[: slot.position], text[slot.position + len(slot.text) :]
    words = f"{before.strip(' ,:;')} {after.strip(' ,:;')}".split()
    said = [place for place, word in enumerate(words) if word.lower() not in _FILLERS]
    if not said:
        raise Unread(f"{text!r} does not say what costs that")
    return " ".join(words[said[0] : said[-1] + 1]), read_money(slot.text, now=now)


def as_decimal(amount: JsonValue) -> str:
    """An amount as a decimal in a text, for schemas that take money so."""
    return str(Decimal(str(amount)))


def _covers(text: str, slots: list[Slot]) -> bool:
    """Whether nothing but fillers stands beside what was read."""
    for slot in reversed(slots):
        text = f"{text[: slot.position]} {text[slot.position + len(slot.text) :]}"
    left = re.findall(r"[^\s.,;:!]+", text.lower())
    return all(word in _FILLERS for word in left)
