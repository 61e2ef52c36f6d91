"""The words of dates, as patterns: months, weekdays, counts."""

from itertools import chain
from typing import Final

from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("dates")
MONTHS: Final = [line.split() for line in _LISTS.lines("months")]
"""The names of each month, January first."""
WEEKDAYS: Final = [line.split() for line in _LISTS.lines("weekdays")]
"""The names of each day of the week, Monday first."""
COUNTS: Final = {
    word: max(1, number) for number, word in enumerate(_LISTS.words("counts"), start=-1)
}
"""Numbers in words: "a" and "an" are one."""

MONTH: Final = rf"(?:{'|'.join(chain(*MONTHS))})\b\.?"
WEEKDAY: Final = rf"(?:{'|'.join(names[0] for names in WEEKDAYS)})"
SHORT_WEEKDAY: Final = rf"(?:{'|'.join(chain(*(names[1:] for names in WEEKDAYS)))})\b\.?"
COUNT: Final = rf"(?:\d{{1,3}}|{'|'.join(COUNTS)})"
