"""The words that parameters are named with, in any API, and the words people mean them by.

What each list holds is told beside it, in `data/en/parameters.yaml`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("parameters")
_set: Final = _LISTS.word_set

ORIGIN: Final = _set("origin")
DESTINATION: Final = _set("destination")
PLACE: Final = _set("place")
PLACE_DESCRIBED: Final = _set("place_described")
START: Final = _set("start")
END: Final = _set("end")
START_PAIRS: Final = _LISTS.pairs("start_pairs")
END_PAIRS: Final = _LISTS.pairs("end_pairs")
BIRTH: Final = _set("birth")
HANDED_OVER: Final = frozenset(_LISTS.lines("handed_over"))
END_HINTS: Final = _set("end_hints")
DATE: Final = _set("date")
TIME: Final = _set("time")
TIME_ZONE: Final = _set("time_zone")
MONEY: Final = _set("money")
MAXIMUM: Final = _set("maximum")
MINIMUM: Final = _set("minimum")
MOST_HINTS: Final = _set("most_hints")
LEAST_HINTS: Final = _set("least_hints")
MINOR_UNITS: Final = _set("minor_units")
PEOPLE: Final = _set("people")
BOUGHT_SINGLY: Final = _set("bought_singly")
COUNTED: Final = PEOPLE | _set("counted")
HOW_MANY: Final = _set("how_many")
NOT_COUNTED: Final = _set("not_counted")
NIGHTS: Final = _set("nights")
WEEKS: Final = _set("weeks")
PAGING: Final = _set("paging")
CURSOR: Final = _set("cursor")
MORE: Final = _set("more")
TOTAL: Final = _set("total")
OFFSET: Final = _set("offset")
PAGE: Final = _set("page")
PAGE_SIZE: Final = _set("page_size")
EMAIL: Final = _set("email")
CURRENCY: Final = _set("currency")
IDENTIFIER: Final = _set("identifier")
QUERY: Final = _set("query")
TEXT: Final = _set("text")
TITLE: Final = _set("title")
PERSONAL: Final = _set("personal")
REFERENCES: Final = _set("references")
AMBIGUOUS_CHOICES: Final = _set("ambiguous_choices")
CATCH_ALL: Final = _LISTS.words("catch_all")
CHEAPEST: Final = _set("cheapest")
NEWEST: Final = _set("newest")
OLDEST: Final = _set("oldest")
BEST_RATED: Final = _set("best_rated")
PREFERENCES: Final = CHEAPEST | NEWEST | OLDEST | BEST_RATED | _set("other_preferences")
LATER: Final = _set("later")
EARLIER: Final = _set("earlier")
CHEAPER: Final = _set("cheaper")
EARLY: Final = _set("early")
LATE: Final = _set("late")
DEAR: Final = _set("dear")
ANOTHER: Final = _set("another")
RATHER_NOT: Final = _set("rather_not")
RULED_OUT: Final = _set("ruled_out")
RATING: Final = _set("rating")
GONE: Final = _set("gone")
LEFT: Final = _set("left")
BOOKKEEPING: Final = _set("bookkeeping")
WENT_WELL: Final = _set("went_well")
AFTER_A_POINTER: Final = _set("after_a_pointer")
DEFINITE: Final = _set("definite")
POINTS_BACK: Final = _set("points_back")
CONNECTING: Final = _set("connecting")


def is_start(words: Sequence[str]) -> bool:
    """Return true if the words of a name make it the start of a stretch of time."""
    return _has_pair(words, START_PAIRS) or (not _has_pair(words, END_PAIRS) and _any(words, START))


def is_end(words: Sequence[str]) -> bool:
    """Return true if the words of a name make it the end of a stretch of time."""
    return _has_pair(words, END_PAIRS) or (not _has_pair(words, START_PAIRS) and _any(words, END))


def _any(words: Sequence[str], known: frozenset[str]) -> bool:
    return not known.isdisjoint(words)


def _has_pair(words: Sequence[str], pairs: Sequence[tuple[str, str]]) -> bool:
    return any(pair in pairs for pair in pairwise(words))
