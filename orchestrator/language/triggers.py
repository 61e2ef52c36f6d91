"""Trigger words: what a goal says that the rules do not carry out, by a short closed list."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from orchestrator.core.record import Record
from orchestrator.language.values import Value, currency_at, quoted_spans
from orchestrator.language.word_lists import WordLists

TriggerKind = Literal[
    "condition",
    "correction",
    "exception",
    "negation",
    "back_reference",
    "relative_event",
    "range",
    "other_account",
    "maybe",
    "other_language",
]


class Trigger(Record):
    """Words of a text that the rules ask about."""

    kind: TriggerKind
    text: str
    start: int
    end: int


_LISTS: Final = WordLists("triggers")
_KINDS: Final[tuple[TriggerKind, ...]] = (
    *("condition", "correction", "exception", "negation", "back_reference"),
    *("relative_event", "range", "other_account", "maybe"),
)
_NUMBER: Final = (
    r"(?:\d{1,4}(?![\d:]|[.,]\d)|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
)
_STRETCH: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)?day|week|month|year|hour|morning|evening|night)s?"
)
_ENTRIES: Final = tuple((kind, line) for kind in _KINDS for line in _LISTS.lines(kind))


def _pattern(entry: str) -> str:
    words = [re.escape(word).replace("'", "['\u2019]?") for word in entry.split()]
    said = r"\s+".join(words).replace(r"\#", _NUMBER).replace("@", _STRETCH)
    said = said.replace(r"\-", r"\s?[-\u2013]\s?")
    return rf"(?<![\w'\u2019-]){said}(?![\w-]|['\u2019]\w)"


_PATTERN: Final = re.compile(
    "|".join(
        f"(?P<k{n}>{_pattern(entry)})"
        for n, (_, entry) in sorted(enumerate(_ENTRIES), key=lambda one: -len(one[1][1]))
    ),
    re.IGNORECASE,
)
_ASKED_IF: Final = re.compile(
    r"\b(?:check|see|know|tell\s+me|find\s+out|verify|ask|wonder(?:ing)?|look(?:\s+up)?)\s+$", re.I
)
"""Before "if" these make an indirect question of it, and no condition."""
_EXPLETIVE: Final = re.compile(r"\b(?:is|was|will|does|did|would|has)\s+$", re.IGNORECASE)
_WEATHER: Final = re.compile(r"\s+(?:is|was|will|rains?|snows?|takes?|costs?)\b", re.IGNORECASE)
"""Around "it" these leave it standing for nothing that came before: "is it raining"."""
_AN_ID: Final = re.compile(r"\.?\s*\d")


def find_triggers(text: str, *, values: Sequence[Value] = ()) -> tuple[Trigger, ...]:
    """Return the trigger words of a clause or a goal, in its order.

    Args:
        text: a clause or a goal.
        values: those of the same text; what lies within a value triggers nothing, and a range of
            days or amounts is none of counts.
    """
    return tuple(_triggers(text, values))


def _triggers(text: str, values: Sequence[Value]) -> Iterator[Trigger]:
    covered = [*quoted_spans(text), *((v.start, v.end) for v in values if v.kind != "number")]
    for match in _PATTERN.finditer(text):
        kind = _ENTRIES[int((match.lastgroup or "k0")[1:])][0]
        start, end = match.span()
        if any(a <= start and end <= b for a, b in covered):
            continue
        if not _is_plain(kind, match, covered):
            yield Trigger(kind=kind, text=match.group(), start=start, end=end)


def _is_plain(kind: TriggerKind, match: re.Match[str], covered: list[tuple[int, int]]) -> bool:
    """True if the words mean something else here: "after the 6th", "up to 90 EUR", "check if"."""
    text, (start, end), said = match.string, match.span(), match.group().lower()
    if kind == "range":
        overlaps = any(a < end and start < b and text[a:b] != said for a, b in covered)
        is_money = currency_at(text, end, "en") is not None
        return is_money or (overlaps and not said.startswith(("every", "each")))
    if kind == "relative_event":
        return any(a == end + 1 for a, _ in covered) or bool(re.match(r"\s+\d", text[end:]))
    if said == "if":
        return _ASKED_IF.search(text[max(0, start - 30) : start]) is not None
    if said == "it":
        before = _EXPLETIVE.search(text[max(0, start - 12) : start]) is not None
        return before or _WEATHER.match(text, end) is not None
    return said == "no" and _AN_ID.match(text, end) is not None
