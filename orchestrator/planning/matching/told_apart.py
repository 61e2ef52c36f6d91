"""Whether words that were said tell another thing than the one that is taken.

A word says something of a thing where an input has it among its values, where a thing answers it
with yes or no, or where others that were found bear it; and so does every word that no tool of the
call speaks of, which the call, or what was found for it, has to bear then.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Final

from orchestrator.core.record import JsonObject
from orchestrator.language import lexicon
from orchestrator.language.clause_reading import read_clause
from orchestrator.language.clauses import split_clauses
from orchestrator.language.degrees import SUPERLATIVES
from orchestrator.language.inflection import singular
from orchestrator.language.quantifiers import place_in
from orchestrator.language.slots import read_slots
from orchestrator.language.synonyms import synonyms_of
from orchestrator.language.times import HOURS_OF
from orchestrator.language.word_lists import WordLists
from orchestrator.language.words import (
    STOP_WORDS,
    content_stems,
    name_stems,
    name_words,
    stem,
    tokens,
)
from orchestrator.planning.accounting.stating import sentence_of, states
from orchestrator.planning.accounting.things_said import Said
from orchestrator.planning.matching.taken import Link, TakenCall, filters_of
from orchestrator.planning.matching.value_forms import NamedValue, plain_words, scalars
from orchestrator.planning.rules.parameters import Kind, Parameter, tool_parameters
from orchestrator.planning.rules.tool_words import own_words, vocabulary

_OPENING: Final = frozenset(map(stem, lexicon.CONNECTING | lexicon.START | lexicon.END))
"""Stems of words that say nothing but what follows."""
_CONNECTING: Final = frozenset(map(stem, lexicon.CONNECTING))
_LEADS: Final = re.compile(r"\b[a-z]+ing$", re.IGNORECASE)


_ORDERING: Final = WordLists("telling").word_set("upcoming") | {*SUPERLATIVES, "first", "last"}
"""Words that put things in an order."""


def tells_another(said: Said, text: str, call: TakenCall) -> bool:
    """Whether what was said is known to tell things apart, and what is taken lacks it."""
    dull, own = dull_stems(call), _borne(call) | _named(said, call)
    wanted = [stem for stem in said.stems if stem not in dull and stem not in own]
    if any(_is_choice(stem, call) or _is_of_others(stem, call) for stem in wanted):
        return True
    known = {*_preferences(), *_known_words(said, call), *_words_of_place(text)}
    strange = [s for s in wanted if s not in known and known.isdisjoint(synonyms_of(s))]
    if _introduced(strange, said, text).issuperset(strange):
        return False
    return not _is_remarked(said, text)


def _introduced(stems: Collection[str], said: Said, text: str) -> frozenset[str]:
    """Stems of the words that only introduce a value: "till 3 May", "leaving after six".

    What a thing begins or ends with is itself asked for where no value follows: "late checkout".
    """
    if not stems:
        return frozenset()
    slots = read_slots(text, now=None)
    leads = _LEADS.search(said.text) if HOURS_OF.keys().isdisjoint(tokens(said.text)) else None
    following = [text[said.end : slot.position] for slot in slots if slot.position >= said.end]
    is_led = STOP_WORDS.issuperset(tokens(next(iter(following), "?x")))
    led = content_stems(leads.group()) if leads is not None and is_led else ()
    opening = _OPENING if is_led or said.kind != "quality" else _CONNECTING
    # What a number counts introduces nothing: of "two double rooms" double says which.
    apart = (s for s in slots if not s.position <= said.position < s.position + len(s.text))
    hints = (slot.hint for slot in apart)
    return opening.union(led, *map(content_stems, hints))


def _is_remarked(said: Said, text: str) -> bool:
    """Whether it stands in a sentence that states how things are: ", she limps"."""
    clause = read_clause(text)
    sentence = sentence_of(said, clause)
    return states(sentence) and clause.verb not in tokens(sentence)


@cache
def _preferences() -> frozenset[str]:
    """Stems of the words that put one before another or bound a value, and say nothing else."""
    words = lexicon.PREFERENCES | lexicon.LATER | lexicon.EARLIER | lexicon.EARLY | lexicon.LATE
    bounds = lexicon.MOST_HINTS | lexicon.LEAST_HINTS
    return frozenset(map(stem, words | bounds | lexicon.ANOTHER | lexicon.CHEAPER))


def _words_of_place(text: str) -> frozenset[str]:
    """Stems of "the second cheapest", which say nothing of the thing that stands there.

    Nor do those of a question before the order: "which is due next? Pay it".
    """
    place = place_in(text)
    said = frozenset(content_stems(place.said)) if place is not None else frozenset()
    asked = (c for c in split_clauses(text) if not read_clause(c).asks_side_effect)
    orders = {word for clause in asked for word in tokens(clause)} & _ORDERING
    return said | frozenset(map(stem, orders))


def _known_words(said: Said, call: TakenCall) -> set[str]:
    """Stems of the words in which the tools of a call speak of themselves.

    What is there already and is called by a word of an example alone, as "the budget", is told by
    that word.
    """
    finders = [link.finder for link in call.links if link.finder is not None]
    own: set[str] = set().union(*map(own_words, (call.tool, *finders)))
    is_example = bool(call.links) and own.isdisjoint(said.stems)
    return own if is_example else own.union(*map(vocabulary, (call.tool, *finders)))


@cache
def _stems(text: str) -> frozenset[str]:
    return frozenset(content_stems(text))


def stems_of(item: JsonObject, *, named: bool = True) -> frozenset[str]:
    """Stems of the words in the texts of a thing, and of the names of what it says yes to.

    Args:
        item: the thing.
        named: whether what it is called is one of its texts.
    """
    found: set[str] = set()
    for held in scalars(item):
        if held.value is True:
            found.update(name_stems(held.name.rpartition(".")[2]))
        elif isinstance(held.value, str) and (named or not _is_name(held)):
            found |= _stems(held.value)
    return frozenset(found)


def _is_name(held: NamedValue) -> bool:
    return bool(lexicon.TITLE & set(name_words(held.name)[-1:]))


def _borne(call: TakenCall) -> frozenset[str]:
    """Stems of all that the call says and stands on, but for what things are called."""
    texts = [_stems(str(held.value)) for held in call.sent]
    yes = [frozenset(name_stems(h.name)) for h in call.sent if h.value is True]
    found = [stems_of(_all_of(link), named=False) for link in call.links]
    return frozenset().union(*texts, *yes, *found)


def _named(said: Said, call: TakenCall) -> frozenset[str]:
    """Stems of the words of a name that were said as they are: Park Lodge has no parking."""
    words = {*map(singular, plain_words(said.text))}
    names = (str(h.value) for link in call.links for h in scalars(_all_of(link)) if _is_name(h))
    alike = (word for name in names for word in plain_words(name) if singular(word) in words)
    return frozenset[str]().union(*map(_stems, alike))


def _all_of(link: Link) -> JsonObject:
    return {**link.item, **filters_of(link), **link.around}


def dull_stems(call: TakenCall) -> frozenset[str]:
    """Stems of the words that name what the tools deal in, and so tell nothing apart."""
    tools = [call.tool, *(link.finder for link in call.links if link.finder is not None)]
    texts = (f"{tool.name} {tool.domain} {tool.summary}" for tool in tools)
    return frozenset().union(*map(_stems, texts))


def _is_choice(stem: str, call: TakenCall) -> bool:
    """Whether an input of the call, or of a search for its things, has it among its values."""
    options = (option for parameter in _parameters(call) for option in parameter.options)
    return any(
        _stems(option) == {stem} and option.casefold() not in lexicon.AMBIGUOUS_CHOICES
        for option in options
    )


def _parameters(call: TakenCall) -> Iterator[Parameter]:
    yield from (p for p in call.parameters.values() if p.kind is Kind.CHOICE)
    for link in call.links:
        if link.finder is not None:
            yield from (p for p in tool_parameters(link.finder) if p.kind is Kind.CHOICE)


def _is_of_others(stem: str, call: TakenCall) -> bool:
    """Whether others that were found bear it, or the thing itself says no to it."""
    return any(
        _says_no(stem, link) or any(stem in stems_of(other) for other in link.others)
        for link in call.links
    )


def _says_no(stem: str, link: Link) -> bool:
    flags = (held.name for held in scalars(link.item) if held.value is False)
    return any(stem in name_stems(name.rpartition(".")[2]) for name in flags)
