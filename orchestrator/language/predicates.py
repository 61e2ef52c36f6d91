"""What a question asks of a thing that it names: whether it is so, or when it will be."""

from typing import Final

from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, tokens

_LISTS: Final = WordLists("telling")
_BEING: Final = _LISTS.word_set("being")
_NAMING: Final = _LISTS.word_set("naming")
_WILL: Final = "will"
_BE: Final = "be"
_SHORTEST: Final = 4


def predicate_of(text: str) -> str:
    """The word that is asked of it: "paid" of "is the invoice of Acme paid?"; empty: none is.

    So is what will be: "when will it be paid?". It is no word that things are looked up by: what is
    not so would not be found.
    """
    words = tokens(text)
    if _WILL in words[:2] and _BE in words[2:-1]:
        return words[words.index(_BE, 2) + 1]
    if len(words) < _SHORTEST or words[0] not in _BEING or words[1] not in _NAMING:
        return ""
    return words[-1] if words[-1] not in STOP_WORDS else ""
