"""Requests that leave to others what is to be done: "Do what the email of Ana says".

Nothing in them orders a consequence, so that a planner which does nothing has done all that can be
read: what is meant is asked about before anything is done.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from orchestrator.catalog.tool import Tool
from orchestrator.language.clause_reading import ClauseReading, permits
from orchestrator.language.clauses import without_lead
from orchestrator.language.intent import Action
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    STOP_WORDS,
    action_of,
    content_stems,
    stem,
    tokens,
)
from orchestrator.planning.models import Doubt
from orchestrator.planning.order_words import is_question

_WHY: Final = (
    "it does not say itself what is to be done; it would only be looked up: say what to do"
)
_DO: Final = re.compile(
    r"(?:^|[.;,!]|\band|\bthen|\bplease|\byou\s+to|\b(?:could|can|would|will)\s+you)\s*"
    r"(?P<deed>do\s+(?:(?:exactly|just|only)\s+)?(?:what|whatever|everything|anything|all|as)\b"
    r"[^.;!?]*)(?P<mark>\??)",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d")
_THINKING: Final = WordLists("accounting").word_set("thinking")
_HANDING: Final = WordLists("accounting").word_set("handing")
_GIVING: Final = WordLists("accounting").word_set("giving")
_TOLD: Final = WordLists("wishes").word_set("told")
_DETERMINERS: Final = WordLists("clauses").word_set("determiners")
_LIGHT: Final = WordLists("accounting").word_set("light")
"""Verbs that say nothing without their noun."""
_ON_IT: Final = re.compile(r"[a-z]+(?:\s+[a-z]+)?\s+(?:it|them)\b", re.IGNORECASE)
_TO_WHOM: Final = re.compile(r"[a-z]+\s+(?:to|with|at|against|for)\s+(?P<whom>\w+)", re.IGNORECASE)
_BACK: Final = re.compile(
    r"[a-z]+\s+(?:back\s+(?:the|my|our)\b|(?:the|my|our)\s+(?:\w+\s+){1,4}back\b)", re.IGNORECASE
)
_OF: Final = re.compile(r"\w+\s+\w+\s+(?:of|about|with|on|to|for)\s+(?P<whose>\w+)")


def doubts_about_deeds_elsewhere(requests: str) -> Iterator[Doubt]:
    """The doubts about what a text says is to be done, and leaves to others to say what it is."""
    for found in _DO.finditer(_QUOTED.sub("", requests)):
        if not found["mark"]:
            yield Doubt(kind="deed", about=found["deed"].strip(" ,"), why=_WHY)


def doubt_about_return(clause: ClauseReading, does: Sequence[Tool]) -> Doubt | None:
    """The doubt about what is to be given back, which no tool says that it does.

    To end a rental by a cancel is not to bring the car back.

    Args:
        clause: that orders.
        does: the tools that would serve it, the one that would be called first.
    """
    bare = without_lead(clause.text)
    gives = next(iter(tokens(bare[:30])), "") in _GIVING and _BACK.match(bare) is not None
    told = (f"{t.name} {t.summary}" for t in does if t.domain == does[0].domain)
    if not gives or any("back" in tokens(one) for one in told):
        return None
    why = f"nothing here says that it gives anything back; {does[0].title!r} would be done"
    return Doubt(kind="deed", about=clause.text, why=why)


def doubt_about_command(clause: ClauseReading, looking: Sequence[Tool]) -> Doubt | None:
    """The doubt about a command whose verb nobody knows: neither the language nor what is read.

    What stands before "the" or "my" at the beginning is no thing: "follow the instructions"; nor
    is "act" of "act on it", "care" of "take care of the invoice", or what is done to somebody:
    "apologise to the team". Of a few verbs that read nobody knows it either: "return the car".
    """
    bare = without_lead(clause.text)
    first, following = (*tokens(bare[:60]), "", "")[:2]
    whom = _TO_WHOM.match(bare)
    is_to_whom = whom is not None and whom["whom"].lower() in _DETERMINERS
    is_back = _BACK.match(bare) is not None and action_of(first, "back") is Action.UNKNOWN
    has_object = following in _DETERMINERS or _ON_IT.match(bare) or is_back
    commands = has_object or is_to_whom or permits(bare) or _lightly(bare, first)
    if clause.is_negated or is_question(clause) or not commands:
        return None
    is_known = action_of(first, following) is not Action.UNKNOWN and first not in _HANDING
    if is_back or permits(bare):
        return Doubt(kind="deed", about=clause.text, why=_WHY)  # "give the car back", "let Bo in"
    if is_known or first in STOP_WORDS | _THINKING or _is_told(bare):
        return None
    told = {s for t in looking for s in content_stems(f"{t.name} {t.summary}")}
    meant = {stem(first), *synonyms_of(stem(first))}
    return None if meant & told else Doubt(kind="deed", about=clause.text, why=_WHY)


def _is_told(bare: str) -> bool:
    """Whether what follows a verb is something to be told: "return the list of ..."."""
    return any(word in _TOLD for word in tokens(bare[:60])[1:4])


def _lightly(bare: str, first: str) -> bool:
    """Whether a light verb and its noun say that something is to be done to a thing."""
    noun = _OF.match(bare.lower())
    return first in _LIGHT and noun is not None and noun["whose"] in _DETERMINERS
