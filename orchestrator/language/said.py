"""What is to be said: quoted words, and those that somebody is to be told; nothing orders there."""

import re
from collections.abc import Collection
from typing import Final

from orchestrator.language.clause_reading import matter_start
from orchestrator.language.clauses import clause_spans

_QUOTED: Final = re.compile(
    r"\"[^\"]+\"|“[^”]+”|(?<![^\s(:,])'[^']{1,200}'(?![^\s.,;:!?)])|`[^`]+`"
)

_OPENED: Final = re.compile(r"[\s:,]*(?:(?:that|saying|of|about)\s+)*", re.IGNORECASE)
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
    said = clause[opened.end() if opened else start :].strip()
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
            found.append((start + matter, end))
    return tuple(found)


def is_within(start: int, end: int, spans: Collection[Span]) -> bool:
    """Whether a stretch overlaps one of these."""
    return any(s < end and start < e for s, e in spans)
