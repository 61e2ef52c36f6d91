"""Trigger words: a short closed list of expressions that the rules cannot carry out."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, Literal, get_args

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
]


class Trigger(Record):
    """Words in a text that make the rules ask a person."""

    kind: TriggerKind
    text: str
    start: int
    end: int


ENDS_TEXT: Final = frozenset({"condition", "correction", "exception"})
"""Kinds of which nobody can tell whether they end a text to pass on, unless it is quoted."""
_LISTS: Final = WordLists("triggers")
_LISTS_OF_VALUES: Final = WordLists("values")
_KINDS: Final[tuple[TriggerKind, ...]] = get_args(TriggerKind)
_NUMBER_WORDS: Final = frozenset(_LISTS_OF_VALUES.words("small_numbers")) - {"a", "an"}
_NUMBER: Final = rf"(?:\d{{1,4}}(?![\d:]|[.,]\d)|{'|'.join(sorted(_NUMBER_WORDS))})"
_STRETCH: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)?day|week|month|year|hour|morning|evening|night)s?"
)
_FIRST_WORD: Final = re.compile(r"(?<![\w'\u2019-])(?:\d+|[^\W\d_]+(?:['\u2019][^\W\d_]+)*)")


@cache
def _entries() -> dict[str, list[tuple[TriggerKind, re.Pattern[str]]]]:
    """Return the entries by first word, longest first; entries with a leading number under "#"."""
    found: dict[str, list[tuple[TriggerKind, re.Pattern[str]]]] = defaultdict(list)
    listed = [(kind, line) for kind in _KINDS for line in _LISTS.lines(kind)]
    for kind, entry in sorted(listed, key=lambda one: -len(one[1])):
        first = "#" if entry.startswith("#") else entry.split()[0]
        words = [re.escape(word).replace("'", "['\u2019]?") for word in entry.split()]
        said = r"\s+".join(words).replace(r"\#", _NUMBER).replace("@", _STRETCH)
        said = said.replace(r"\-", r"\s?[-\u2013]\s?") + r"(?![\w-]|['\u2019]\w)"
        found[first].append((kind, re.compile(said, re.IGNORECASE)))
    return dict(found)


def _matches(text: str) -> Iterator[tuple[TriggerKind, re.Match[str]]]:
    """Yield the entries in a text, without overlaps."""
    entries, end = _entries(), 0
    for word in _FIRST_WORD.finditer(text):
        low = word.group().lower().replace("\u2019", "'")
        keys = ("#", low) if low.isdigit() or low in _NUMBER_WORDS else (low,)
        tried = (one for key in keys for one in entries.get(key, ()))
        for kind, pattern in tried if word.start() >= end else ():
            if (match := pattern.match(text, word.start())) is not None:
                end = match.end()
                yield kind, match
                break


_ASKED_IF: Final = re.compile(
    r"\b(?:check|see|know|tell\s+me|find\s+out|verify|ask|wonder(?:ing)?|look(?:\s+up)?)\s+$", re.I
)
"""Before "if", these make the clause an indirect question rather than a condition."""
_EXPLETIVE: Final = re.compile(r"\b(?:is|was|will|does|did|would|has)\s+$", re.IGNORECASE)
_WEATHER: Final = re.compile(r"\s+(?:is|was|will|rains?|snows?|takes?|costs?)\b", re.IGNORECASE)
"""Around "it", these show that "it" refers to nothing earlier: "is it raining"."""
_AN_ID: Final = re.compile(r"\.?\s*\d")


def find_triggers(text: str, *, values: Sequence[Value] = ()) -> tuple[Trigger, ...]:
    """Return the trigger words of a clause or a goal, in its order.

    Args:
        text: a clause or a goal.
        values: the values of the same text; words inside a value trigger nothing, and a range of
            days or amounts is not a range of counts.
    """
    covered = [*quoted_spans(text), *((v.start, v.end) for v in values if v.kind != "number")]
    unmarked = [v.start for v in values if v.kind == "quoted" and v.text == v.value]
    found: list[Trigger] = []
    for kind, match in _matches(text):
        start, end = match.span()
        around = [a for a, b in covered if a <= start and end <= b]
        if around and not (kind in ENDS_TEXT and start not in around and {*around} <= {*unmarked}):
            continue
        if not _is_plain(kind, match, covered):
            found.append(Trigger(kind=kind, text=match.group(), start=start, end=end))
    return tuple(found)


def _is_plain(kind: TriggerKind, match: re.Match[str], covered: list[tuple[int, int]]) -> bool:
    """Return True if the words are no trigger here: "after the 6th", "up to 90 EUR", "check if"."""
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
