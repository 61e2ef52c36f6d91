"""What is to be said: quoted words, and those that somebody is to be told; nothing orders there."""

import re
from collections.abc import Collection
from typing import Final

from orchestrator.language.clause_reading import matter_start, told_thing_start
from orchestrator.language.clauses import clause_spans, without_lead
from orchestrator.language.durations import STRETCH

_QUOTED: Final = re.compile(
    r"\"[^\"]+\"|“[^”]+”|(?<![^\s(:,])'[^']{1,200}'(?![^\s.,;:!?)])|`[^`]+`"
)

_OPENED: Final = re.compile(r"[\s:,]*(?:(?:that|saying|of|about)\s+)*", re.IGNORECASE)
_TO_ONESELF: Final = re.compile(r"\w+\s+(?:me|us)\b", re.IGNORECASE)
_WHEN: Final = re.compile(
    rf"\s+(?:{STRETCH}|the\s+(?:day|evening|night|morning|week))\s+"
    r"(?:before(?:hand)?|earlier|ahead|in\s+advance)(?:\s+(?:it|that|this|then))?\s*[.!]?\s*$",
    re.IGNORECASE,
)
"""When one is told, behind what one is told: "remind me of it a day before"."""
_FORBIDDEN: Final = re.compile(r"(?P<word>not|never)\s+to\s+(?=\w)", re.IGNORECASE)

Span = tuple[int, int]


def told_in(clause: str) -> str | None:
    """What a clause says that somebody is told, in its words; None where nobody is told anything.

    "Not to come" is said as "Do not come".
    """
    start = matter_start(clause)
    if start is None:
        return None
    opened = _OPENED.match(clause, start)
    said = clause[opened.end() if opened else start : told_end(clause)].strip()
    forbidden = _FORBIDDEN.match(said)
    if forbidden is None:
        return said
    first = "Never" if forbidden["word"].lower() == "never" else "Do not"
    return f"{first} {said[forbidden.end() :]}"


def quoted_spans(text: str) -> tuple[Span, ...]:
    """Where words stand between quotation marks, the marks included."""
    return tuple(match.span() for match in _QUOTED.finditer(text))


def told_spans(text: str) -> tuple[Span, ...]:
    """Where a text holds what somebody is told, without quotation marks: "that I am late"."""
    found = []
    for start, end in clause_spans(text):
        matter = matter_start(text[start:end])
        if matter is not None:
            found.append((start + matter, start + told_end(text[start:end])))
    return tuple(found)


def told_thing_spans(text: str) -> tuple[Span, ...]:
    """Where a text speaks of a thing that somebody is told, and that is not said: "the price"."""
    starts = ((a, b, told_thing_start(text[a:b])) for a, b in clause_spans(text))
    return tuple((a + start, b) for a, b, start in starts if start is not None)


def told_end(clause: str) -> int:
    """Where in a clause that tells somebody something ends what is told.

    What somebody wants to be told is followed by when: "remind me of it the day before".
    """
    when = _WHEN.search(clause) if _TO_ONESELF.match(without_lead(clause)) else None
    return when.start() if when else len(clause)


def is_within(start: int, end: int, spans: Collection[Span]) -> bool:
    """Whether a stretch overlaps one of these."""
    return any(s < end and start < e for s, e in spans)
