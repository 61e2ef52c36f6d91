"""The units that numbers are counted in: read from the words of a name, told as CLDR has them."""

from collections.abc import Sequence
from typing import Final

from babel.units import get_unit_name

from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("units")
_UNITS: Final = {tuple(words.split()): unit for words, unit in _LISTS.table("units").items()}
_MINOR: Final = _LISTS.word_set("minor")
_MOST_WORDS: Final = 2


def name_of(words: Sequence[str]) -> str:
    """The unit that a name ends with, in words: "minutes"; minor units of money too; else empty."""
    if words and words[-1] in _MINOR:
        return words[-1]
    ends = (tuple(words[-length:]) for length in range(_MOST_WORDS, 0, -1))
    unit = next((_UNITS[end] for end in ends if end in _UNITS), "")
    return (get_unit_name(unit, "long", locale="en") or "") if unit else ""
