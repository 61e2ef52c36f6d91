"""What an order is aimed at: a thing that is there already, and a thing of another kind."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rapidfuzz import fuzz, process

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.language.clause_reading import ClauseReading, matter_start, read_clause
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, stem, tokens
from orchestrator.planning.models import Doubt
from orchestrator.planning.order_deeds import makes, writes
from orchestrator.planning.rules.how_many import needs_the_very_one
from orchestrator.planning.rules.tool_words import is_named, own_words

_PUTTING: Final = WordLists("clauses").word_set("putting")
_KNOWN: Final = r"(?:the|my|our|this|that|his|her|their|[\w-]+['\u2019]s)"
_ONTO: Final = re.compile(
    rf"\b(?P<way>to|into|onto|from|in|on)\s+{_KNOWN}\s+(?P<thing>[a-z][\w-]*(?:\s+[a-z][\w-]*){{0,3}})",
    re.IGNORECASE,
)
_LITERALLY: Final = frozenset({"in", "on"})
"""What stands before a place or a day as often as before what something is put into."""
_OBJECT: Final = re.compile(rf"\s+(?:{_KNOWN}\s+)+(?P<thing>[a-z].*)", re.I)
_WRITTEN: Final = frozenset(map(stem, WordLists("accounting").words("written")))
_PARTICLES: Final = WordLists("verbs").word_set("particles")
_ALIKE: Final = 80.0
"""How much two words are alike, of 100, where one may be the other misspelt. Our own."""
_SHORTEST: Final = 5
_MOST: Final = 5


def doubt_about_aim(
    clause: ClauseReading, targets: Sequence[Tool], catalog: Catalog
) -> Doubt | None:
    """The doubt about an order that would not be done to what it names; None where it would.

    Args:
        clause: that orders.
        targets: the tools that would serve it.
        catalog: the mission's.
    """
    if not targets:
        return None
    return _of_what_is_there(clause, targets, catalog) or _of_another_kind(clause, targets, catalog)


def _of_what_is_there(
    clause: ClauseReading, targets: Sequence[Tool], catalog: Catalog
) -> Doubt | None:
    """The doubt about "add Ben to the meeting", where a tool would make another meeting."""
    if clause.verb not in _PUTTING:
        return None
    for found in _ONTO.finditer(clause.text, 0, matter_start(clause.text) or len(clause.text)):
        literally = found["way"].lower() in _LITERALLY
        for word in _nouns(found["thing"]):
            again = [t for t in targets if makes(t) and _is_called(word, t, literally=literally)]
            why = "it is to be put to one that is there, and nothing here does that; "
            if again:
                why += f"{again[0].title!r} would make another one"
                return Doubt(kind="not_understood", about=found.group(), why=why)
            is_known = any(True for _ in _of_kind(word, catalog)) and not literally
            if is_known and not any(_speaks_of(tool, word) or writes(tool) for tool in targets):
                why += f"{targets[0].title!r} would be done"
                return Doubt(kind="not_understood", about=found.group(), why=why)
    return None


def _of_another_kind(
    clause: ClauseReading, targets: Sequence[Tool], catalog: Catalog
) -> Doubt | None:
    """The doubt about "move the meeting", where only files are moved, or about what nobody knows.

    What is written may be a file, whatever else it is: a report, an invoice.
    """
    thing = _object_of(clause)
    if not thing or any(makes(tool) or writes(tool) for tool in targets):
        return None
    if any(_speaks_of(tool, word) for tool in targets for word in clause.objects):
        return None
    domains = [*dict.fromkeys(tool.domain for tool in _of_kind(thing, catalog))]
    done = repr(targets[0].title)
    if domains and _stem_of(thing) not in _WRITTEN:
        why = f"that is of {', '.join(domains[:_MOST])}; {done} would be done to what is called so"
        return Doubt(kind="not_understood", about=thing, why=why)
    domains = [*dict.fromkeys(tool.domain for tool in catalog.tools.values() if _ends(tool))]
    if len(domains) < 2 or clause.action is not Action.CANCEL:
        return None
    why = f"no tool calls anything so, and it may be of {', '.join(domains[:_MOST])}; only {done}"
    return Doubt(kind="not_understood", about=thing, why=f"{why} would be done")


def _object_of(clause: ClauseReading) -> str:
    """The last word of what a clause does something to, where that is known: "the big meeting"."""
    at = clause.text.lower().find(clause.verb) + len(clause.verb)
    found = _OBJECT.match(clause.text, at) if clause.verb else None
    things = [one for one in clause.objects if one.lower() not in _PARTICLES]
    thing = things[-1] if found and things else ""
    return thing.lower() if tokens(thing) == [thing.replace("-", "").lower()] else ""


def _of_kind(thing: str, catalog: Catalog) -> Iterator[Tool]:
    """The tools that change something, and are named for such a thing."""
    return (t for t in catalog.tools.values() if t.is_side_effect and _is_called(thing, t))


def _nouns(run: str) -> Iterator[str]:
    """The words of a thing, up to what says something else of it, none of them of several."""
    for word in tokens(run):
        if word in STOP_WORDS:
            return
        if singular(word) == word:
            yield word


def _is_called(word: str, tool: Tool, *, literally: bool = False) -> bool:
    """Whether a word is that for what a tool does something to: event of "Add an event"."""
    own, last = _stem_of(word), "".join(read_clause(tool.summary).objects[-1:])
    return _stem_of(last) in (own, *(() if literally else synonyms_of(own)))


def _speaks_of(tool: Tool, thing: str) -> bool:
    """Whether a tool has a word for a thing, if not quite as it is spelt."""
    own = _stem_of(thing)
    if own in own_words(tool) or is_named(tool, (own,)):
        return True
    words = own_words(tool) if len(own) >= _SHORTEST else ()
    return process.extractOne(own, words, scorer=fuzz.ratio, score_cutoff=_ALIKE) is not None


def _ends(tool: Tool) -> bool:
    return tool.effect is Effect.CANCEL and needs_the_very_one(tool)


def _stem_of(thing: str) -> str:
    return stem(singular("".join(tokens(thing))))
