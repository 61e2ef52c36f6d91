"""The words in parameter names of any API, and the words with which people mean those parameters.

Each list is described in `data/en/parameters.yaml`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("parameters")
_set: Final = _LISTS.word_set
_Pairs = tuple[tuple[str, str], ...]

ORIGIN: Final = _set("origin")
DESTINATION: Final = _set("destination")
PLACE: Final = _set("place")
PLACE_DESCRIBED: Final = _set("place_described")
START: Final = _set("start")
END: Final = _set("end")
START_PAIRS: Final = _LISTS.pairs("start_pairs")
END_PAIRS: Final = _LISTS.pairs("end_pairs")
DATE: Final = _set("date")
TIME: Final = _set("time")
TIME_ZONE: Final = _set("time_zone")
MONEY: Final = _set("money")
MAXIMUM: Final = _set("maximum")
MINIMUM: Final = _set("minimum")
MINOR_UNITS: Final = _set("minor_units")
PEOPLE: Final = _set("people")
COUNTED: Final = PEOPLE | _set("counted")
HOW_MANY: Final = _set("how_many")
NOT_COUNTED: Final = _set("not_counted")
NIGHTS: Final = _set("nights")
PAGING: Final = _set("paging")
CURSOR: Final = _set("cursor")
TURNING: Final = _set("turning")
SIZES: Final = _set("sizes")
MORE: Final = _set("more")
EMAIL: Final = _set("email")
COPIES: Final = _set("copies")
CURRENCY: Final = _set("currency")
IDENTIFIER: Final = _set("identifier")
QUERY: Final = _set("query")
TEXT: Final = _set("text")
TITLE: Final = _set("title")
PERSONAL: Final = _set("personal")
MAKERS: Final = _set("makers")
AMBIGUOUS_CHOICES: Final = _set("ambiguous_choices")
CHEAPEST: Final = _set("cheapest")
NEWEST: Final = _set("newest")
OLDEST: Final = _set("oldest")
BEST_RATED: Final = _set("best_rated")
RATING: Final = _set("rating")
GONE: Final = _set("gone")
BOOKKEEPING: Final = _set("bookkeeping")

_UNIT_LISTS: Final = WordLists("units")
_UNITS: Final = {tuple(words.split()): unit for words, unit in _UNIT_LISTS.table("units").items()}
_MINOR: Final = _UNIT_LISTS.word_set("minor")
_MOST_WORDS: Final = 2


def unit_of(words: Sequence[str]) -> str:
    """Return the unit at the end of a name, in CLDR's words: "minutes"; also minor units of money.

    It is empty for a name without a unit.
    """
    if words and words[-1] in _MINOR:
        return words[-1]
    ends = (tuple(words[-length:]) for length in range(_MOST_WORDS, 0, -1))
    unit = next((_UNITS[end] for end in ends if end in _UNITS), "")
    if not unit:
        return ""
    from babel.units import get_unit_name

    return get_unit_name(unit, "long", locale="en") or ""


def is_start(words: Sequence[str]) -> bool:
    """Return True if the words of a name mark the start of a period of time."""
    return _marks(words, START_PAIRS, START, END_PAIRS)


def is_end(words: Sequence[str]) -> bool:
    """Return True if the words of a name mark the end of a period of time."""
    return _marks(words, END_PAIRS, END, START_PAIRS)


def _marks(words: Sequence[str], own: _Pairs, known: frozenset[str], others: _Pairs) -> bool:
    pairs = {*pairwise(words)}
    return not pairs.isdisjoint(own) or (pairs.isdisjoint(others) and not known.isdisjoint(words))
