"""The parts of a goal: one request each, with the tool that reaches it and where it stands."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.language import lexicon
from orchestrator.language.clause_reading import (
    ClauseReading,
    matter_start,
    read_clause,
    tells_what_to_do,
    told_thing_start,
)
from orchestrator.language.clauses import without_lead
from orchestrator.language.ellipsis import written_in
from orchestrator.language.goal_text import Governed
from orchestrator.language.intent import Slot
from orchestrator.language.words import content_stems, tokens
from orchestrator.planning.models import GoalCondition, OnlyIf

_PRONOUNS: Final = frozenset({"it", "they", "them", "everything", "both"})
_ITS: Final = re.compile(r"\s*(?:its|their)\s", re.IGNORECASE)
_POINTERS: Final = frozenset({"this", "that", "these", "those"})
_THEN: Final = re.compile(
    r"\b(?:then|after\s+(?:that|this|which)|afterwards?|thereafter|subsequently|next|finally|lastly"
    r"|once\s+(?:done|that\s+is\s+done))\b",
    re.IGNORECASE,
)
_FORBIDS: Final = re.compile(r"\s*(?:please\s+)?(?:don['\u2019]t|do\s+not|never)\b", re.IGNORECASE)
_TO_DO: Final = re.compile(r"\s*(?:not\s+|never\s+)?to\s", re.IGNORECASE)
_JOINED: Final = re.compile(r"(?:[\s,;]|\band\b|\bbut\b)+$", re.IGNORECASE)
_NEAR: Final = 4
"""Characters at either end of a clause that may be a joint."""
_DEFINITE: Final = re.compile(r"\b(?:the|this|that|my|our)\s+((?:[a-z][\w-]*\s*){1,3})", re.I)


@dataclass(frozen=True)
class Clause:
    """One request of a goal, and what stands between it and the one before."""

    text: str
    start: int
    end: int
    between: str = ""

    @property
    def follows(self) -> bool:
        """Whether the text says that it comes after what is before it."""
        lead = self.text[: len(self.text) - len(without_lead(self.text))]
        return bool(_THEN.search(f"{self.between} {lead}"))


@dataclass(frozen=True)
class Part:
    """One request of the goal with the tool that reaches it, and the legs that it waits for."""

    request: str
    target: Tool
    leg_id: str
    depends_on: tuple[str, ...] = ()
    follows: bool = False
    governed: tuple[Governed, ...] = ()
    only_if: tuple[OnlyIf, ...] = ()
    decides: tuple[GoalCondition, ...] = ()
    only_looks: bool = False
    documents: tuple[str, ...] = ()
    """Those that it names: it is done with their tools alone."""
    slots: tuple[Slot, ...] = field(default=(), compare=False)

    @cached_property
    def reading(self) -> ClauseReading:
        """Its request, read."""
        return read_clause(self.request)

    @cached_property
    def points_back(self) -> bool:
        """Whether it points at what came before; what somebody is to do says itself of what."""
        start = matter_start(self.request)
        to_do = start is not None and _TO_DO.match(self.request, start)
        return refers_back(self.request[:start] if to_do else self.request)

    @cached_property
    def nouns(self) -> frozenset[str]:
        """Stems of what it is about: its objects, and the words of its tool."""
        said = " ".join(self.reading.objects)
        return frozenset((*content_stems(said), *content_stems(self.target.domain)))


def refers_back(clause: str) -> bool:
    """Whether a clause points at what came before: "it", "them", "the receipts", "the latest"."""
    words, told = tokens(clause), told_thing_start(clause)
    if told is not None and _ITS.match(clause, told):
        return True
    for word, following, after in zip(words, [*words[1:], ""], [*words[2:], "", ""], strict=False):
        if word in _PRONOUNS:
            return True
        if word in _POINTERS and (not following or following in lexicon.AFTER_A_POINTER):
            return True
        if word == "the" and _is_bare(following, after):
            return True
    return False


def named_things(text: str) -> frozenset[str]:
    """Stems of the nouns that a text speaks of as known: "the flight", "my car"."""
    found = (match.group(1).split() for match in _DEFINITE.finditer(text))
    return frozenset(stem for words in found for stem in content_stems(" ".join(words[:2])))


def located(clauses: Sequence[str], text: str) -> Iterator[Clause]:
    """The clauses, each with where it stands in the text: some have a verb that is not there."""
    at = 0
    for clause in clauses:
        start, end = written_in(clause, text, at)
        yield Clause(clause, start, end, text[at:start])
        at = end


def apart(clauses: Iterable[Clause], text: str, starts: Collection[int]) -> Iterator[Clause]:
    """The clauses, cut where something else governs; what has no verb takes the one before it."""
    for clause in clauses:
        inside = [s for s in starts if clause.start + _NEAR < s < clause.end - _NEAR]
        begun = clause
        for cut in sorted(set(inside)):
            first, rest = text[begun.start : cut], text[cut : clause.end]
            kept = _JOINED.sub("", first)
            verb = read_clause(kept).verb
            bare = rest if not verb or tells_what_to_do(rest) else f"{verb} {rest}"
            yield replace(begun, text=kept, end=begun.start + len(kept))
            begun = Clause(bare, cut, clause.end, first[len(kept) :])
        yield begun


def allowed(clause: Clause, governed: Sequence[Governed]) -> tuple[Clause, list[Governed]] | None:
    """What is forbidden unless something is so, as what is ordered if it is; else None."""
    unless = [one for one in governed if one.subclause.is_unless and one.as_said]
    if not unless or _FORBIDS.match(clause.text) is None:
        return None
    asked = [
        replace(one, subclause=replace(one.subclause, is_unless=False)) if one in unless else one
        for one in governed
    ]
    return replace(clause, text=without_lead(clause.text)), asked


def _is_bare(noun: str, after: str) -> bool:
    """Whether, after "the", nothing tells which one: "the receipts", "the latest with Anna"."""
    if noun in lexicon.PREFERENCES:
        return not after or after in lexicon.AFTER_A_POINTER
    return noun in lexicon.REFERENCES and after not in ("of", "for", "about", "from")
