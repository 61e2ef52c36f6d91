"""The words by which a goal makes a request depend on something, as patterns."""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.language.provisos import CONDITION_WORDS
from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("provisos")


def _any(lines: Sequence[str]) -> str:
    longest = sorted(lines, key=len, reverse=True)
    return "|".join(r"\s+".join(map(re.escape, line.split())) for line in longest)


IDLE: Final = re.compile(
    rf"({_any(_LISTS.lines('idle'))})(?:\s*,\s*|\s*(?=[.;!?]|$)|\s+(?=\w))", re.IGNORECASE
)
"""Courtesies in the form of a condition, with the pause behind them; group 1 is the words."""
_ECHO: Final = (
    rf"if\s+(?:(?:{'|'.join(_LISTS.words('echoing'))})\s+(?:{'|'.join(_LISTS.words('echoed'))})"
    r"|(?:i|we)\s+(?:am|are|do|did|have|was|were))"
)
_ECHO_END: Final = rf"(?:\s+(?:{'|'.join(_LISTS.words('echo_ends'))}))?"
_NO_ECHO: Final = (
    rf"{_ECHO}(?:(?:\s+not|n['\u2019]t){_ECHO_END}|\s+(?:{'|'.join(_LISTS.words('echo_none'))}))"
    rf"|if\s+(?:{'|'.join(_LISTS.words('echoing'))})\s+(?:can['\u2019]t|cannot|won['\u2019]t)"
)
OPPOSITE: Final = re.compile(rf"(?:{_any(_LISTS.lines('otherwise'))}|{_NO_ECHO})\b", re.IGNORECASE)
"""What begins the opposite of a condition: "otherwise", "if she does not"."""
SO: Final = re.compile(
    rf"(?:{_any(_LISTS.lines('so'))}|(?!if\s+there\s+(?:is|are)\s+\w+){_ECHO}{_ECHO_END})\b(?!\s+not\b|n?['\u2019]t\b)",
    re.IGNORECASE,
)
"""What says that what was just asked is so: "if so", "if she does"."""
CONDITION: Final = re.compile(
    rf"(?:{_any(CONDITION_WORDS)})(?=\s)"
    rf"|(?:(?<!\w\s)|(?<=\bbut\s)|(?<=\band\s))(?:{_any(_LISTS.words('inverted'))})(?=\s+\w+\s+(?!i\b|we\b))",
    re.IGNORECASE,
)
AWAITED: Final = re.compile(rf"(?:{_any(_LISTS.lines('awaited'))})(?=\s)", re.IGNORECASE)
"""What says that something is waited for: "once it is booked"."""
MARK: Final = re.compile(
    rf"(?<![\w-])(?:{'|'.join(p.pattern for p in (OPPOSITE, SO, CONDITION, AWAITED))})",
    re.IGNORECASE,
)
"""Any of the last four, as a word of its own."""


def is_echo(words: str) -> bool:
    """Whether words repeat what was asked, with or without its "not": "if she does"."""
    plain = " ".join(words.lower().split())
    known = {*_LISTS.lines("so"), *_LISTS.lines("otherwise")}
    return plain.startswith("if ") and plain not in known
