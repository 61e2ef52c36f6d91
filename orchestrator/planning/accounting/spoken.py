"""Where a clause stops ordering, and goes on with what is to be said or what a thing is called."""

import re
from typing import Final

from orchestrator.language.clause_reading import ClauseReading, matter_start
from orchestrator.language.intent import Action
from orchestrator.language.word_lists import WordLists

_CALLING: Final = re.compile(
    rf"\b(?:{'|'.join(WordLists('accounting').words('calling'))})\s+(?=\S)", re.IGNORECASE
)


def spoken_from(reading: ClauseReading) -> int | None:
    """Where in a clause what somebody is told begins, or what is written; None if nowhere.

    "Tell Bo I can't come": all that Bo is told is a text, with what it denies and asks.
    """
    if reading.action is not Action.SEND:
        return None
    begin = matter_start(reading.text)
    about = _CALLING.search(reading.text)
    ends = [n for n in (begin, about.end() if about else None) if n is not None]
    return min(ends, default=None)
