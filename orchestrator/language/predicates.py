"""What a question that is answered by yes or no asks of a thing that it names."""

from typing import Final

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, tokens

_LISTS: Final = WordLists("telling")
_BEING: Final = _LISTS.word_set("being")
_NAMING: Final = _LISTS.word_set("naming")
_SHORTEST: Final = 4


def predicate_of(text: str) -> str:
    """The word that is asked of it: "paid" of "is the invoice of Acme paid?"; empty: none is.

    It is no word that things are looked up by: what is not so would not be found.
    """
    words = tokens(text)
    if len(words) < _SHORTEST or words[0] not in _BEING or words[1] not in _NAMING:
        return ""
    return words[-1] if words[-1] not in STOP_WORDS else ""
