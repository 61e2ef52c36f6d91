"""Lists of plain words: "email bob, ana and carl", "the general and random channels"."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from orchestrator.language.clause_reading import ClauseReading, matter_start
from orchestrator.language.inflection import singular
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.slots import read_slots
from orchestrator.language.words import QUESTION_WORDS, STOP_WORDS, VERBS

_WORD: Final = r"[^\W\d_][\w-]*"
_MEMBERS: Final = rf"(?P<first>{_WORD}(?:\s*,\s*{_WORD})*)\s*,?\s+(?:and|&)\s+(?P<last>{_WORD})"
_OF_A_KIND: Final = re.compile(
    rf"\b(?:both\s+)?(?P<which>the|my|our)\s+{_MEMBERS}\s+(?P<noun>[a-z]+s)\b", re.IGNORECASE
)
_ADDRESSED: Final = re.compile(rf"(?:both\s+)?{_MEMBERS}(?=\s*[:,.!]|\s|$)")
_GOES_ON: Final = re.compile(
    rf"\s+(?:{_WORD}\s+){{0,2}}?(?:to|and|or|with)\b|\s+[^\W\d_]+s\b", re.IGNORECASE
)
"""What was listed is no receiver: "send flowers and cakes to Ana", "the red and blue files",
"share notes and pitch deck with Ana"."""
_PHRASE: Final = (
    rf"(?:the|my|our)\s+{_WORD}(?:\s+(?!(?:and|to|with|in|into|from|on|at|for)\b){_WORD}){{0,2}}"
)
_THINGS: Final = re.compile(
    rf"(?P<first>{_PHRASE}(?:\s*,\s*{_PHRASE})*)\s*,?\s+(?:and|&)\s+(?P<last>{_PHRASE})"
    r"(?=\s+(?:to|with|in|into|from|on|at)\b|\s*(?:[,.!]|$))",
    re.IGNORECASE,
)
"""Things that are there, each known by its article; what is made of several may be one."""
_OF_WHAT_IS_THERE: Final = frozenset({Action.CANCEL, Action.UPDATE, Action.PAY, Action.SEND})
_NO_NAMES: Final = STOP_WORDS | QUESTION_WORDS | VERBS
_TO: Final = re.compile(r"\bto\s+")


_PLACES: Final = frozenset({"place", "origin"})
"""What a plain word after "to" is taken for: "to bob"."""


@dataclass(frozen=True)
class PlainList:
    """Where a list stands, and what stands in its place for each of its members alone."""

    start: int
    end: int
    members: tuple[str, ...]


def plain_list(clause: ClauseReading) -> PlainList | None:
    """The list of what an order is about, or of whom something is sent to; None: there is none.

    Of a kind: between an article and the noun that all share, "the general and random channels".
    Things: each with its article right after the verb, "the budget and the pitch deck".
    Addressed: right after the verb that sends, or after "to", where nothing else tells a name.
    """
    if clause.action not in SIDE_EFFECT_ACTIONS or clause.is_negated:
        return None
    matter = matter_start(clause.text)
    end = len(clause.text) if matter is None else matter
    slots = (slot for slot in read_slots(clause.text, now=None) if slot.kind not in _PLACES)
    values = [(slot.position, slot.position + len(slot.text)) for slot in slots]
    return next((found for found in _lists(clause, end) if not _overlaps(found, values)), None)


def _lists(clause: ClauseReading, end: int) -> Iterator[PlainList]:
    for match in _OF_A_KIND.finditer(clause.text, 0, end):
        if members := _members(match, but=STOP_WORDS):
            # Whom it is sent to is one each; of what else there is, each word may tell several.
            noun = singular(match["noun"]) if clause.action is Action.SEND else match["noun"]
            alone = tuple(f"{match['which']} {member} {noun}" for member in members)
            yield PlainList(*match.span(), alone)
    verb = re.search(rf"\b{re.escape(clause.verb)}\s+", clause.text, re.IGNORECASE)
    is_there = clause.action in _OF_WHAT_IS_THERE
    if verb is not None and is_there and (things := _THINGS.match(clause.text, verb.end(), end)):
        yield PlainList(*things.span(), _things(things))
    if clause.action is not Action.SEND:
        return
    starts = [m.end() for m in _TO.finditer(clause.text, 0, end)]
    if verb is not None:
        starts.insert(0, verb.end())
    for start in starts:
        named = _ADDRESSED.match(clause.text, start)
        if named is None or named.end() > end or _GOES_ON.match(clause.text, named.end(), end):
            continue
        if members := _members(named, but=_NO_NAMES):
            yield PlainList(named.start("first"), named.end(), members)


def _things(match: re.Match[str]) -> tuple[str, ...]:
    """The things of a list, each with its own article: "the budget and the pitch deck"."""
    return (*re.split(r"\s*,\s*", match["first"]), match["last"])


def _members(match: re.Match[str], *, but: Collection[str]) -> tuple[str, ...]:
    members = (*re.split(r"\s*,\s*", match["first"]), match["last"])
    return () if any(word.lower() in but for word in members) else members


def _overlaps(found: PlainList, values: "list[tuple[int, int]]") -> bool:
    return any(start < found.end and found.start < end for start, end in values)
