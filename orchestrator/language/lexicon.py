"""The words that parameters are named with, in any API, and the words people mean them by.

What each list holds is told beside it, in `data/en/parameters.yaml`.
"""

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
COUNTED: Final = PEOPLE | _set("counted")
NOT_COUNTED: Final = _set("not_counted")
NIGHTS: Final = _set("nights")
WEEKS: Final = _set("weeks")
PAGING: Final = _set("paging")
EMAIL: Final = _set("email")
CURRENCY: Final = _set("currency")
IDENTIFIER: Final = _set("identifier")
QUERY: Final = _set("query")
TEXT: Final = _set("text")
TITLE: Final = _set("title")
REFERENCES: Final = _set("references")
AMBIGUOUS_CHOICES: Final = _set("ambiguous_choices")
CATCH_ALL: Final = _LISTS.words("catch_all")
CHEAPEST: Final = _set("cheapest")
NEWEST: Final = _set("newest")
OLDEST: Final = _set("oldest")
BEST_RATED: Final = _set("best_rated")
PREFERENCES: Final = CHEAPEST | NEWEST | OLDEST | BEST_RATED | _set("other_preferences")
RATING: Final = _set("rating")
GONE: Final = _set("gone")
BOOKKEEPING: Final = _set("bookkeeping")
AFTER_A_POINTER: Final = _set("after_a_pointer")
POINTS_BACK: Final = _set("points_back")
CONNECTING: Final = _set("connecting")
