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
from orchestrator.language.said import quoted_spans
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import STOP_WORDS, content_stems, stem, tokens
from orchestrator.planning.models import Doubt
from orchestrator.planning.order_deeds import makes, writes
from orchestrator.planning.rules.how_many import needs_the_very_one
from orchestrator.planning.rules.tool_words import is_named, own_words

_PUTTING: Final = WordLists("clauses").word_set("putting")
_KNOWN: Final = r"(?:the|my|our|this|that|his|her|their|[\w-]+['\u2019]s)"
_RUN: Final = r"(?P<thing>[a-z][\w-]*(?:\s+[a-z][\w-]*){0,3})"
_ONTO: Final = re.compile(rf"\b(?P<way>to|into|onto|in|on)\s+{_KNOWN}\s+{_RUN}", re.I)
_OUT_OF: Final = re.compile(rf"\b(?:from|off|out\s+of)\s+{_KNOWN}\s+{_RUN}", re.I)
_IN: Final = frozenset({"in", "on"})
"""What stands before a place or a day as often as before what something is put into."""
_MAKING: Final = frozenset({"make", "set"})
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
    about = _put_to(clause, targets) or _taken_out_of(clause, targets)
    about = about or _made_otherwise(clause, targets) or _sent_on(clause, targets)
    if about:
        done = f"{targets[0].title!r} would be done, which does no such thing to it"
        why = f"it is of what is there already; {done}"
        return Doubt(kind="not_understood", about=about, why=why)
    return _of_another_kind(clause, targets, catalog)


def _put_to(clause: ClauseReading, targets: Sequence[Tool]) -> str:
    """What somebody or something is to be put to, by tools that make another one: "the meeting".

    Or that have no word for it.
    """
    for found in _ONTO.finditer(clause.text) if clause.verb in _PUTTING else ():
        is_in, words = found["way"].lower() in _IN, [*_nouns(found["thing"])]
        if any(makes(t) and _is_called(w, t, literally=is_in) for t in targets for w in words):
            return found.group()
        of_its_kind = any(_speaks_of(t, thing) for t in targets for thing in clause.objects)
        holds = any(_holds(t, word) for t in targets for word in words)
        if words and not (is_in or of_its_kind or holds):
            return found.group()
    return ""


def _holds(tool: Tool, word: str) -> bool:
    """Whether what a tool makes is put into what is called so: a calendar holds events."""
    if not makes(tool):
        return writes(tool) or _speaks_of(tool, word)
    own = {_stem_of(word), *synonyms_of(_stem_of(word))}
    return not own.isdisjoint(content_stems(f"{tool.domain} {tool.summary}"))


def _taken_out_of(clause: ClauseReading, targets: Sequence[Tool]) -> str:
    """What something is to be taken out of, by a tool that ends that: "Ben from the meeting"."""
    for found in _OUT_OF.finditer(clause.text) if clause.action is Action.CANCEL else ():
        ended = [t for t in targets if any(_is_called(w, t) for w in _nouns(found["thing"]))]
        if ended and not any(_is_called(thing, ended[0]) for thing in clause.objects):
            return found.group()
    return ""


def _made_otherwise(clause: ClauseReading, targets: Sequence[Tool]) -> str:
    """What is to be made otherwise, by a tool that makes another one: "make the meeting longer"."""
    things = [thing.lower() for thing in clause.objects]
    if clause.verb not in _MAKING or not _is_known(clause) or not all(map(makes, targets)):
        return ""
    made = [n for n, thing in enumerate(things) if any(_is_called(thing, t) for t in targets)]
    return " ".join(clause.objects) if made and made[0] < len(things) - 1 else ""


def _sent_on(clause: ClauseReading, targets: Sequence[Tool]) -> str:
    """What is there and is to be sent on, by a tool that writes a new one: "Bo's message"."""
    is_told = matter_start(clause.text) is not None or bool(quoted_spans(clause.text))
    if clause.action is not Action.SEND or is_told or not _is_known(clause):
        return ""
    called = [t for t in clause.objects[-1:] if any(_is_called(t, tool) for tool in targets)]
    return clause.text if called and all(map(writes, targets)) else ""


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
    is_ended = clause.action is Action.CANCEL and _stem_of(thing) not in _WRITTEN
    if len(domains) < 2 or not is_ended:
        return None
    why = f"no tool calls anything so, and it may be of {', '.join(domains[:_MOST])}; only {done}"
    return Doubt(kind="not_understood", about=thing, why=f"{why} would be done")


def _object_of(clause: ClauseReading) -> str:
    """The last word of what a clause does something to, where that is known: "the big meeting"."""
    things = [one for one in clause.objects if one.lower() not in _PARTICLES]
    thing = things[-1] if things and _is_known(clause) else ""
    return thing.lower() if tokens(thing) == [thing.replace("-", "").lower()] else ""


def _is_known(clause: ClauseReading) -> bool:
    """Whether what a clause does something to is one that is known: "the meeting", "Bo's car"."""
    at = clause.text.lower().find(clause.verb) + len(clause.verb)
    return bool(clause.verb) and _OBJECT.match(clause.text, at) is not None


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
