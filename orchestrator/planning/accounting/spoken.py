"""Where a clause stops ordering, and goes on with what is to be said or what a thing is called."""

import re
from typing import Final

from orchestrator.language.clause_reading import ClauseReading, matter_start
from orchestrator.language.clauses import begins_request
from orchestrator.language.date_words import WEEKDAY
from orchestrator.language.intent import Action
from orchestrator.language.numbers import NUMBER_WORDS
from orchestrator.language.slots import is_addressed
from orchestrator.language.word_lists import WordLists

_CALLING: Final = re.compile(
    rf"\b(?:{'|'.join(WordLists('accounting').words('calling'))})\s+(?=\S)", re.IGNORECASE
)
_SAID: Final = re.compile(
    r"\b(?:that|saying)\s+(?=(?:the|an?|my|our|your|his|her|their|this|there|i|we|you|he|she|it"
    r"|they)\b)",
    re.IGNORECASE,
)
_COLON: Final = re.compile(r":\s+(?=\S)")
# "Remind me on Friday to water the plants": whatever the verb, it is what somebody is to do; "from
# Monday to Friday", and "quarter to nine", tell of nothing.
_TO_DO: Final = re.compile(
    r"\b(?:remind|ask|tell|urge|nudge)\s+(?:\S+\s+){1,12}?"
    rf"(?=to\s+(?!(?:{WEEKDAY}|{'|'.join(NUMBER_WORDS)})\b)(?-i:[a-z]{{2,}})\s)",
    re.IGNORECASE,
)


def spoken_from(reading: ClauseReading) -> int | None:
    """Where in a clause what somebody is told begins, or what is written; None if nowhere.

    "Tell Bo I can't come": all that Bo is told is a text, with what it denies and asks.
    """
    if reading.action is not Action.SEND:
        colon = _COLON.search(reading.text)
        is_text = colon is not None and not begins_request(reading.text[colon.end() :], firm=True)
        if colon is None or not is_text or not is_addressed(reading.text[: colon.start()]):
            return None
        return colon.end()  # "Schedule a message to #team for Friday: lunch is ready"
    begins = [matter_start(reading.text)]
    begins += [m.end() for p in (_CALLING, _TO_DO) if (m := p.search(reading.text))]
    begins += [m.start() for m in _SAID.finditer(reading.text)]
    return min((at for at in begins if at is not None), default=None)
