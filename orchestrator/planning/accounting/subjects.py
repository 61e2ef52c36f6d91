"""Questions about what no tool tells, or what several kinds of things may be meant by."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from rapidfuzz import fuzz, process

from orchestrator.catalog.catalog import Catalog
from orchestrator.catalog.tool import Tool
from orchestrator.language.clause_reading import ClauseReading
from orchestrator.language.intent import Slot
from orchestrator.language.words import (
    QUESTION_WORDS,
    STOP_WORDS,
    content_stems,
    is_verb,
    stem,
    tokens,
)
from orchestrator.planning.models import Doubt
from orchestrator.planning.named_documents import tools_meant
from orchestrator.planning.rules.answers import is_listing
from orchestrator.planning.rules.other_lists import other_lists
from orchestrator.planning.rules.parameters import Kind, tool_parameters
from orchestrator.planning.rules.tellers import asked_words, unknown_words
from orchestrator.planning.rules.utterance import read_utterance

_MOST_NAMED: Final = 5
_ASKED_FOR: Final = frozenset({"what", "which", "how"})
"""Question words that stand before what they ask for."""
_ALIKE: Final = 85.0
"""How much two words are alike, of 100, where one may be the other misspelt. Our own."""
_SHORTEST: Final = 5


def doubt_about_subject(
    clause: ClauseReading,
    slots: Iterable[Slot],
    looking: Sequence[Tool],
    feeding: Sequence[Tool],
    catalog: Catalog,
    *,
    now: datetime,
) -> Doubt | None:
    """The doubt about a question whose first word for what it asks no tool of its leg speaks of.

    There is none where its tool is one of the lists that are looked in for what nobody speaks of:
    to look does no harm, and that it is in none is told.

    One word that is not known may be a value of what is found ("which vet does birds"): it has to
    come first, and to be what is asked for ("what horsepower ..."), or no fewer have to be unknown
    than known.
    """
    words = asked_words(clause.text, slots)
    unknown = unknown_words(words, (*looking, *feeding))
    if not looking or not unknown or words[0] != unknown[0]:
        return None
    if _comes_after_another(clause.text, unknown[0], looking):
        return None
    if _is_searched_for(clause, words, unknown, looking):
        return None
    if clause.verb not in _ASKED_FOR and 2 * len(unknown) < len(words):
        return None
    what = " and ".join(tool.title or tool.name for tool in looking)
    near = dict.fromkeys(one for word in unknown for one in _near(word, catalog))
    lists = other_lists(read_utterance(clause.text, now=now), catalog.tools.values())
    if not near and any(tool in group for group in lists for tool in looking):
        return None
    spelt = f" (is {' and '.join(map(repr, near))} meant?)" if near else ""
    why = f"nothing here tells of that{spelt}; only this would be looked up: {what}"
    return Doubt(kind="untold", about=" ".join(unknown), why=why)


def _comes_after_another(text: str, word: str, looking: Sequence[Tool]) -> bool:
    """Whether a noun that tools speak of stands before a word: "have time for a meeting"."""
    said = tokens(text)
    before = said[: said.index(word)] if word in said else []
    nouns = [w for w in before if w not in STOP_WORDS | QUESTION_WORDS and not is_verb(w)]
    return len(unknown_words(nouns, looking)) < len(nouns)


def _is_searched_for(
    clause: ClauseReading, words: Sequence[str], unknown: Sequence[str], looking: Sequence[Tool]
) -> bool:
    """Whether a thing is to be found by its words, "a unicorn in the files", and tools do so.

    What stands before a known word says how that is to be: "unread messages".
    """
    queries = any(p.kind is Kind.QUERY for tool in looking for p in tool_parameters(tool))
    said = tokens(clause.text)
    following = [said[said.index(w) + 1 : said.index(w) + 2] for w in unknown if w in said]
    qualifies = any(word in words and word not in unknown for one in following for word in one)
    return queries and clause.verb not in _ASKED_FOR and not qualifies


def doubt_about_kind(
    clause: ClauseReading, slots: Iterable[Slot], looking: Sequence[Tool], catalog: Catalog
) -> Doubt | None:
    """The doubt about things that are listed in several domains by the very words of a request."""
    words = {stem(word) for word in asked_words(clause.text, slots)}
    if not words or len(looking) != 1 or not _lists(looking[0], words):
        return None
    others = (tool for tool in tools_meant(clause.text, catalog) if _lists(tool, words))
    domains = {tool.domain for tool in others if tool is looking[0] or not _is_of_one(tool)}
    if len(domains) < 2 or domains & {*tokens(clause.text)}:
        return None
    named = ", ".join(sorted(domains)[:_MOST_NAMED])
    why = f"it may be of {named}; only this would be looked up: {looking[0].title}"
    return Doubt(kind="untold", about=clause.text, why=why)


def _is_of_one(tool: Tool) -> bool:
    """Whether a list is of one thing that has to be told: the contacts of a company."""
    return any(p.required and p.is_id for p in tool_parameters(tool))


def _lists(tool: Tool, words: set[str]) -> bool:
    """Whether a tool that only reads lists things, and is named by all the words."""
    return not tool.is_side_effect and is_listing(tool) and words <= {*content_stems(tool.name)}


def _near(word: str, catalog: Catalog) -> list[str]:
    """Words of the catalog's names that a word may be, misspelt."""
    if len(word) < _SHORTEST:
        return []
    known = {w for t in catalog.tools.values() for w in tokens(f"{t.name} {t.domain} {t.summary}")}
    wanted = sorted(w for w in known if len(w) >= _SHORTEST)
    found = process.extractOne(word, wanted, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    return [found[0]] if found else []
