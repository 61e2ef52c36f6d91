"""What is ruled out: "anything but sushi", "not with Alba Air", "without breakfast"."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import leaves_alone, split_clauses
from orchestrator.language.inflection import singular
from orchestrator.language.said import is_within, quoted_spans, told_spans
from orchestrator.language.word_lists import WordLists

_LISTS: Final = WordLists("negation")
_KEPT: Final = 64
_HARMLESS: Final = "|".join(_LISTS.words("harmless"))
_BEFORE: Final = _LISTS.word_set("verbs_before")
_ENDS: Final = "|".join(sorted(WordLists("clauses").word_set("after_objects") | {"please", "but"}))
_OF_ALL: Final = _LISTS.words("ruling_out_of_all")
_WORDS: Final = "|".join(
    r"\s+".join(line.split())
    for line in sorted((*_LISTS.lines("ruling_out"), *_OF_ALL), key=len, reverse=True)
)
_QUANTIFIERS: Final = WordLists("quantifiers")
_EVERY: Final = "|".join(_QUANTIFIERS.word_set("all") | _QUANTIFIERS.word_set("everybody"))
_ALL: Final = re.compile(rf"\b(?:{_EVERY})\b[^,;.!?]*$", re.IGNORECASE)
_ANY: Final = re.compile(r"\bany\s+[\w-]+\s*$", re.IGNORECASE)
_A_THING: Final = re.compile(r"\s+(?:an?\b|the\b|[A-Z])")
"""What "any" leaves out: "any car but a Fiat"; "any hotel but cheap" leaves out none."""
_OF: Final = "about|at|by|for|from|in|of|on|to|with"
"""What joins a pronoun to the words that tell which one is ruled out: "the one in Rome"."""
_RULED_OUT: Final = re.compile(
    rf"\b(?P<word>{_WORDS})\s+(?!(?:{_HARMLESS})\b)"
    r"(?:(?:with|by|at|in|on|from|near|to)\s+)?(?:(?:the|a|an|any|my)\s+)?"
    rf"(?P<pronoun>(?:ones?|that|those)\s+(?:{_OF})\s+(?:the\s+|my\s+)?)?"
    rf"(?P<thing>(?!(?:{_ENDS})\b)[^\s,;.!?()]+(?:\s+(?!(?:{_ENDS})\b)[^\s,;.!?()]+){{0,3}})"
)
_LAST: Final = re.compile(r"(\w+)\W*$")


_NOT_SO: Final = re.compile(
    r"(?:\b(?:not|never|without)|n['\u2019]t)\s+(?:(?:yet|been|be|already|being|marked|a|an|the)\s+){0,3}"
    rf"(?!(?:{_HARMLESS}|{_ENDS})\b)(?P<word>[a-z]+)",
    re.IGNORECASE,
)
"""What is said not to be so, whatever verb says it: "are not paid", "haven't been paid"."""

_LEAVING_OUT: Final = re.compile(
    r"[\s,.;:!]+(?:(?:but|and|just|only|please|though)\s+)*(?P<said>"
    r"(?:(?:don['\u2019]?t|do\s+not|never)\s+(?P<verb>[a-z]+)|leave|keep)\s+"
    r"(?!it\b|them\b|that\b(?!\s+one))(?P<thing>(?P<ones>(?:the|that|those)\s+ones?\b)?[^,.;!?]+))",
    re.IGNORECASE,
)
"""What is not to be done to some of many: "pay all bills. Don't pay the one from Acme"."""
_ALONE: Final = re.compile(r"\s+(?:alone|untouched|unchanged|as\s+.*)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A thing that is not wanted; `start` and `end` are those of the words that say so."""

    start: int
    end: int
    thing: str


def with_exceptions(goal: str) -> str:
    """The goal with what is not to be done to some of many behind what is done to them.

    "Pay all bills. Don't pay the one from Acme" is "Pay all bills but not the one from Acme".
    """
    for match in _LEAVING_OUT.finditer(goal):
        asked = read_clause((split_clauses(goal[: match.start()]) or ("",))[-1])
        several = any(singular(thing.lower()) != thing.lower() for thing in asked.objects)
        if match["verb"]:
            same = match["verb"].lower() == asked.verb
            several = several or match["ones"] is not None
        else:
            same = leaves_alone(match["said"])
        if same and several and asked.asks_side_effect:
            rest = f"{_ALONE.sub('', match['thing'])}{goal[match.end() :]}"
            return with_exceptions(f"{goal[: match.start()]} but not {rest}")
    return goal


@lru_cache(maxsize=_KEPT)
def exclusions(clause: str) -> tuple[Exclusion, ...]:
    """The things that a clause rules out, in order.

    A verb that is forbidden, a bound ("no more than"), and what is quoted or said to somebody are
    none of them.
    """
    covered = (*quoted_spans(clause), *told_spans(clause))
    found = []
    for match in _RULED_OUT.finditer(clause):
        before = _LAST.search(clause[: match.start()].lower())
        forbids = before is not None and before.group(1) in _BEFORE
        of_all = match["word"].lower() in _OF_ALL
        before_it, behind = clause[: match.start()], clause[match.end("word") :]
        any_other = _ANY.search(before_it) and _A_THING.match(behind)
        if of_all and not (any_other or _ALL.search(before_it)):
            continue
        if not forbids and not is_within(*match.span(), covered):
            found.append(Exclusion(match.start(), match.end(), match["thing"]))
    return tuple(found)


def without_exclusions(clause: str) -> str:
    """The clause with blanks in the place of what it rules out."""
    for exclusion in exclusions(clause):
        blank = " " * (exclusion.end - exclusion.start)
        clause = f"{clause[: exclusion.start]}{blank}{clause[exclusion.end :]}"
    return clause


def denied_words(clause: str) -> tuple[str, ...]:
    """The words right behind a "not", lower case: "paid" of "which have not been paid"."""
    covered = (*quoted_spans(clause), *told_spans(clause))
    found = _NOT_SO.finditer(clause)
    return tuple(m["word"].lower() for m in found if not is_within(*m.span(), covered))
