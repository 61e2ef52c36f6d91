"""Numbers in words: "twenty-five", "a hundred and fifty"."""

import re
from collections.abc import Iterator
from typing import Final

from text_to_num import text2num

from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("slots")
NUMBER_WORDS: Final = {
    **{word: value for value, word in enumerate(_LISTS.words("counting"))},
    **{word: int(value) for word, value in _LISTS.table("numbers").items()},
}
"""Numbers of one word."""
_PARTS: Final = frozenset(_LISTS.words("number_parts"))
_ANY: Final = "|".join(sorted({*NUMBER_WORDS, *_PARTS} - {"dozen"}, key=len, reverse=True))
_RUN: Final = re.compile(rf"\b(?:a\s+)?(?:{_ANY})(?:(?:-|\s+and\s+|\s+)(?:{_ANY}))*\b")
_LEAD: Final = re.compile(r"^a\s+")


def find_spoken_numbers(low: str) -> Iterator[tuple[int, int, int]]:
    """The numbers of several words in a text in lower case: where they stand, and their value.

    Also those of one word that say hundreds or more. A run that is no number ("two three") is none.
    """
    if not any(part in low for part in _PARTS):
        return
    for match in _RUN.finditer(low):
        words = match.group()
        if _PARTS.isdisjoint(re.split(r"[\s-]+", words)) or " " not in words.replace("-", " "):
            continue
        try:
            yield *match.span(), int(text2num(_LEAD.sub("one ", words), "en"))
        except ValueError:
            continue
