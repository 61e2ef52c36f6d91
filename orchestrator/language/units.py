"""What numbers are counted in: read from the words of a name, told as CLDR has it."""

from collections.abc import Sequence
from typing import Final

from babel.units import format_unit, get_unit_name

from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("units")
_UNITS: Final = {tuple(words.split()): unit for words, unit in _LISTS.table("units").items()}
_MINOR: Final = _LISTS.word_set("minor")
_MOST_WORDS: Final = 2
_SPELLED: Final = ("duration-", "night", "digital-byte")
"""Units that are told in words: 60 minutes, not 60 min."""


def unit_of(words: Sequence[str]) -> str:
    """CLDR's name of the unit that a name ends with; empty where it ends with none.

    `unit_of(["temperature", "max", "c"])` is `temperature-celsius`.
    """
    ends = (tuple(words[-length:]) for length in range(_MOST_WORDS, 0, -1))
    return next((_UNITS[end] for end in ends if end in _UNITS), "")


def name_of(words: Sequence[str]) -> str:
    """The unit in words, "minutes"; minor units of money too; empty where there is none."""
    if words and words[-1] in _MINOR:
        return words[-1]
    unit = unit_of(words)
    return (get_unit_name(unit, "long", locale="en") or "") if unit else ""


def measured(number: float, unit: str) -> str:
    """A number with its unit: "3.5 mm", "60 minutes"."""
    if unit.startswith(_SPELLED):
        return str(format_unit(number, unit, length="long", locale="en"))
    return str(format_unit(number, unit, length="short", locale="en"))
