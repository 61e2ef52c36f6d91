"""Requests that do not say whether something is to be done: "Table for two in Rome at 8 pm"."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.language import lexicon
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.wishes import wish_of
from orchestrator.language.words import content_stems, stem, tokens
from orchestrator.planning.accounting.grounds import of_tools, takes
from orchestrator.planning.accounting.things_said import Said
from orchestrator.planning.models import Doubt
from orchestrator.planning.order_deeds import makes
from orchestrator.planning.order_words import is_question
from orchestrator.routing.router import Router

_WHY: Final = "it does not say whether that is to be looked up or done; it would only be looked up"
_MADE: Final = frozenset({Effect.OBLIGATION, Effect.WRITE})
_WHEN_AND_WHERE: Final = frozenset({"date", "time", "place"})
_AVAILABLE: Final = frozenset({"free", "available"})
_WHEN: Final = frozenset({"date", "time"})
_WANTED: Final = re.compile(
    r"\s*(?:(?:(?:i|we)(?:['\u2019]d|\s+would)?\s+(?:(?:rather|really|just|also|still|\w+ly)\s+)*"
    r"(?:need|want|like|love|prefer|have)|need|want)\s+(?!to\b)"
    r"|(?:get|take|bring|drive)\s+(?:me|us)\s+(?=from\b|to\b))(?P<what>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
"""What somebody wants to have, by no verb that says what is to be done: "I need dinner"."""
_COUNT: Final = re.compile(r"\d+x?")


def doubt_about_deed(
    clause: ClauseReading,
    said: Sequence[Said],
    looking: Sequence[Tool],
    catalog: Catalog,
    router: Router,
) -> Doubt | None:
    """The doubt about a request that names a thing as one that is to be made, and no verb.

    Its values say when, and a tool of the domain that looks it up makes such things: out of what
    that finds, or taking a time that nothing which only looks takes.
    """
    wanted = _WANTED.match(clause.text)
    words = tokens(wanted["what"] if wanted else clause.text)
    is_counted = bool(words) and _COUNT.fullmatch(words[0]) is not None
    words = words[is_counted:]
    is_plain = (
        (clause.action is Action.UNKNOWN or wanted is not None)
        and not is_question(clause)
        and not clause.is_negated
    )
    if not is_plain or not words or not any(s.kind in _WHEN for s in said):
        return None
    if _is_known(words) and not is_counted:
        return None
    domains = {tool.domain for tool in looking}
    making = [t for t in catalog.tools.values() if t.domain in domains and t.effect in _MADE]
    offers = [t for t in making if {tool.name for tool in looking} & {*router.feeders(t.name)}]
    own = of_tools(looking)
    untaken = [s for s in said if s.kind == "time" and not any(takes(s, p) for _, p in own.inputs)]
    timed = [
        t
        for t in making
        if makes(t) and untaken and any(takes(untaken[0], p) for _, p in of_tools([t]).inputs)
    ]
    if timed or (wanted and offers) or any(_is_called(tool, words) for tool in offers):
        return Doubt(kind="deed", about=clause.text, why=_WHY)
    return None


def doubt_about_no_verb(clause: ClauseReading) -> Doubt | None:
    """The doubt about what stands beside orders and has no verb: "..., and the plan to Reports".

    It may go on with one of them.
    """
    if clause.action is not Action.UNKNOWN or is_question(clause) or clause.is_negated:
        return None
    return Doubt(kind="deed", about=clause.text, why=_WHY)


def doubt_about_wish(clause: ClauseReading, looking: Sequence[Tool]) -> Doubt | None:
    """The doubt about a wish for a thing that is not what would be looked up: "get me a permit".

    What is looked up by its own name grants a wish: "I need a forecast".
    """
    wish = wish_of(clause.text)
    if wish is None or not wish.thing or not looking:
        return None
    if stem(wish.thing) in {s for t in looking for s in content_stems(f"{t.name} {t.summary}")}:
        return None
    return Doubt(kind="deed", about=clause.text, why=_WHY)


def doubt_about_nothing_named(
    clause: ClauseReading, said: Sequence[Said], looking: Sequence[Tool]
) -> Doubt | None:
    """The doubt about a request that says when or where, and not what: "Anything on Friday?".

    Whichever tool comes first would answer it, as if nothing else were there.
    """
    if not looking or not said or any(s.kind not in _WHEN_AND_WHERE for s in said):
        return None
    what = " and ".join(tool.title or tool.name for tool in looking)
    why = f"it names nothing that is to be looked up; only this would be: {what}"
    return Doubt(kind="deed", about=clause.text, why=why)


def _is_known(words: Sequence[str]) -> bool:
    """Whether it is of one that is there, or of several: "my next meeting", "flights to Rome".

    What begins with "free" asks whether anything is.
    """
    first = words[0]
    known = lexicon.DEFINITE | lexicon.PREFERENCES | _AVAILABLE
    return first in known or singular(first) != first


def _is_called(tool: Tool, words: Collection[str]) -> bool:
    """Whether the first word says what the tool makes, by a word of its own or for it."""
    own = {*content_stems(f"{tool.name} {tool.domain} {tool.summary}")}
    first = stem(next(iter(words)))
    return not own.isdisjoint((first, *synonyms_of(first)))
